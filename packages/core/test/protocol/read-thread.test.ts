import { describe, expect, test } from "vitest";
import { askDigest, findCall, parentOf, pathOf, textOf } from "../../src/protocol/read-thread.ts";
import type { Call, Run, Turn } from "../../src/protocol/thread.ts";
import type { Draft } from "../loop/small-log.ts";
import {
  allowed,
  asked,
  begun,
  childStarted,
  decided,
  doneTurn,
  ended,
  foldDrafts,
  inRun,
  questioned,
  runStarted,
  started,
  turnEnded,
  turnStarted,
  wholeTurn,
} from "../loop/small-log.ts";

/** Two runs that ended, and one at work: its second turn's call `help` has a sub-agent. */
const thread = foldDrafts([
  ...begun,
  ...doneTurn(1, { callId: "old" }, { callId: "old too" }),
  ...doneTurn(2, { callId: "later" }),
  ended(),
  runStarted(true, "r2"),
  ...inRun("r2", ...doneTurn(1, { callId: "other" }), ended("stopped")),
  runStarted(true, "r3"),
  ...inRun("r3", ...doneTurn(1, { callId: "now" }), turnStarted(2), turnEnded(2)),
  ...inRun("r3", ...doneTurnCalls("help", "wait")),
  childStarted("help", "child"),
  ...inRun("child", ...wholeTurn(["below"])),
]);

/** Calls of turn 2, the first of which runs. */
function doneTurnCalls(...callIds: readonly string[]): readonly Draft[] {
  const ready = callIds.flatMap((callId) =>
    wholeTurn([callId])
      .slice(2)
      .map((draft) => ({ ...draft, turn: 2 }) as Draft),
  ); // a call-ready
  return [...ready, ...callIds.flatMap((callId) => [allowed(callId), started(callId)])];
}

describe("findCall", () => {
  test.each([
    ["a call of the current turn", "wait", ["r3", 2]],
    ["a call of a turn before", "now", ["r3", 1]],
    ["a call of a sub-agent", "below", ["child", 1]],
    ["a call of the last run that ended", "other", ["r2", 1]],
    ["a call of the first run", "old", ["r", 1]],
    ["the second call of a turn", "old too", ["r", 1]],
    ["a call of an ended run's last turn", "later", ["r", 2]],
  ])("finds %s", (_title, callId, where) => {
    const found = findCall(thread, callId);
    expect([found?.run.runId, found?.turn.turn]).toEqual(where);
    expect(found?.call.callId).toBe(callId);
    expect(found?.turn.calls).toContain(found?.call);
  });

  test.each([
    ["in a thread", thread],
    ["in a thread without a run", foldDrafts(begun.slice(0, 1))],
    ["in a run without a turn", foldDrafts(begun)],
  ])("finds nothing that is not %s", (_title, where) => {
    expect(findCall(where, "nowhere")).toBeUndefined();
  });

  test("prefers the run that is at work to one that ended, and a later run to an earlier one", () => {
    const twice = [...begun, ...doneTurn(1, { callId: "a" }), ended(), runStarted(true, "r2")];
    const again = [...inRun("r2", ...doneTurn(1, { callId: "a" }))];
    expect(findCall(foldDrafts([...twice, ...again]), "a")?.run.runId).toBe("r2");
    expect(findCall(foldDrafts([...twice, ...again, ...inRun("r2", ended())]), "a")?.run.runId).toBe("r2");
  });
});

describe("parentOf", () => {
  const run = (runId: string): Run => [...thread.active, ...thread.runs].find((each) => each.runId === runId) as Run; // there is one

  test("is the run and the call that asked for a sub-agent", () => {
    const parent = parentOf(thread, run("child"));
    expect([parent?.run.runId, parent?.call.callId]).toEqual(["r3", "help"]);
  });

  test("is nobody for the outermost run, and for one whose call is gone", () => {
    expect(parentOf(thread, run("r3"))).toBeUndefined();
    expect(parentOf(thread, { ...run("child"), parentCallId: "gone" })).toBeUndefined();
    expect(parentOf(foldDrafts([...begun, childStarted("x", "early")]), run("child"))).toBeUndefined();
  });
});

describe("pathOf", () => {
  test("names the agent tools on the way down, the outermost first", () => {
    const deep = foldDrafts([
      ...begun,
      ...wholeTurn(["a", "help"]),
      ...[allowed("a"), started("a"), childStarted("a", "one")],
      ...inRun("one", ...wholeTurn(["b", "look"]), allowed("b"), started("b")),
      childStarted("b", "two", 2),
    ]);
    expect(deep.active.map((each) => pathOf(deep, each))).toEqual([[], ["help"], ["help", "look"]]);
  });
});

describe("askDigest", () => {
  const callAfter = (...drafts: readonly Draft[]): Call =>
    findCall(foldDrafts([...begun, ...wholeTurn(["a"]), ...drafts]), "a")?.call as Call; // the only one

  test("names the attempt and how many answers came before: no two questions of a call share it", () => {
    const approved = [...asked("a"), decided("a", "approve")];
    const questions = [
      callAfter(allowed("a")),
      callAfter(...approved),
      callAfter(...approved, started("a")),
      callAfter(...approved, started("a"), ...questioned("a"), decided("a", "answer")),
      callAfter(...approved, started("a"), ...questioned("a"), decided("a", "answer"), started("a", 2)),
    ];
    const digests = questions.map(askDigest);
    expect(digests).toEqual(["d-a.a0.0", "d-a.a0.1", "d-a.a1.1", "d-a.a1.2", "d-a.a2.2"]);
  });
});

describe("textOf", () => {
  test("is what a turn says, without reasoning, sources and calls", () => {
    const at = { runId: "r", epoch: 1, turn: 1, attempt: 1 } as const;
    const log = foldDrafts([
      ...begun,
      turnStarted(),
      { type: "text-added", ...at, kind: "reasoning", text: "hm" },
      { type: "text-added", ...at, text: "One " },
      { type: "part-added", ...at, part: { type: "source", url: "https://example.com/" } },
      { type: "text-added", ...at, text: "two" },
    ]);
    expect(textOf(log.active[0]?.turn as Turn)).toBe("One two"); // it has just begun
  });
});
