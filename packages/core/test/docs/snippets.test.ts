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
  compilerOptions: { jsx: "react-jsx", types: ["node"], isolatedDeclarations: false, declaration: false },
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
 * file; blocks of one file are joined. Any other block is a module of its own. `@/` is the page's root.
 */
function filesOf(markdown: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const { language, text, line } of codeBlocks(markdown)) {
    if (language !== "ts" && language !== "tsx") continue;
    const name = /^\/\/ (\S+\.tsx?)\b/.exec(text)?.[1] ?? `line-${line}.${language}`;
    const up = "../".repeat(name.split("/").length - 1) || "./";
    const known = files.get(name);
    files.set(name, `${known === undefined ? "" : `${known}\n`}${text.replaceAll('"@/', `"${up}`)}\n`);
  }
  for (const [name, text] of files) if (!/^(import|export)\b/m.test(text)) files.set(name, `${text}export {};\n`);
  return files;
}

/** What the compiler says of pages, given as path → text: one program, a folder for each page. */
async function problemsOf(program: string, pages: ReadonlyMap<string, string>): Promise<string[]> {
  const at = join(folder, program);
  const files = new Map([
    ["styles.d.ts", 'declare module "*.css";\n'],
    ["tsconfig.json", JSON.stringify(config)],
  ]);
  for (const [path, markdown] of pages) {
    for (const [name, text] of filesOf(markdown)) files.set(`${path.replace(/\.md$/, "")}/${name}`, text);
  }
  for (const [name, text] of files) {
    await mkdir(dirname(join(at, name)), { recursive: true });
    await writeFile(join(at, name), text);
  }
  const done = promisify(execFile)(process.execPath, [compiler, "--noEmit", "--pretty", "false", "-p", at], {
    cwd: at,
  });
  const { stdout } = await done.catch((error: { stdout: string }) => error);
  // One problem a paragraph. Those inside the packages are the type check's to report.
  return stdout.split(/\n(?=\S)/).filter((problem) => problem.trim() !== "" && !problem.startsWith("../"));
}

const all: ReadonlyMap<string, string> = new Map(docPaths().map((path) => [path, read(path)]));

// What is merged into `Register` holds for the whole program, so such a page is a program of its own.
const registering = [...all].filter(([, text]) => text.includes("interface Register"));
const others = [...all].filter(([, text]) => !text.includes("interface Register"));
const planted = `
\`\`\`ts
// lib/tools.ts
export const answer = 42;
\`\`\`
\`\`\`tsx
// app/page.tsx
import { useToolRun } from "@toolrun/react";
import { answers } from "@/lib/tools";
import { toolz } from "toolrun/server";
useToolRun().aprove(answers, toolz);
\`\`\`
`;

test("the code of all pages compiles against the packages, and a planted mistake in it is found", async () => {
  expect(others.flatMap(([, text]) => [...filesOf(text).keys()]).length).toBeGreaterThan(10);
  const problems = await problemsOf("others", new Map([...others, ["planted.md", planted]]));
  expect(problems.filter((problem) => !problem.startsWith("planted/"))).toEqual([]);
  for (const name of ["answers", "toolz", "aprove"]) expect(problems.join("\n")).toContain(name);
}, 60_000);

test.each(registering)(
  "the code of %s, which registers its agent, compiles",
  async (path, text) => {
    expect(await problemsOf(path.replaceAll(/\W/g, "-"), new Map([[path, text]]))).toEqual([]);
  },
  60_000,
);
