import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { removeBuilds } from "../build-mutant.ts";
import { arbitraryPlan } from "./random/arbitrary-plan.ts";
import { buildMutant } from "./random/build-mutant.ts";
import { checkRun } from "./random/check-run.ts";
import { foundMutants } from "./random/found-mutants.ts";
import type { Mutant } from "./random/mutants.ts";
import { mutants } from "./random/mutants.ts";
import { regressions } from "./random/regressions.ts";
import type { Violation } from "./random/violation.ts";
import { play, warmUp } from "./random/world.ts";

/** Always the same plans, so that a mutant is found where it was found before. */
const SEED = 20_261_130;
const MOST = 4_000;

afterAll(removeBuilds);

/** The known small plans first, then random ones, to the first that breaks something. */
async function search(mutant: Mutant): Promise<{ readonly plans: number; readonly violation: Violation | undefined }> {
  const subject = await buildMutant(mutant.off, mutant);
  await warmUp(subject);
  const plans = function* () {
    yield* Object.values(regressions);
    for (let from = 0; from < MOST; from += 100) {
      yield* fc.sample(arbitraryPlan, { numRuns: 100, seed: SEED + from });
    }
  };
  let count = 0;
  for (const plan of plans()) {
    count++;
    const [violation] = checkRun(await play(subject, plan)).violations;
    if (violation) return { plans: count, violation };
  }
  return { plans: count, violation: undefined };
}

// Minutes, and the same each time: with the long tests.
describe.runIf(process.env.TOOLRUN_LONG === "1")("a rule switched off is seen in random runs", () => {
  it.each([...mutants, ...foundMutants].map((mutant) => [mutant.off, mutant] as const))(
    "%s",
    { timeout: 600_000 },
    async (off, mutant) => {
      const { plans, violation } = await search(mutant);
      console.log(`${off}: ${plans} plans, ${violation?.invariant}: ${violation?.message.slice(0, 200)}`);
      expect(mutant.breaks).toContain(violation?.invariant);
    },
  );
});
