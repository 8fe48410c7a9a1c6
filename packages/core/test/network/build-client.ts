import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { compileFunction } from "node:vm";
import { rolldown } from "rolldown";
import type { createThreadClient } from "../../src/client/thread-client.ts";
import type { Replacement } from "../build-mutant.ts";
import { replaceOneText } from "../build-mutant.ts";
import type { FastClock } from "./fast-clock.ts";

/** Makes the client's code anew, on a clock of its own. */
export type ClientCode = (clock: FastClock) => { readonly createThreadClient: typeof createThreadClient };

const GLOBALS = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] as const;
const entry: string = fileURLToPath(new URL("../../src/client/thread-client.ts", import.meta.url));

/** The real client in one piece, one text of it replaced, or as it is: its timers become parameters. */
export async function buildClient(replacement?: Replacement): Promise<ClientCode> {
  const build = await rolldown({
    input: entry,
    external: (id) => !/^[./]|^[A-Za-z]:/.test(id),
    plugins: [replaceOneText(replacement)],
  });
  const { output } = await build.generate({ format: "cjs", codeSplitting: false });
  await build.close();
  const run = compileFunction(output[0].code, ["exports", "require", ...GLOBALS]);
  const require = createRequire(entry);
  return (clock) => {
    const exports = {} as ReturnType<ClientCode>; // filled by the code
    run(exports, require, ...GLOBALS.map((name) => clock[name]));
    return exports;
  };
}
