import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { removeBuilds } from "../build-mutant.ts";
import type { Subject } from "./agents.ts";
import { buildSubject } from "./build-mutant.ts";
import type { Exploration } from "./explore.ts";
import { explore, replay } from "./explore.ts";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { notCovered } from "./not-covered.ts";
import { scenarioOf } from "./scenarios.ts";

afterAll(removeBuilds);

const MOST = 20_000;

/** Few faults first, so that what is found is short. */
async function search(subject: Subject, mutant: Mutant): Promise<Exploration> {
  const scenario = scenarioOf(mutant.scenario);
  const { delays = 1, schedule } = mutant;
  if (schedule) {
    const { violations } = await replay(subject, scenario, schedule);
    const failure = violations.length > 0 ? { violations, schedule } : undefined;
    return { schedules: 1, states: 0, steps: 0, complete: true, failure };
  }
  for (let faults = 0; faults < mutant.faults; faults++) {
    const seen = await explore(subject, scenario, { faults, delays: 0, steps: 300 });
    if (seen.failure) return seen;
  }
  return explore(subject, scenario, { faults: mutant.faults, delays, steps: 300 }, MOST);
}

describe("rules switched off", () => {
  for (const mutant of mutants) {
    it(`${mutant.rule}: ${mutant.off}`, { timeout: 600_000 }, async () => {
      const subject = await buildSubject(`${mutant.rule} ${mutant.off}`, mutant);
      const seen = await search(subject, mutant);
      const [violation] = seen.failure?.violations ?? [];
      console.log(
        `${mutant.rule}: ${mutant.off}\n  ${seen.schedules} schedules in "${mutant.scenario}": ${violation?.invariant} ${violation?.message}\n  ${seen.failure?.schedule.join(" | ")}`,
      );
      expect(mutant.violates).toContain(violation?.invariant);
    });
  }

  it("every rule is switched off or named as not covered", () => {
    const covered = new Set([...mutants.map(({ rule }) => rule), ...Object.keys(notCovered)]);
    const rules = Array.from({ length: 24 }, (_, index) => `A${index + 1}`).filter((rule) => rule !== "A21");
    expect(rules.filter((rule) => !covered.has(rule))).toEqual([]);
  });

  it.each(Object.entries(notCovered))("%s is proved by the tests that are named for it", (rule, where) => {
    const files = [...where.matchAll(/(?:(\w+)\/)?([\w-]+\.test\.ts)/g)].map(
      ([, folder = "server", file]) => `${folder}/${file}`,
    );
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      expect(readFileSync(new URL(`../${file}`, import.meta.url), "utf8")).toContain(`[${rule}]`);
  });
});
