import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import type { Frame } from "../../src/protocol/frame.ts";
import { parseFrame, reduceFrame, toFrame } from "../../src/protocol/frame.ts";
import { projectEvent, projectThread } from "../../src/protocol/project.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { eventSchemas } from "../../src/protocol/schemas.ts";
import { parseEvent, serialiseEvent } from "../../src/protocol/stored-event.ts";
import type { Call, Run, Thread, Turn } from "../../src/protocol/thread.ts";
import { emptyThread, isSettled, turnsOf } from "../../src/protocol/thread.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { EVENT_TYPES, eventsOfType, garbageLogs, legalLogs, RUNS } from "./arbitrary-log.ts";
import { fold, plain } from "./fold.ts";

const LONG = { timeout: 20 * 60_000 };
const logs = fc.oneof(
  legalLogs.map(({ events }) => events),
  garbageLogs,
);

function check<Values extends [unknown, ...unknown[]]>(property: fc.IProperty<Values>): void {
  fc.assert(property, { numRuns: RUNS }); // a failure prints its seed and the shortest log
}

describe("generated logs", LONG, () => {
  test("legal ones have no anomaly, show every message once, and fit the schemas", () => {
    const seen = new Map<string, number>();
    check(
      fc.property(legalLogs, ({ events, thread }) => {
        expect(thread.anomalies).toBe(0);
        expect(thread.unknown).toBe(false);
        const ids = viewThread(thread).messages.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        for (const event of events) {
          seen.set(event.type, (seen.get(event.type) ?? 0) + 1);
          const result = eventSchemas[event.type].safeParse(plain(event));
          if (!result.success) throw new Error(`${JSON.stringify(event)}: ${result.error.message}`);
        }
      }),
    );
    expect(EVENT_TYPES.filter((type) => !seen.has(type))).toEqual([]);
  });

  test.each(EVENT_TYPES)("well-formed events of kind %s fit their schema and no other", (type) => {
    fc.assert(
      fc.property(eventsOfType(type), (event) => {
        expect(eventSchemas[type].safeParse(event).success).toBe(true);
        expect(eventSchemas[type].safeParse({ ...event, extra: 1 }).success).toBe(false);
        for (const other of EVENT_TYPES)
          if (other !== type) expect(eventSchemas[other].safeParse(event).success).toBe(false);
      }),
      { numRuns: 20 },
    );
  });
});

describe("reduceThread", LONG, () => {
  test("folding the rest onto a stored middle is folding the whole", () => {
    check(
      fc.property(logs, fc.nat(), (events, cut) => {
        const at = cut % (events.length + 1);
        const middle: Thread = JSON.parse(JSON.stringify(fold(events.slice(0, at))));
        expect(plain(fold(events.slice(at), middle))).toEqual(plain(fold(events)));
      }),
    );
  });

  test("events that were folded already change nothing", () => {
    check(
      fc.property(logs, fc.nat(), (events, cut) => {
        const thread = fold(events);
        expect(fold(events.slice(cut % (events.length + 1)), thread)).toBe(thread);
        const twice = events.flatMap((event) => [event, event]);
        expect(plain(fold(twice))).toEqual(plain(thread));
      }),
    );
  });

  test("never throws, and neither does the view; its state is plain JSON", () => {
    check(
      fc.property(logs, (events) => {
        const thread = fold(events);
        expect(thread.seq).toBe(events.length);
        expect(thread.anomalies).toBeLessThanOrEqual(events.length);
        const spoken = viewThread(thread).messages.filter(({ role }) => role === "assistant");
        expect(new Set(spoken.map(({ id }) => id)).size).toBe(spoken.length);
        expect(plain(thread)).toEqual(JSON.parse(JSON.stringify(plain(thread))));
      }),
    );
  });

  test("store text and back is the same event", () => {
    check(
      fc.property(logs, (events) => {
        for (const event of events) expect(parseEvent(serialiseEvent(event), event.seq)).toEqual(plain(event));
      }),
    );
  });

  test("what is settled keeps its identity under whatever comes later", () => {
    check(
      fc.property(logs, fc.nat(), (events, cut) => {
        const at = cut % (events.length + 1);
        const before = fold(events.slice(0, at));
        const after = fold(events.slice(at), before);
        expect(after.runs.slice(0, before.runs.length)).toSatisfy((runs: Run[]) => same(runs, before.runs));
        for (const run of before.active) {
          const later = [...after.active, ...after.runs].find((each) => each.runId === run.runId);
          expect(later).toBeDefined();
          if (!later) continue;
          expect(same(later.turns.slice(0, run.turns.length), run.turns)).toBe(true);
          const settled = run.turn?.status === "ended" ? run.turn.calls.filter(isSettled) : [];
          for (const call of settled) expect(allCalls(later).includes(call)).toBe(true);
        }
      }),
    );
  });

  test("one more event leaves every part and call it is not about as it was", () => {
    check(
      fc.property(logs, (events) => {
        let thread = emptyThread("t");
        for (const event of events) {
          const next = reduceThread(thread, event);
          for (const run of thread.active) {
            const later = next.active.find((each) => each.runId === run.runId);
            if (!later || !run.turn || later.turn?.turn !== run.turn.turn || later.turn.attempt !== run.turn.attempt)
              continue;
            if (later.turn.status === "failed") continue;
            expect(changed(run.turn.calls, later.turn.calls)).toBeLessThanOrEqual(1);
            expect(changed(run.turn.parts, later.turn.parts)).toBeLessThanOrEqual(event.type === "text-added" ? 1 : 0);
          }
          thread = next;
        }
      }),
    );
  });
});

describe("viewThread", LONG, () => {
  test("looked at after every event it shows what a fresh look shows", () => {
    check(
      fc.property(logs, fc.integer({ min: 1, max: 9 }), (events, every) => {
        let thread = emptyThread("t");
        for (const event of events) {
          thread = reduceThread(thread, event);
          const projected = projectThread(thread);
          const views = [viewThread(thread), viewThread(projected)];
          if (event.seq % every > 0 && event.seq < events.length) continue;
          expect(plain(views)).toEqual(plain([viewThread(copy(thread)), viewThread(projectThread(copy(thread)))]));
        }
      }),
    );
  });
});

describe("projection", LONG, () => {
  test("projecting the fold is folding the projection", () => {
    check(
      fc.property(legalLogs, ({ events, thread }) => {
        const seen = events.flatMap((event) => projectEvent(event) ?? []);
        const folded = { ...fold(seen), seq: thread.seq, at: thread.at, anomalies: 0 };
        expect(plain(folded)).toEqual(plain(projectThread(thread)));
      }),
    );
  });

  test("folding the wire's frames is folding the store's log, however it is cut", () => {
    check(
      fc.property(legalLogs, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), ({ events, thread }, cuts) => {
        let seen = emptyThread("t");
        for (const frame of framesOf(events, cuts)) {
          const read = parseFrame(JSON.stringify(frame));
          expect(read).toBeDefined();
          const next = read && reduceFrame(seen, read);
          expect(next).toBeDefined();
          seen = next ?? seen;
        }
        expect(plain({ ...seen, anomalies: 0 })).toEqual(plain(projectThread(thread)));
      }),
    );
  });

  test("frames that come twice or late change nothing, a hole is seen", () => {
    check(
      fc.property(
        legalLogs,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        fc.nat(),
        ({ events }, cuts, pick) => {
          const frames = framesOf(events, cuts);
          const seen = frames.reduce<Thread>((thread, frame) => reduceFrame(thread, frame) ?? thread, emptyThread("t"));
          const again = frames[pick % frames.length];
          if (again) expect(reduceFrame(seen, again)).toBe(seen);
          const overlap = toFrame(
            1,
            seen.seq,
            seen.at,
            events.flatMap((event) => projectEvent(event) ?? []),
          );
          const half = frames
            .slice(0, pick % frames.length)
            .reduce<Thread>((thread, frame) => reduceFrame(thread, frame) ?? thread, emptyThread("t"));
          expect(plain(reduceFrame(half, overlap))).toEqual(plain(seen));
          if (frames.length > 1 && frames[1]) expect(reduceFrame(emptyThread("t"), frames[1])).toBeUndefined();
        },
      ),
    );
  });

  test("a projected thread, projected again, is itself, and has nothing that stays on the server", () => {
    check(
      fc.property(logs, (events) => {
        const projected = projectThread(fold(events));
        expect(plain(projectThread(projected))).toEqual(plain(projected));
        expect(JSON.stringify(projected)).not.toMatch(/"(?:salt|toolHash|opaque|user|inputText|toModel|providerId)":/);
        const wire = JSON.stringify(events.flatMap((event) => projectEvent(event) ?? []));
        expect(wire).not.toMatch(/"(?:salt|toolHash|opaque|user|inputText|toModel|providerId|bodyHash|epoch)":/);
      }),
    );
  });
});

function framesOf(events: readonly ThreadEvent[], cuts: readonly number[]): readonly Frame[] {
  const frames: Frame[] = [];
  let from = 0;
  for (let index = 0; from < events.length; index++) {
    const range = events.slice(from, from + (cuts[index % cuts.length] ?? 1));
    const [first, last] = [range[0], range.at(-1)];
    if (first && last)
      frames.push(
        toFrame(
          first.seq,
          last.seq,
          last.at,
          range.flatMap((event) => projectEvent(event) ?? []),
        ),
      );
    from += range.length;
  }
  return frames;
}

/** The same thread without anything cached for it. */
function copy(thread: Thread): Thread {
  return plain(thread);
}

function allCalls(run: Run): readonly Call[] {
  return turnsOf(run).flatMap((turn: Turn) => turn.calls);
}

function same(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}

/** How many of the items that were there are others now. */
function changed(before: readonly unknown[], after: readonly unknown[]): number {
  return before.filter((item, index) => after[index] !== item).length;
}
