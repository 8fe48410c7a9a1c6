import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createArena } from "./play.ts";
import * as subject from "./subject.ts";
import { attacks } from "./tamper.ts";
import { recordWorld } from "./world.ts";

const long = process.env.TOOLRUN_LONG === "1";
const RUNS = Number(process.env.TOOLRUN_RUNS ?? (long ? 10_000 : 500));
const SEED = Number(process.env.TOOLRUN_SEED ?? (long ? Math.trunc(Math.random() * 2 ** 31) : 20_261_201));

describe("honest requests tampered with at random", { timeout: 60 * 60_000 }, () => {
  it("run, change and show nothing that was not shown, allowed and one's own", async () => {
    const world = await recordWorld(subject);
    const arena = createArena(subject, world);
    const statuses: Record<string, number> = {};
    const seen = { requests: 0, ran: 0, honest: 0 };
    const from = performance.now();
    await fc.assert(
      fc.asyncProperty(attacks, async (list) => {
        const played = await arena.play(list);
        expect(played.wrong).toEqual([]);
        for (const status of played.statuses) statuses[status] = (statuses[status] ?? 0) + 1;
        seen.requests += played.statuses.length;
        seen.ran += played.ran;
        seen.honest += played.honest ? 1 : 0;
      }),
      { numRuns: RUNS, seed: SEED },
    );
    const took = Math.round(performance.now() - from);
    console.log(`forged requests, TOOLRUN_SEED=${SEED}: ${JSON.stringify({ ...seen, statuses })}, ${took} ms`);
    // The attacks are worth something: most are refused, in every way there is, and what is honest still works.
    expect(seen.honest).toBeGreaterThan(RUNS / 2);
    expect(seen.ran).toBeGreaterThan(RUNS / 2);
    for (const status of [200, 202, 400, 401, 403, 404, 409, 410, 415]) {
      expect(statuses[status], `answers of ${status}`).toBeGreaterThan(RUNS / 50);
    }
    const refused = Object.entries(statuses).reduce(
      (sum, [status, count]) => sum + (Number(status) < 400 ? 0 : count),
      0,
    );
    expect(refused).toBeGreaterThan(seen.requests / 3);
  });
});
