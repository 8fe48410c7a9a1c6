import { describe, expect, it } from "vitest";
import { explore } from "./explore.ts";
import { scenarios } from "./scenarios.ts";
import * as subject from "./subject.ts";

describe("explorer", () => {
  for (const scenario of scenarios) {
    for (const faults of [0, 1]) {
      it(`${scenario.name}, ${faults} faults`, { timeout: 600_000 }, async () => {
        const from = performance.now();
        const seen = await explore(subject, scenario, { faults, delays: 3, steps: 200 });
        console.log(scenario.name, faults, seen, Math.round(performance.now() - from));
        expect(seen.failure).toBeUndefined();
      });
    }
  }
});
