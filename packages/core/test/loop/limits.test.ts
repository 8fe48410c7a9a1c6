import { describe, expect, it } from "vitest";
import type { Rules, RunLimits } from "../../src/agent/rules.ts";
import {
  callsLeft,
  countOf,
  failuresOf,
  gateRefusals,
  lastWhole,
  repeatsEnd,
  repeatsOf,
  rulesFor,
  usedBy,
  usedUp,
} from "../../src/loop/limits.ts";
import type { Run, Thread } from "../../src/protocol/thread.ts";
import type { Json, LimitName } from "../../src/protocol/values.ts";
import type { DoneCall, Draft } from "./small-log.ts";
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
  notRun,
  questioned,
  ready,
  started,
  succeeded,
  turnEnded,
  turnJudged,
  turnStarted,
  wholeTurn,
} from "./small-log.ts";
import { RULES, TOOL } from "./small-rules.ts";

function withLimits(limits: Partial<RunLimits>, tools: Rules["tools"] = RULES.tools): Rules {
  return { ...RULES, limits: { ...RULES.limits, ...limits }, tools };
}

/** An agent that can ask a helper, which can ask a scout. */
const SCOUT = withLimits({ calls: 7 });
const HELPER = withLimits({ calls: 8 }, { look: { ...TOOL, kind: "agent", agent: SCOUT }, plain: TOOL });
const AGENT = withLimits({ calls: 9 }, { help: { ...TOOL, kind: "agent", agent: HELPER }, plain: TOOL });

const helping: readonly Draft[] = [
  ...begun,
  ...wholeTurn(["a", "help"], ["b", "help"]),
  ...["a", "b"].flatMap((callId) => [allowed(callId), started(callId)]),
  childStarted("a", "helper"),
];
const scouting: readonly Draft[] = [
  ...helping,
  ...inRun("helper", ...wholeTurn(["c", "look"]), allowed("c"), started("c")),
  childStarted("c", "scout", 2),
];

function runOf(thread: Thread, runId = "r"): Run {
  const run = [...thread.active, ...thread.runs].find((each) => each.runId === runId);
  if (!run) throw new Error(`no run ${runId}`);
  return run;
}

/** The run of a log. */
function runAfter(...drafts: readonly Draft[]): Run {
  return runOf(foldDrafts([...begun, ...drafts]));
}

describe("rulesFor", () => {
  it("finds each run's agent by the tools on the way down", () => {
    const thread = foldDrafts(scouting);
    const found = ["r", "helper", "scout"].map((runId) => rulesFor(thread, runOf(thread, runId), AGENT));
    expect(found).toEqual([AGENT, HELPER, SCOUT]);
  });

  it.each<[string, Rules["tools"]]>([
    ["is gone", { plain: TOOL }],
    ["is no agent any more", { help: TOOL }],
    ["is one that every object has", { plain: TOOL, helper: TOOL }],
  ])("finds none for a run, and none below it, when the tool that asked %s", (_title, tools) => {
    const thread = foldDrafts(scouting);
    const rules = withLimits({}, tools);
    expect(rulesFor(thread, runOf(thread, "helper"), rules)).toBeUndefined();
    expect(rulesFor(thread, runOf(thread, "scout"), rules)).toBeUndefined();
  });

  it("takes no tool that only every object has", () => {
    const thread = foldDrafts([
      ...begun,
      ...wholeTurn(["a", "constructor"]),
      allowed("a"),
      started("a"),
      childStarted("a"),
    ]);
    expect(rulesFor(thread, runOf(thread, "child"), RULES)).toBeUndefined();
  });

  it("finds none for a run that nobody asked for", () => {
    const thread = foldDrafts([...begun, childStarted("nobody")]);
    expect(rulesFor(thread, runOf(thread, "child"), AGENT)).toBeUndefined();
  });
});

describe("usedBy", () => {
  it("is nothing for a run that has done nothing", () => {
    const thread = foldDrafts(begun);
    expect(usedBy(thread, runOf(thread))).toEqual({ calls: 0, tokens: 0 });
  });

  it.each([
    ["what it read and wrote", { inputTokens: 5, outputTokens: 3 }, 8],
    ["what it read alone", { inputTokens: 5 }, 5],
    ["what it wrote alone", { outputTokens: 3 }, 3],
    ["reasoning and cached tokens as parts of those", { inputTokens: 5, outputTokens: 3, reasoningTokens: 2 }, 8],
  ])("counts %s", (_title, usage, tokens) => {
    const thread = foldDrafts([...begun, turnStarted(), turnEnded(1, 1, "stop", usage), ready("a")]);
    expect(usedBy(thread, runOf(thread))).toEqual({ calls: 1, tokens });
  });

  it("counts sub-agents that are at work, and theirs, for everybody above them and nobody else", () => {
    const thread = foldDrafts([
      ...helping,
      childStarted("b", "other"),
      ...inRun("helper", turnStarted(), turnEnded(1, 1, "stop", { inputTokens: 10 }), ready("c", "look")),
      ...inRun("helper", allowed("c"), started("c")),
      childStarted("c", "scout", 2),
      ...inRun("scout", turnStarted(), turnEnded(1, 1, "stop", { outputTokens: 100 }), ready("d"), ready("e")),
    ]);
    expect(usedBy(thread, runOf(thread))).toEqual({ calls: 2 + 1 + 2, tokens: 110 });
    expect(usedBy(thread, runOf(thread, "helper"))).toEqual({ calls: 1 + 2, tokens: 110 });
    expect(usedBy(thread, runOf(thread, "scout"))).toEqual({ calls: 2, tokens: 100 });
    expect(usedBy(thread, runOf(thread, "other"))).toEqual({ calls: 0, tokens: 0 });
  });

  it("counts nothing twice of a run that no open call asked for, or one of its own", () => {
    for (const parentCallId of ["nobody", "own"]) {
      const lost = inRun("lost", ...wholeTurn(["own"]));
      const thread = foldDrafts([...begun, childStarted(parentCallId, "lost"), ...lost]);
      expect(usedBy(thread, runOf(thread))).toEqual({ calls: 0, tokens: 0 });
      expect(usedBy(thread, runOf(thread, "lost"))).toEqual({ calls: 1, tokens: 0 });
    }
  });

  it("counts sub-agents that ended once", () => {
    const thread = foldDrafts([
      ...scouting,
      ...inRun(
        "scout",
        turnStarted(),
        turnEnded(1, 1, "stop", { outputTokens: 100 }),
        ready("d"),
        notRun("d", "blocked"),
      ),
      ...inRun("scout", { ...ended(), usage: { outputTokens: 100 } } as Draft), // of this kind
    ]);
    expect(usedBy(thread, runOf(thread, "helper"))).toEqual({ calls: 1 + 1, tokens: 100 });
    expect(usedBy(thread, runOf(thread))).toEqual({ calls: 2 + 1 + 1, tokens: 100 });
  });
});

describe("usedUp", () => {
  const spent = foldDrafts([
    ...begun,
    turnStarted(),
    turnEnded(1, 1, "stop", { inputTokens: 6, outputTokens: 4 }),
    ready("a"),
    ready("b"),
  ]);

  it.each<[string, Partial<RunLimits>, "calls" | "tokens" | undefined]>([
    ["no limit is near", {}, undefined],
    ["one call is left", { calls: 3 }, undefined],
    ["no call is left", { calls: 2 }, "calls"],
    ["more calls came than are allowed", { calls: 1 }, "calls"],
    ["one token is left", { tokens: 11 }, undefined],
    ["no token is left", { tokens: 10 }, "tokens"],
    ["both are used up", { calls: 2, tokens: 10 }, "tokens"],
  ])("where %s", (_title, limits, limit) => {
    expect(usedUp(spent, runOf(spent), withLimits(limits))).toBe(limit);
  });

  const below = (calls: { root: number; helper: number }): Rules =>
    withLimits(
      { calls: calls.root },
      { help: { ...TOOL, kind: "agent", agent: withLimits({ calls: calls.helper }, HELPER.tools) } },
    );

  it.each<[string, { root: number; helper: number }, Record<string, "calls" | undefined>]>([
    ["of nobody forbids nothing", { root: 4, helper: 2 }, { r: undefined, helper: undefined, scout: undefined }],
    [
      "of the agent above forbids what is below it",
      { root: 3, helper: 9 },
      { r: "calls", helper: "calls", scout: "calls" },
    ],
    [
      "of a sub-agent forbids it, not its parent",
      { root: 9, helper: 1 },
      { r: undefined, helper: "calls", scout: "calls" },
    ],
  ])("the limit %s", (_title, calls, expected) => {
    const thread = foldDrafts(scouting); // two calls of the root, one of the helper
    const found = ["r", "helper", "scout"].map((runId) => [runId, usedUp(thread, runOf(thread, runId), below(calls))]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it("names tokens before calls, whosever they are", () => {
    const thread = foldDrafts([...helping.slice(0, 3), turnStarted(), turnEnded(1, 1, "stop", { inputTokens: 10 })]);
    const asking = foldDrafts([ready("a", "help"), allowed("a"), started("a"), childStarted("a", "helper")], thread);
    const made = foldDrafts(inRun("helper", ...wholeTurn(["c"])), asking);
    const rules = withLimits({ tokens: 10 }, { help: { ...TOOL, kind: "agent", agent: withLimits({ calls: 1 }) } });
    expect(usedUp(made, runOf(made, "helper"), rules)).toBe("tokens");
  });

  it("is not known for a run whose agent is gone", () => {
    const thread = foldDrafts(helping);
    expect(usedUp(thread, runOf(thread, "helper"), withLimits({ calls: 1 }, {}))).toBeUndefined();
  });
});

describe("callsLeft", () => {
  it.each([
    ["its own limit", "r", 9 - 3],
    ["its own limit, where that of the agent above leaves more", "helper", Math.min(8 - 1, 9 - 3)],
    ["the smallest limit on the way up", "scout", Math.min(7, 8 - 1, 9 - 3)],
  ])("is %s less what was made", (_title, runId, left) => {
    const thread = foldDrafts(scouting);
    expect(callsLeft(thread, runOf(thread, runId), AGENT)).toBe(left);
  });

  it("is what the sub-agent may make where that is the least", () => {
    const thread = foldDrafts(scouting);
    const rules = withLimits(
      { calls: 50 },
      { help: { ...TOOL, kind: "agent", agent: withLimits({ calls: 5 }, HELPER.tools) } },
    );
    expect(callsLeft(thread, runOf(thread, "scout"), rules)).toBe(5 - 1);
    expect(callsLeft(thread, runOf(thread, "helper"), rules)).toBe(5 - 1);
    expect(callsLeft(thread, runOf(thread), rules)).toBe(50 - 3);
  });

  it("is none for a run whose agent is gone", () => {
    const thread = foldDrafts(helping);
    expect(callsLeft(thread, runOf(thread, "helper"), withLimits({}, {}))).toBe(0);
  });
});

/** A turn that asks for one call with this input. */
const once = (turn: number, input: Json, more: Partial<DoneCall> = {}): readonly Draft[] =>
  doneTurn(turn, { callId: `c${turn}`, input, ...more });

describe("repeatsOf", () => {
  it.each<[string, readonly (readonly Draft[])[], number]>([
    ["a run without a turn", [], 0],
    ["a turn without calls", [doneTurn(1)], 0],
    ["turns without calls", [doneTurn(1), doneTurn(2)], 0],
    ["one turn", [once(1, 1)], 1],
    ["the same call three times", [once(1, 1), once(2, 1), once(3, 1)], 3],
    ["another input", [once(1, 1), once(2, 2)], 1],
    ["another tool", [once(1, 1), once(2, 1, { tool: "safe" })], 1],
    ["the same call with another one between", [once(1, 1), once(2, 2), once(3, 1)], 1],
    ["the same calls behind others", [once(1, 2), once(2, 1), once(3, 1)], 2],
    ["one call more", [once(1, 1), doneTurn(2, { callId: "a", input: 1 }, { callId: "b", input: 1 })], 1],
    ["one call less", [doneTurn(1, { callId: "a", input: 1 }, { callId: "b", input: 1 }), once(2, 1)], 1],
    [
      "two calls of which one differs",
      [
        doneTurn(1, { callId: "a", input: 1 }, { callId: "b", input: 2 }),
        doneTurn(2, { callId: "c", input: 1 }, { callId: "d", input: 3 }),
      ],
      1,
    ],
    ["whatever became of it", [once(1, 1, { outcome: "failed" }), once(2, 1, { outcome: "not-run" })], 2],
  ])("of %s", (_title, turns, count) => {
    expect(repeatsOf(runAfter(...turns.flat()))).toBe(count);
  });

  it.each<[string, Json, Json, boolean]>([
    ["the order of keys", { a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }, true],
    ["a number and its text", 1, "1", false],
    ["nothing and an empty object", null, {}, false],
    ["an empty object and nothing", {}, null, false],
    ["a list and an object", [1], { 0: 1 }, false],
    ["an object and a list", { 0: 1 }, [1], false],
    ["an object and a text", {}, "", false],
    ["a text and an object", "", {}, false],
    ["the order of a list", [1, 2], [2, 1], false],
    ["one item of a list", [1, 2], [1, 3], false],
    ["an empty list and what looks like one", [], { length: 0 }, false],
    ["what looks like an empty list and one", { length: 0 }, [], false],
    ["a longer list", [1], [1, 1], false],
    ["a shorter list", [1, 1], [1], false],
    ["equal lists", [1, [2]], [1, [2]], true],
    ["another key more", { a: 1 }, { a: 1, b: 1 }, false],
    ["another key less", { a: 1, b: 1 }, { a: 1 }, false],
    ["another key", { a: 1 }, { b: 1 }, false],
    ["a key that every object has", { constructor: 1 }, { a: 1 }, false],
    ["another value", { a: 1 }, { a: 2 }, false],
    ["one of two values", { a: 1, b: 1 }, { a: 1, b: 2 }, false],
    ["nothing different", { a: null }, { a: null }, true],
  ])("counts %s", (_title, first, second, same) => {
    expect(repeatsOf(runAfter(...once(1, first), ...once(2, second)))).toBe(same ? 2 : 1);
  });

  it("counts up to the last whole turn while the next one is open", () => {
    expect(repeatsOf(runAfter(...once(1, 1), ...once(2, 1), turnStarted(3)))).toBe(2);
    expect(repeatsOf(runAfter(turnStarted()))).toBe(0);
  });

  const asks = (turn: number): readonly Draft[] => [
    ...doneTurn(turn, { callId: `c${turn}`, input: 1, approved: true }),
  ];

  it.each<[string, readonly (readonly Draft[])[], number]>([
    ["its last turn was approved", [once(1, 1), once(2, 1), asks(3)], 0],
    ["a turn before was", [once(1, 1), asks(2), once(3, 1), once(4, 1)], 2],
    ["one of two calls was", [doneTurn(1, { callId: "a", input: 1 }, { callId: "b", input: 1, approved: true })], 0],
  ])("starts anew where %s by a person", (_title, turns, count) => {
    expect(repeatsOf(runAfter(...turns.flat()))).toBe(count);
  });

  it("starts anew at a turn of which one call was approved", () => {
    const pair = (turn: number, approved: boolean): readonly Draft[] =>
      doneTurn(turn, { callId: `a${turn}`, approved }, { callId: `b${turn}` });
    expect(repeatsOf(runAfter(...pair(1, false), ...pair(2, true), ...pair(3, false), ...pair(4, false)))).toBe(2);
  });

  const answers: readonly Draft[] = [
    ...questioned("a"),
    decided("a", "answer"),
    started("a", 2),
    ...questioned("a"),
    decided("a", "answer"),
    started("a", 3),
    succeeded("a"),
  ];

  it("starts anew at an approval that questions followed", () => {
    const approved = [...wholeTurn(["a"]), ...asked("a"), decided("a", "approve"), started("a")];
    expect(repeatsOf(runAfter(...approved, ...answers))).toBe(0);
  });

  it("goes on over answers", () => {
    const run = runAfter(...wholeTurn(["a"]), allowed("a"), started("a"), ...answers, ...doneTurn(2, { callId: "b" }));
    expect(repeatsOf(run)).toBe(2);
  });

  it("goes on over a denial", () => {
    const denied = [...wholeTurn(["a"]), ...asked("a"), decided("a", "deny"), notRun("a", "denied")];
    expect(repeatsOf(runAfter(...denied, ...doneTurn(2, { callId: "b" })))).toBe(2);
  });

  it("compares what the model wrote, whatever the policy made of it", () => {
    const capped = (turn: number, input: number): readonly Draft[] => once(turn, input, { modified: 5 });
    expect(repeatsOf(runAfter(...capped(1, 9), ...capped(2, 9)))).toBe(2);
    expect(repeatsOf(runAfter(...capped(1, 8), ...capped(2, 9)))).toBe(1);
    expect(repeatsOf(runAfter(...once(1, 5), ...capped(2, 9)))).toBe(1);
  });
});

describe("repeatsEnd", () => {
  it.each([
    ["no limit never", null, Number.POSITIVE_INFINITY],
    ["warn never", { count: 3, follows: "warn" }, Number.POSITIVE_INFINITY],
    ["stop at the count", { count: 3, follows: "stop" }, 3],
    ["note at twice the count", { count: 3, follows: "note" }, 6],
  ] as const)("%s", (_title, repeats, end) => {
    expect(repeatsEnd({ ...RULES.limits, repeats })).toBe(end);
  });
});

describe("failuresOf", () => {
  const turn = (number: number, ...outcomes: readonly NonNullable<DoneCall["outcome"]>[]): readonly Draft[] =>
    doneTurn(number, ...outcomes.map((outcome, index) => ({ callId: `${number}.${index}`, outcome })));

  it.each<[string, readonly (readonly Draft[])[], number]>([
    ["a run without a turn has none", [], 0],
    ["a success is none", [turn(1, "succeeded")], 0],
    ["each failed call of a turn counts", [turn(1, "failed", "failed")], 2],
    ["turns add up", [turn(1, "failed"), turn(2, "failed"), turn(3, "failed")], 3],
    ["a success before them ends the row", [turn(1, "failed"), turn(2, "succeeded"), turn(3, "failed")], 1],
    ["a success after them ends it", [turn(1, "failed"), turn(2, "succeeded")], 0],
    ["a success beside a failure ends it", [turn(1, "failed"), turn(2, "failed", "succeeded")], 0],
    ["a turn in which nothing ran ends it", [turn(1, "failed"), turn(2, "not-run"), turn(3, "failed")], 1],
    ["a turn without calls ends it", [turn(1, "failed"), turn(2), turn(3, "failed")], 1],
    ["what was not run beside a failure does not", [turn(1, "failed"), turn(2, "failed", "not-run")], 2],
  ])("%s", (_title, turns, count) => {
    expect(failuresOf(runAfter(...turns.flat()), [])).toBe(count);
  });

  it("counts up to the last whole turn while the next one is open", () => {
    expect(failuresOf(runAfter(...turn(1, "failed"), ...turn(2, "failed"), turnStarted(3)), [])).toBe(2);
  });

  it("leaves out tools whose failures do not count, and goes on over them", () => {
    const run = runAfter(
      ...turn(1, "failed"),
      ...doneTurn(2, { callId: "a", tool: "safe", outcome: "failed" }),
      ...doneTurn(3, { callId: "b", tool: "safe", outcome: "failed" }, { callId: "c", outcome: "failed" }),
    );
    expect(failuresOf(run, [])).toBe(4);
    expect(failuresOf(run, ["safe"])).toBe(2);
  });
});

describe("lastWhole", () => {
  it.each<[string, readonly Draft[], number | undefined]>([
    ["none of a run without a turn", [], undefined],
    ["none while the first is open", [turnStarted()], undefined],
    ["the current one once it ended", [...doneTurn(1), ...doneTurn(2)], 2],
    ["the one before while the current is open", [...doneTurn(1), ...doneTurn(2), turnStarted(3)], 2],
  ])("%s", (_title, drafts, turn) => {
    expect(lastWhole(runAfter(...drafts))?.turn).toBe(turn);
  });
});

describe("gateRefusals", () => {
  it.each<[string, readonly Draft[], number]>([
    ["none of a run without a turn", [], 0],
    ["none where nothing was judged", doneTurn(1), 0],
    ["none where an answer passed", [...doneTurn(1), turnJudged("pass")], 0],
    ["the current turn's", [...doneTurn(1), turnJudged("again")], 1],
    ["the current turn's behind one that was not judged", [...doneTurn(1), ...doneTurn(2), turnJudged("again", 2)], 1],
    [
      "those of the turns before, the current one's with them",
      [
        ...doneTurn(1),
        turnJudged("again"),
        ...doneTurn(2),
        turnJudged("pass", 2),
        ...doneTurn(3),
        turnJudged("again", 3),
      ],
      2,
    ],
    ["those of the turns before alone", [...doneTurn(1), turnJudged("again"), turnStarted(2)], 1],
  ])("counts %s", (_title, drafts, count) => {
    expect(gateRefusals(runAfter(...drafts))).toBe(count);
  });
});

describe("countOf", () => {
  it.each<[string, LimitName, readonly Draft[], number]>([
    ["turns that are whole: none", "turns", [], 0],
    ["turns that are whole: both", "turns", [...doneTurn(1), ...doneTurn(2)], 2],
    ["turns that are whole: not the open one", "turns", [...doneTurn(1), turnStarted(2)], 1],
    ["calls", "calls", doneTurn(1, { callId: "a" }, { callId: "b" }), 2],
    ["tokens", "tokens", [turnStarted(), turnEnded(1, 1, "stop", { inputTokens: 4, outputTokens: 1 })], 5],
    ["repetitions", "repeats", [...once(1, 0), ...once(2, 1), ...once(3, 1)], 2],
    ["failures", "failures", doneTurn(1, { callId: "a", outcome: "failed" }), 1],
    ["the outermost agent as the first level", "depth", [], 1],
    ["events", "log-size", [], 3],
    ["refusals of the gate", "completion", [...doneTurn(1), ...doneTurn(2), turnJudged("again", 2)], 1],
  ])("counts %s", (_title, limit, drafts, count) => {
    const thread = foldDrafts([...begun, ...drafts]);
    expect(countOf(limit, thread, runOf(thread), RULES)).toBe(count);
  });

  it("time is a run's own active time, in whole milliseconds", () => {
    const thread = foldDrafts([...begun, { ...turnStarted(), at: 2_002.25 }]);
    expect(countOf("time", thread, runOf(thread), RULES)).toBe(1_000); // since 1,002
    const asked = foldDrafts(helping);
    const later = foldDrafts(inRun("helper", { ...turnStarted(), at: asked.at + 500 }), asked);
    const atChild = countOf("time", asked, runOf(asked, "helper"), RULES);
    expect(countOf("time", later, runOf(later, "helper"), RULES)).toBe(atChild + 500);
    expect(countOf("time", later, runOf(later), RULES)).toBeGreaterThan(atChild + 500);
  });

  it("failures leave out what the agent leaves out; of an agent that is gone nothing", () => {
    const thread = foldDrafts([...begun, ...doneTurn(1, { callId: "a", outcome: "failed" })]);
    const count = (rules: Rules | undefined): number => countOf("failures", thread, runOf(thread), rules);
    expect(count(withLimits({ failures: { count: 3, except: ["plain"] } }))).toBe(0);
    expect(count(withLimits({ failures: { count: 3, except: ["safe"] } }))).toBe(1);
    expect(count(withLimits({ failures: null }))).toBe(1);
    expect(count(undefined)).toBe(1);
  });

  it("depth counts from the outermost agent", () => {
    const thread = foldDrafts(scouting);
    expect(countOf("depth", thread, runOf(thread, "scout"), RULES)).toBe(3);
  });
});
