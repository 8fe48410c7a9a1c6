import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { projectThread } from "../../src/protocol/project.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { plain } from "../protocol/fold.ts";
import type { Schedule } from "./faulty-world.ts";
import { play, TOOLS } from "./faulty-world.ts";

const long = process.env.TOOLRUN_LONG === "1";
const RUNS = Number(process.env.TOOLRUN_RUNS ?? (long ? 5_000 : 150));
const SEED = Number(process.env.TOOLRUN_SEED ?? (long ? Math.trunc(Math.random() * 2 ** 31) : 20_261_130));

const rate = fc.constantFrom(0, 0, 0, 0.05, 0.2, 0.5);
const faults = fc.oneof(
  fc.record({
    ...{ lostReply: rate, lostRequest: rate, lateWrite: rate, duplicate: rate, delay: rate },
    ...{ disconnect: rate, droppedNotification: rate, clockSkew: fc.constantFrom(0, 0, 0.3, 4, -0.3) },
  }),
  fc.constantFrom({ lostRequest: 1 }, { lostReply: 1 }, { lateWrite: 1 }, { duplicate: 1 }, { disconnect: 1 }, {}),
);

const schedules: fc.Arbitrary<Schedule> = fc.record({
  turns: fc.array(fc.array(fc.constantFrom(...TOOLS), { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
  faults: fc.tuple(faults, faults),
  seed: fc.nat(),
  healMs: fc.constantFrom(5_000, 30_000, 70_000, 150_000),
  killMs: fc.constantFrom(null, null, 1_000, 4_000, 20_000, 60_000),
  denies: fc.boolean(),
  says: fc.boolean(),
});

/** How a run may end here: nobody stops it, and no model fails by itself. */
function isRight({
  outcome,
  code,
}: {
  readonly outcome?: string | undefined;
  readonly code?: string | undefined;
}): boolean {
  // Servers in a row that die or lose their lease while the model is silent are what that code is for.
  return outcome === "completed" || (outcome === "failed" && code === "model-failed");
}

describe("two servers over a store that fails at random, and then heals", { timeout: 60 * 60_000 }, () => {
  it("bring every run to its end: nothing runs twice, the log stays valid, readers miss nothing", async () => {
    console.log(`faulty stores: ${RUNS} schedules; TOOLRUN_SEED=${SEED} repeats them`);
    const from = performance.now();
    const struck: Record<string, number> = {};
    const seen = { takeovers: 0, cutOff: 0, ran: 0, events: 0 };
    await fc.assert(
      fc.asyncProperty(schedules, async (schedule) => {
        const { thread, events, readers, ran, untyped, armed, ...played } = await play(schedule);
        expect(untyped).toEqual([]);
        expect(thread.active).toEqual([]);
        expect(thread.runs.filter((run) => !isRight(run))).toEqual([]);
        expect(thread.runs.length).toBeGreaterThan(0);
        expect(thread).toMatchObject({ anomalies: 0, unknown: false, driverId: null });
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
        expect(new Set(ran).size).toBe(ran.length);
        const started = events.flatMap((event) =>
          event.type === "call-started" ? [`${event.callId}#${event.attempt}`] : [],
        );
        expect(ran.filter((attempt) => !started.includes(attempt))).toEqual([]);
        expect(thread.messages).toHaveLength(schedule.says && thread.messages.length > 1 ? 2 : 1);
        for (const reader of readers) {
          expect(reader.faults).toEqual([]);
          const { seq, at } = thread;
          const same = { ...reader.thread, seq, at, anomalies: 0 };
          expect(plain(viewThread(same))).toEqual(plain(viewThread(projectThread(thread))));
        }
        expect(armed).toBe(0);
        for (const [name, count] of Object.entries(played.struck)) struck[name] = (struck[name] ?? 0) + count;
        seen.takeovers += played.takeovers;
        seen.cutOff += thread.runs.filter(({ code }) => code === "model-failed").length;
        seen.ran += ran.length;
        seen.events += events.length;
      }),
      { numRuns: RUNS, seed: SEED },
    );
    console.log(`faulty stores: ${JSON.stringify({ ...seen, ...struck })}, ${Math.round(performance.now() - from)} ms`);
    if (RUNS < 100) return;
    for (const [name, count] of Object.entries(struck)) expect(count, name).toBeGreaterThan(RUNS / 10);
    expect(seen.takeovers).toBeGreaterThan(RUNS / 20);
    expect(seen.cutOff).toBeLessThan(RUNS / 5);
  });
});
