import type { Replacement } from "../../build-mutant.ts";
import { buildModule } from "../../build-mutant.ts";
import type { Subject } from "./subject-type.ts";

/** The code under test with one text replaced. */
export async function buildMutant(name: string, replacement: Replacement): Promise<Subject> {
  return (await buildModule(new URL("./subject.ts", import.meta.url), name, replacement)) as Subject; // of that module
}
