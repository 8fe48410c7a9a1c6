import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeBlocks, docPaths, read, root } from "./read-docs.ts";

// Inside the demo, so that the packages are found as a stranger's app finds them.
const home: string = join(root, "apps/demo/.data");
const compiler: string = join(root, "node_modules/typescript/bin/tsc");
const config = {
  extends: join(root, "tsconfig.base.json"),
  compilerOptions: {
    jsx: "react-jsx",
    types: ["node"],
    isolatedDeclarations: false,
    declaration: false,
    paths: { "@/*": ["./*"] },
  },
  include: ["**/*"],
};
let folder = "";

beforeAll(async () => {
  await mkdir(home, { recursive: true });
  folder = await mkdtemp(join(home, "snippets-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/**
 * The files that a page's ts and tsx blocks make. A block that begins with a comment that is a file's name is that
 * file; blocks of one file are joined. Any other block is a module of its own.
 */
function filesOf(markdown: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const { language, text, line } of codeBlocks(markdown)) {
    if (language !== "ts" && language !== "tsx") continue;
    const name = /^\/\/ (\S+\.tsx?)\b/.exec(text)?.[1] ?? `line-${line}.${language}`;
    files.set(name, [...(files.has(name) ? [files.get(name)] : []), text, ""].join("\n"));
  }
  for (const [name, text] of files) if (!/^(import|export)\b/m.test(text)) files.set(name, `${text}export {};\n`);
  return files;
}

async function problemsOf(name: string, markdown: string): Promise<string> {
  const files = filesOf(markdown);
  if (files.size === 0) return "";
  const at = join(folder, name.replaceAll(/\W/g, "-"));
  files.set("styles.d.ts", 'declare module "*.css";\n');
  files.set("tsconfig.json", JSON.stringify(config));
  for (const [file, text] of files) {
    await mkdir(dirname(join(at, file)), { recursive: true });
    await writeFile(join(at, file), text);
  }
  const done = promisify(execFile)(process.execPath, [compiler, "--noEmit", "-p", at], { cwd: at });
  return (await done.catch((error: { stdout: string }) => error)).stdout;
}

const pages = docPaths().filter((path) => filesOf(read(path)).size > 0);

test.concurrent.each(pages)("the code of %s compiles against the packages", async (path) => {
  expect(await problemsOf(path, read(path))).toBe("");
}, 60_000);

test.concurrent("a snippet that calls a name that does not exist is found", async () => {
  const page = '```ts\nimport { toolz } from "toolrun/server";\n```\n```tsx\nimport { useToolRun } from "@toolrun/react";\nuseToolRun().aprove;\n```\n';
  const problems = await problemsOf("broken", page);
  expect(problems).toContain("toolz");
  expect(problems).toContain("aprove");
}, 60_000);
