import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";

/** One text of one file of `src`, and what stands in its place. */
export interface Replacement {
  /** Path below `src`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const core: string = fileURLToPath(new URL("..", import.meta.url));
/** Below the package, so that what is not bundled is found from there. */
const cache: string = `${core}node_modules/.cache/mutants-${process.pid}/`;

/** A module of tests with all of `src` that it reaches, as `buildFile` makes it. Its type is the caller's to know. */
export async function buildModule(input: URL, name: string, replacement?: Replacement): Promise<unknown> {
  return import(/* @vite-ignore */ pathToFileURL(await buildFile(input, name, replacement)).href);
}

/**
 * A module of tests with all of `src` that it reaches as one file, one text of it replaced, or as it is.
 * @throws when the text does not occur exactly once: the source moved on, and the mutant has to follow.
 */
export async function buildFile(input: URL, name: string, replacement?: Replacement): Promise<string> {
  const build = await rolldown({
    input: fileURLToPath(input),
    cwd: core,
    platform: "node",
    external: (id) => !/^[./]|^[A-Za-z]:/.test(id),
    plugins: [replaceOneText(replacement)],
  });
  await mkdir(cache, { recursive: true });
  const file = `${cache}${name.replace(/\W+/g, "-")}.mjs`;
  await build.write({ file, format: "esm" });
  await build.close();
  return file;
}

/** Plants one fault while a module of tests is built. */
export function replaceOneText(replacement: Replacement | undefined): Plugin {
  let replaced = 0;
  return {
    name: "replace-one-text",
    transform(code, id) {
      if (!replacement || id.replaceAll("\\", "/") !== `${core.replaceAll("\\", "/")}src/${replacement.file}`)
        return null;
      const parts = code.split(replacement.from);
      if (parts.length !== 2) {
        throw new Error(`${replacement.file} has ${parts.length - 1} times: ${replacement.from}`);
      }
      replaced++;
      return parts.join(replacement.to);
    },
    buildEnd() {
      if (replacement && replaced !== 1) throw new Error(`${replacement.file} is not part of the code under test.`);
    },
  };
}

export function removeBuilds(): Promise<void> {
  return rm(cache, { recursive: true, force: true });
}
