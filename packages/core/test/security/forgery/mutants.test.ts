import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildModule, removeBuilds } from "../../build-mutant.ts";
import type { Subject } from "./app.ts";
import { mutants } from "./mutants.ts";
import { createArena } from "./play.ts";
import * as subject from "./subject.ts";
import { attacks } from "./tamper.ts";
import type { World } from "./world.ts";
import { recordWorld } from "./world.ts";

const MOST = 1_000;

let world: World;
beforeAll(async () => {
  world = await recordWorld(subject);
});
afterAll(removeBuilds);

describe("a hole in a wall is found by forged requests", () => {
  for (const mutant of mutants) {
    it(mutant.hole, { timeout: 600_000 }, async () => {
      const input = new URL("./subject.ts", import.meta.url);
      const arena = createArena((await buildModule(input, mutant.hole, mutant)) as Subject, world); // of that module
      let runs = 0;
      let wrong: readonly string[] = [];
      await fc.check(
        fc.asyncProperty(attacks, async (list) => {
          runs++;
          ({ wrong } = await arena.play(list));
          return wrong.length === 0;
        }),
        { numRuns: MOST, seed: 1, endOnFailure: true },
      );
      console.log(`${mutant.hole}: run ${runs}, ${wrong[0]}`);
      expect(wrong.join("\n")).toMatch(mutant.seen);
    });
  }
});
