import type { AnyStep, ViewTurn } from "toolrun";
import { describe, expect, test } from "vitest";
import { allStretches, timeOf, timeRows, toScale } from "../../src/timeline/time-rows.ts";
import { stepOf } from "../ui/fixtures.tsx";

const turnOf = (turn: number, from: number, to: number | undefined, ...steps: readonly AnyStep[]): ViewTurn => ({
  turn,
  model: "m",
  status: to === undefined ? "open" : "ended",
  attempt: 1,
  startedAt: from,
  endedAt: to,
  steps,
});
const decisionOf = (kind: "approval" | "question" | "browser" | "interrupted", at: number) =>
  ({ kind, action: kind === "approval" ? "approve" : "answer", via: "browser", at, digest: "" }) as const;
/** The stretches of a step whose turn ended at 100, as `kind from-to`. */
const lineOf = (given: Partial<AnyStep>, now = 1_000): string => {
  const [row] = timeRows([turnOf(1, 0, 100, stepOf(given))], now);
  return (row?.children[0]?.stretches ?? []).map(({ kind, from, to }) => `${kind} ${from}-${to}`).join(", ");
};

describe("a step", () => {
  test("works from its start to its end, or until now", () => {
    expect(lineOf({ startedAt: 110, endedAt: 300 })).toBe("work 110-300");
    expect(lineOf({ startedAt: 110, status: "running" })).toBe("work 110-1000");
    expect(lineOf({ status: "queued" })).toBe("");
  });

  test("waits for its approval before it starts", () => {
    const ask = { kind: "approval", digest: "", askedAt: 120 } as const;
    expect(lineOf({ status: "waiting", ask, askedAt: 120 })).toBe("wait 120-1000");
    const decision = decisionOf("approval", 500);
    expect(lineOf({ askedAt: 120, decision, startedAt: 510, endedAt: 600 })).toBe("wait 120-500, work 510-600");
    expect(lineOf({ status: "not-run", askedAt: 120, decision, endedAt: 500 })).toBe("wait 120-500");
  });

  test("waits in the middle of its work where it asks for an answer", () => {
    const given = { earlier: [decisionOf("approval", 200)], askedAt: 300, startedAt: 210, endedAt: 900 };
    expect(lineOf({ ...given, decision: decisionOf("question", 700) })).toBe(
      "wait 100-200, work 210-300, wait 300-700, work 700-900",
    );
  });

  test("that a browser does is at work, not waiting", () => {
    expect(lineOf({ askedAt: 120, decision: decisionOf("browser", 500), startedAt: 110, endedAt: 510 })).toBe(
      "work 110-510",
    );
  });

  test("never ends before it begins, whatever two clocks say", () => {
    expect(lineOf({ startedAt: 400, endedAt: 300 })).toBe("work 400-400");
  });
});

describe("rows", () => {
  test("have the rounds of a sub-agent below the step that runs it", () => {
    const child = stepOf({ id: "pay" });
    const parent = stepOf({ id: "research", children: [child] });
    const turns = [
      turnOf(1, 0, 100, parent),
      { ...turnOf(1, 200, 300, child), parentId: "research" },
      turnOf(2, 400, 500),
    ];
    const rows = timeRows(turns, 1_000);
    expect(rows).toHaveLength(2);
    expect(rows[0]?.children[0]?.children[0]).toMatchObject({ type: "turn", turn: turns[1] });
    expect(rows[0]?.children[0]?.children[0]?.children[0]).toMatchObject({ type: "step", step: child });
  });

  test("add up to a time in which what happened at once counts once", () => {
    const steps = [stepOf({ startedAt: 100, endedAt: 300 }), stepOf({ startedAt: 200, endedAt: 400 })];
    const stretches = allStretches(timeRows([turnOf(1, 0, 100, ...steps)], 1_000));
    expect(timeOf(stretches)).toBe(400);
    expect(timeOf(stretches, "work")).toBe(300);
    expect(timeOf(stretches, "wait")).toBe(0);
  });
});

describe("the scale", () => {
  const work = (from: number, to: number) => ({ kind: "work", from, to }) as const;
  const wait = (from: number, to: number) => ({ kind: "wait", from, to }) as const;

  test("is even where nothing waits", () => {
    const place = toScale([work(100, 200), work(200, 300)]);
    expect([100, 150, 200, 300].map(place)).toEqual([0, 0.25, 0.5, 1]);
  });

  test("cuts a night of waiting down to a quarter of the work", () => {
    const night = 8 * 3_600_000;
    const place = toScale([work(0, 1_000), wait(1_000, night), work(night, night + 1_000)]);
    expect([0, 1_000, night, night + 1_000].map((at) => Math.round(place(at) * 100))).toEqual([0, 40, 60, 100]);
  });

  test("keeps the order of all times, and stays within its ends", () => {
    const place = toScale([wait(0, 50), work(10, 20), work(70, 80), wait(60, 500)]);
    const places = Array.from({ length: 600 }, (_, at) => place(at - 50));
    expect(places.toSorted((left, right) => left - right)).toEqual(places);
    expect(Math.min(...places)).toBe(0);
    expect(Math.max(...places)).toBe(1);
  });

  test("has an answer where there is nothing", () => {
    expect([toScale([])(5), toScale([work(5, 5)])(5)].every(Number.isFinite)).toBe(true);
  });
});
