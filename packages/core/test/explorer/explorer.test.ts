import { afterAll, describe, expect, it } from "vitest";
import { removeBuilds } from "../build-mutant.ts";
import { buildSubject } from "./build-mutant.ts";
import type { Bounds } from "./choices.ts";
import { explore } from "./explore.ts";
import { scenarios } from "./scenarios.ts";
import * as subject from "./subject.ts";

const long = process.env.TOOLRUN_LONG === "1";

/** In minutes instead of seconds: two faults, and steps out of turn beside one. */
const BOUNDS: readonly Bounds[] = long
  ? [
      { faults: 0, delays: 3, steps: 300, earlyLooks: true },
      { faults: 1, delays: 1, steps: 300, earlyLooks: true },
      { faults: 2, delays: 0, steps: 300 },
    ]
  : [
      { faults: 0, delays: 1, steps: 300 },
      { faults: 1, delays: 0, steps: 300 },
    ];
/** Schedules of one scenario and bound. Where there are more, that is said, not passed over in silence. */
const MOST = long ? 10_000 : 1_000;

afterAll(removeBuilds);

describe("every schedule within the bounds", () => {
  for (const scenario of scenarios) {
    it(scenario.name, { timeout: long ? 1_800_000 : 120_000 }, async () => {
      for (const bounds of BOUNDS) {
        const from = performance.now();
        const seen = await explore(subject, scenario, bounds, long ? MOST : (scenario.most ?? MOST));
        const ms = Math.round(performance.now() - from);
        const left = seen.complete ? "" : ", not all";
        console.log(
          `${scenario.name}: ${bounds.faults} faults, ${bounds.delays} out of turn: ${seen.schedules} schedules, ${seen.states} states, ${ms} ms${left}`,
        );
        expect(seen.failure).toBeUndefined();
      }
    });
  }

  it("is the same for the bundle that mutants are made of", { timeout: 60_000 }, async () => {
    const built = await buildSubject("as it is");
    const [scenario] = scenarios;
    if (!scenario) throw new Error("There are no scenarios.");
    const bounds = { faults: 1, delays: 0, steps: 300 };
    const [real, bundled] = [await explore(subject, scenario, bounds), await explore(built, scenario, bounds)];
    expect(bundled).toEqual(real);
  });
});
