import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root, run } from "./process.mjs";

const resolutions = { bundler: "preserve", nodenext: "nodenext" };
const compilers = ["typescript", "typescript-5"];

/**
 * What a stranger does: a bare Next app outside of this workspace, the packages as a release packs them, installed with
 * npm, and the files of the README. `packed` is where the tarballs are. Answers with its folder, or undefined when a step of it fails.
 */
export function makeBareApp(packed) {
  const folder = mkdtempSync(join(tmpdir(), "toolrun-bare-app-"));
  cpSync(join(root, "apps/demo/e2e/bare-app"), folder, { recursive: true });
  const { devDependencies: used } = readJson("package.json");
  const { dependencies: demo } = readJson("apps/demo/package.json");
  const { devDependencies: react } = readJson("packages/react/package.json");
  const pick = (from, ...names) => Object.fromEntries(names.map((name) => [name, from[name]]));
  write(folder, "package.json", {
    private: true,
    dependencies: {
      ...{ toolrun: `file:${packed}/core.tgz`, "@toolrun/react": `file:${packed}/react.tgz` },
      ...pick(demo, "next", "react", "react-dom", "zod", "@ai-sdk/openai"),
      ...pick(react, "react-markdown", "remark-gfm", "remend"),
    },
    devDependencies: {
      ...pick(react, "@types/react", "@types/react-dom", "@types/node"),
      typescript: used["typescript-5"].replace("npm:typescript@", ""),
    },
  });
  for (const [name, text] of readmeFiles()) write(folder, name, text);
  const quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"];
  const ok =
    run("npm", ["install", "--prefer-offline", ...quiet], { cwd: folder }) === 0 &&
    compiles(folder) &&
    run("npx", ["next", "build"], {
      cwd: folder,
      env: { OPENAI_API_KEY: "unused" },
      stdio: ["ignore", "ignore", "inherit"],
    }) === 0;
  return ok ? folder : undefined;
}

/** Every entry and the typed surface, for each compiler and way of resolution, our declarations checked as well. */
function compiles(folder) {
  const surface = readFileSync(join(root, "packages/react/test/hooks/typed-surface.test-d.ts"), "utf8");
  write(folder, "types/surface.ts", surface.replaceAll("../../src/index.ts", "@toolrun/react"));
  const names = ["core", "react"].flatMap((folderName) => {
    const { name, publishConfig } = readJson(`packages/${folderName}/package.json`);
    return Object.keys(publishConfig.exports)
      .filter((entry) => !/\.(css|json)$/.test(entry))
      .map((entry) => join(name, entry));
  });
  write(folder, "types/package.json", { type: "module" });
  write(folder, "types/entries.ts", names.map((name) => `export type {} from "${name}";\n`).join(""));
  return Object.entries(resolutions).every(([moduleResolution, module]) => {
    const options = { moduleResolution, module, target: "ES2022", strict: true, noEmit: true, types: ["node"] };
    const config = `types/tsconfig.${moduleResolution}.json`;
    write(folder, config, {
      compilerOptions: { ...options, lib: ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"], jsx: "react-jsx" },
      files: ["surface.ts", "entries.ts"],
    });
    return compilers.every((compiler) => {
      const tsc = join(root, "node_modules", compiler, "bin/tsc");
      return run(process.execPath, [tsc, "-p", config], { cwd: folder }) === 0;
    });
  });
}

/** The README's files, as they stand there: what it says is all there is to do. */
function readmeFiles() {
  const blocks = readFileSync(join(root, "README.md"), "utf8").matchAll(/```tsx?\n(\/\/ (\S+)[\s\S]*?)```/g);
  return [...blocks].map(([, text, name]) => [name, text]);
}

function write(folder, name, content) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
