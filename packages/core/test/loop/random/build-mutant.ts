import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import type { Replacement } from "../../explorer/build-mutant.ts";
import type { Subject } from "./subject-type.ts";

const core: string = fileURLToPath(new URL("../../..", import.meta.url));
/** Below the package, so that what is not bundled is found from there. */
const cache: string = `${core}node_modules/.cache/random-runs-${process.pid}/`;

/**
 * The code under test with one text replaced.
 * @throws when the text does not occur exactly once: the source moved on, and the mutant has to follow.
 */
export async function buildMutant(name: string, replacement: Replacement): Promise<Subject> {
  let replaced = 0;
  const mutator: Plugin = {
    name: "replace-one-text",
    transform(code, id) {
      if (id.replaceAll("\\", "/") !== `${core.replaceAll("\\", "/")}src/${replacement.file}`) return null;
      const parts = code.split(replacement.from);
      if (parts.length !== 2) {
        throw new Error(`${replacement.file} has ${parts.length - 1} times: ${replacement.from}`);
      }
      replaced++;
      return parts.join(replacement.to);
    },
  };
  const build = await rolldown({
    input: fileURLToPath(new URL("./subject.ts", import.meta.url)),
    cwd: core,
    platform: "node",
    external: (id) => !/^[./]|^[A-Za-z]:/.test(id),
    plugins: [mutator],
  });
  await mkdir(cache, { recursive: true });
  const file = `${cache}${name.replace(/\W+/g, "-")}.mjs`;
  await build.write({ file, format: "esm" });
  await build.close();
  if (replaced !== 1) throw new Error(`${replacement.file} is not part of the code under test.`);
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Subject; // bundled from subject.ts
}

export function removeMutants(): Promise<void> {
  return rm(cache, { recursive: true, force: true });
}
