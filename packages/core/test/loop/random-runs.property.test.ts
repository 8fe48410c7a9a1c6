import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { arbitraryPlan } from "./random/arbitrary-plan.ts";
import { checkRun } from "./random/check-run.ts";
import { COMMON, featuresOf, RARE } from "./random/features.ts";
import * as subject from "./random/subject.ts";
import { play, warmUp } from "./random/world.ts";

const long = process.env.TOOLRUN_LONG === "1";
const RUNS = Number(process.env.TOOLRUN_RUNS ?? (long ? 10_000 : 500));
/** `npm test` says the same of the same code; `npm run test:long` looks somewhere else each time. */
const SEED = Number(process.env.TOOLRUN_SEED ?? (long ? Math.trunc(Math.random() * 2 ** 31) : 20_261_130));

beforeAll(() => warmUp(subject));

describe("random models, tools, rules and people", { timeout: 60 * 60_000 }, () => {
  it("never break an invariant", async () => {
    console.log(`random runs: ${RUNS} plans; TOOLRUN_SEED=${SEED} repeats them`);
    const from = performance.now();
    const seen = new Map<string, number>();
    let events = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryPlan, async (plan) => {
        const run = await play(subject, plan);
        const { violations, log } = checkRun(run);
        expect(violations).toEqual([]);
        events += run.events.length;
        for (const feature of featuresOf(run, log)) seen.set(feature, (seen.get(feature) ?? 0) + 1);
      }),
      { numRuns: RUNS, seed: SEED },
    );
    const ms = Math.round(performance.now() - from);
    console.log(`random runs: ${events} events, ${seen.size} things that can happen, ${ms} ms`);
    const expected = RUNS >= 10_000 ? [...COMMON, ...RARE] : RUNS >= 500 ? COMMON : [];
    expect(expected.filter((feature) => !seen.has(feature))).toEqual([]);
  });

  it("come to the same log again", async () => {
    for (const plan of fc.sample(arbitraryPlan, { numRuns: 20, seed: SEED })) {
      const [once, again] = [await play(subject, plan), await play(subject, plan)];
      expect(again.stored).toEqual(once.stored);
    }
  });
});
