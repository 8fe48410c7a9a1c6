import { describe, expect, test } from "vitest";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import type { Run, Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { Usage } from "../../src/protocol/values.ts";
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
  handedOver,
  ignores,
  inRun,
  interrupted,
  limitReached,
  message,
  notRun,
  ready,
  runStarted,
  started,
  stopRequested,
  succeeded,
  turnEnded,
  turnJudged,
  turnStarted,
  waiting,
  wholeTurn,
} from "../loop/small-log.ts";

const by = { id: "u" };
const resumed = (runId = "r", epoch = 2): Draft => ({
  type: "run-resumed",
  runId,
  epoch,
  driverId: "e",
  why: "takeover",
});
/** The call `a` runs a sub-agent, `child`. */
const helping: readonly Draft[] = [...begun, ...wholeTurn(["a"], ["b"]), allowed("a"), started("a"), childStarted()];

function runOf(thread: Thread, runId = "r"): Run {
  const run = [...thread.active, ...thread.runs].find((each) => each.runId === runId);
  if (!run) throw new Error(`no run ${runId}`);
  return run;
}

/** The end of a run as the loop writes it: with all it used. */
function endedWith(usage: Usage): Draft {
  return { ...ended(), usage } as Draft; // of its kind
}

describe("a thread", () => {
  test("begins with its owner, agent, title and time", () => {
    const created = foldDrafts(begun.slice(0, 1));
    expect(created).toEqual({
      ...emptyThread("t"),
      ...{ seq: 1, at: 1_000, createdAt: 1_000, owner: "u", agent: "a", title: "T" },
    });
  });

  test("passes over what it has folded already", () => {
    const drafts = [...begun, turnStarted()];
    const thread = foldDrafts(drafts);
    for (const [index, { at: _, ...draft }] of drafts.entries()) {
      expect(reduceThread(thread, sealEvent(draft, index + 1, 9_000))).toBe(thread);
    }
  });

  test.each<[string, object, boolean]>([
    ["a write with all three", {}, true],
    ["one by nobody", { by: undefined }, false],
    ["one without a key", { key: "" }, false],
    ["one without a hash", { bodyHash: "" }, false],
    ["one that names no key at all", { key: undefined, bodyHash: undefined }, false],
  ])("remembers the key of %s: %s", (_title, changed, kept) => {
    const renamed = { type: "thread-renamed", title: "x", by, key: "mine", bodyHash: "hash", ...changed } as Draft; // of its kind
    const record = { key: "mine", userId: "u", bodyHash: "hash", seq: 4, runId: undefined, callId: undefined };
    expect(foldDrafts([...begun, renamed]).keys.slice(1)).toEqual(kept ? [record] : []);
  });

  test("remembers the key of a decision with its call, and no idempotency key", () => {
    const thread = foldDrafts([...begun, ...wholeTurn(["a"]), ...asked("a"), decided("a", "approve"), started("a")]);
    expect(thread.keys).toHaveLength(2); // the message and the decision
    expect(thread.keys.at(-1)).toMatchObject({ key: "k", callId: "a", runId: "r", seq: thread.seq - 1 });
  });

  test("remembers the key of who continued a run", () => {
    const continued = { ...runStarted(true, "r2"), trigger: "continue", continues: "r", by, key: "go", bodyHash: "h" };
    const thread = foldDrafts([...begun, ended("limited"), continued as Draft]); // of its kind
    expect(thread.keys.at(-1)).toMatchObject({ key: "go", userId: "u", runId: "r2" });
  });
});

describe("a run begins", () => {
  test("with nothing done", () => {
    const started_ = { ...runStarted(), continues: "r0", turnLimit: 2 } as Draft; // of its kind
    const thread = foldDrafts([...begun.slice(0, 2), started_]);
    expect(runOf(thread)).toMatchObject({
      ...{ runId: "r", status: "running", depth: 0, trigger: "message", continues: "r0", turnLimit: 2 },
      ...{ startedSeq: 3, startedAt: 1_002, turns: [], turn: null, callCount: 0, childCalls: 0, limits: [] },
      ...{ stop: null, text: "", usage: {}, agentVersion: "1", activeFrom: 0, user: by },
    });
  });

  test("only where there is room for it", () => {
    const idle = foldDrafts(begun.slice(0, 2));
    expect(ignores(idle, childStarted())).toBe(true); // nobody asked
    expect(ignores(idle, runStarted())).toBe(false);
    const busy = foldDrafts(begun);
    expect(ignores(busy, runStarted(true, "r2"))).toBe(true);
    expect(ignores(busy, { ...childStarted(), runId: undefined })).toBe(true);
    expect(ignores(busy, childStarted("a", "r"))).toBe(true);
    expect(ignores(foldDrafts([...begun, ended()]), runStarted())).toBe(true); // its id is taken
  });

  test("at its own active time zero; a sub-agent at that of its thread", () => {
    const thread = foldDrafts([...begun, ...wholeTurn(), { ...ended(), at: 5_000 }, runStarted(true, "r2")]);
    expect([runOf(thread, "r2").activeFrom, thread.activeMs]).toEqual([0, 0]);
    const parent = foldDrafts(helping.slice(0, -1));
    expect(parent.activeMs).toBeGreaterThan(0);
    const child = foldDrafts([childStarted()], parent);
    expect(runOf(child, "child")).toMatchObject({ activeFrom: parent.activeMs, parentCallId: "a", depth: 1 });
    expect(child.activeMs).toBe(parent.activeMs + 1); // it goes on
  });

  test.each<[string, object, object]>([
    ["with both", { driverId: "d", epoch: 3 }, { driverId: "d", epoch: 3 }],
    ["without a driver", { driverId: undefined, epoch: 3 }, { driverId: null, epoch: 0 }],
    ["without an epoch", { driverId: "d", epoch: undefined }, { driverId: null, epoch: 0 }],
  ])("owned by its writer %s", (_title, owner, expected) => {
    const draft = { ...runStarted(), ...owner } as Draft; // of its kind
    expect(foldDrafts([...begun.slice(0, 2), draft])).toMatchObject(expected);
  });
});

describe("a run that nobody drives", () => {
  test("is claimed as the root alone, and then runs and is due no more", () => {
    const thread = foldDrafts([...helping, handedOver(9_000)]);
    expect(runOf(thread)).toMatchObject({ status: "running", dueAt: 9_000 });
    expect(ignores(thread, resumed("child"))).toBe(true);
    const claimed = foldDrafts([resumed()], thread);
    expect(claimed).toMatchObject({ epoch: 2, driverId: "e" });
    expect(runOf(claimed)).toMatchObject({ status: "running", dueAt: undefined });
    expect(ignores(foldDrafts(begun.slice(0, 2)), resumed())).toBe(true);
  });

  test("waits as the root alone", () => {
    const thread = foldDrafts(helping);
    for (const draft of [waiting(), handedOver()]) expect(ignores(thread, { ...draft, runId: "child" })).toBe(true);
  });

  const two: readonly Draft[] = [
    ...begun,
    ...wholeTurn(["a"], ["b"]),
    ...asked("a", 9_000),
    ...asked("b", 9_000),
    waiting(9_000),
  ];
  const denied = (callId: string): readonly Draft[] => [decided(callId, "deny"), notRun(callId, "denied")];

  test.each<[string, readonly Draft[], Run["status"]]>([
    ["waits", two, "waiting"],
    ["waits on when one of two questions is refused", [...two, ...denied("a")], "waiting"],
    ["runs when a question leaves something to start", [...two, decided("b", "approve")], "running"],
    ["runs when the last question is refused", [...two, ...denied("a"), ...denied("b")], "running"],
    ["waits while a refusal is not settled yet", [...two, decided("a", "deny")], "waiting"],
    [
      "runs when the result of an interrupted call comes late",
      [
        ...[...begun, ...wholeTurn(["a"]), allowed("a"), started("a"), interrupted("a"), waiting()],
        { ...succeeded("a"), attempt: 1, late: true } as Draft, // of its kind
      ],
      "running",
    ],
    [
      "waits when it comes for one of two",
      [
        ...[
          ...begun,
          ...wholeTurn(["a"], ["b"]),
          allowed("a"),
          started("a"),
          interrupted("a"),
          ...asked("b", 9_000),
          waiting(9_000),
        ],
        { ...succeeded("a"), attempt: 1, late: true } as Draft, // of its kind
      ],
      "waiting",
    ],
    [
      "runs when a sub-agent's question is refused and a call beside it has no verdict yet",
      [
        ...helping,
        ...inRun("child", ...wholeTurn(["c"], ["d"]), ...asked("c"), ...asked("d")),
        waiting(9_000, ["c", "d"]),
        ...inRun("child", ...denied("c")),
      ],
      "running", // `b` of the root
    ],
    [
      "runs when a question is refused beside a sub-agent that has not begun",
      [
        ...begun,
        ...wholeTurn(["a"], ["b"], ["c"]),
        ...[allowed("a"), started("a"), childStarted(), ...asked("b"), ...asked("c"), waiting(9_000), ...denied("b")],
      ],
      "running",
    ],
    [
      "runs when a sub-agent's last question is refused, whatever its root waits for",
      [
        ...begun,
        ...wholeTurn(["a"], ["b"]),
        ...[allowed("a"), started("a"), childStarted(), ...asked("b")],
        ...inRun("child", ...wholeTurn(["c"]), ...asked("c")),
        ...[waiting(9_000, ["b", "c"]), ...inRun("child", ...denied("c"))],
      ],
      "running",
    ],
    [
      "waits when one of a sub-agent's questions is refused",
      [
        ...begun,
        ...wholeTurn(["a"]),
        ...[allowed("a"), started("a"), childStarted()],
        ...inRun("child", ...wholeTurn(["c"], ["d"]), ...asked("c", 8_000), ...asked("d", 9_000)),
        ...[waiting(8_000, ["c", "d"]), ...inRun("child", ...denied("c"))],
      ],
      "waiting",
    ],
  ])("%s", (_title, drafts, status) => {
    const thread = foldDrafts(drafts);
    expect(runOf(thread)).toMatchObject({ status, dueAt: status === "waiting" ? 9_000 : undefined });
    expect(thread.driverId).toBeNull();
  });

  test("has no active time, and the time of another epoch is not this one's", () => {
    const thread = foldDrafts([
      ...begun,
      handedOver(),
      { ...resumed(), at: 9_000 },
      { ...turnStarted(), epoch: 2, at: 9_500 },
    ]);
    expect(thread.activeMs).toBe(1 + 500); // up to the hand-over, and since the claim
    const late = foldDrafts([{ ...turnEnded(), epoch: 1, at: 9_900 }], thread);
    expect([late.activeMs, late.activeAt]).toEqual([501, 9_500]);
    const poster = foldDrafts([{ ...stopRequested(), at: 9_950 }], thread);
    expect([poster.activeMs, poster.activeAt]).toEqual([501, 9_500]);
  });
});

describe("a run ends", () => {
  test("with all that is said of it, and is over", () => {
    const end = {
      ...ended("limited", "turns"),
      code: "c",
      reason: "secret",
      text: "So far.",
      usage: { inputTokens: 3 },
    };
    const thread = foldDrafts([...begun, ...wholeTurn(), handedOver(9_000), resumed(), { ...end, epoch: 2 } as Draft]); // of its kind
    expect(thread.active).toEqual([]);
    expect(thread.driverId).toBeNull();
    expect(runOf(thread)).toMatchObject({
      ...{ status: "ended", endedAt: thread.at, dueAt: undefined, outcome: "limited", limit: "turns" },
      ...{ code: "c", reason: "secret", text: "So far.", usage: { inputTokens: 3 } },
    });
  });

  test("as a sub-agent, and its root goes on, driven, with the grants it has", () => {
    const granted = { ...decided("b", "approve"), scope: "run" } as Draft; // of its kind
    const thread = foldDrafts([...helping, ...asked("b"), granted, ...inRun("child", ended())]);
    expect(thread).toMatchObject({ driverId: "d", active: [{ runId: "r" }], grants: [{ grantId: "g-b", runId: "r" }] });
    const over = foldDrafts([notRun("b", "skipped"), succeeded("a"), ended()], thread);
    expect(over.grants).toEqual([]);
  });

  test("and what a sub-agent used and called is its parent's too, from the bottom up", () => {
    const deep = foldDrafts([
      ...helping,
      ...inRun(
        "child",
        turnStarted(),
        turnEnded(1, 1, "stop", { inputTokens: 10, outputTokens: 1 }),
        ready("c"),
        allowed("c"),
        started("c"),
      ),
      childStarted("c", "grandchild", 2),
      ...inRun("grandchild", ...doneTurn(1, { callId: "d" }, { callId: "e" }), endedWith({ inputTokens: 100 })),
    ]);
    expect(runOf(deep, "child")).toMatchObject({
      callCount: 1,
      childCalls: 2,
      usage: { inputTokens: 110, outputTokens: 1 },
    });
    expect(runOf(deep)).toMatchObject({ callCount: 2, childCalls: 0, usage: {} });
    const flat = foldDrafts(inRun("child", succeeded("c"), endedWith({ inputTokens: 110, outputTokens: 1 })), deep);
    expect(runOf(flat)).toMatchObject({ callCount: 2, childCalls: 3, usage: { inputTokens: 110, outputTokens: 1 } });
    const twice = foldDrafts(
      [
        ...[succeeded("a"), allowed("b"), started("b"), childStarted("b", "other")],
        ...inRun("other", ...doneTurn(1, { callId: "f" }), endedWith({ outputTokens: 5 })),
      ],
      flat,
    );
    expect(runOf(twice)).toMatchObject({ childCalls: 4, usage: { inputTokens: 110, outputTokens: 6 } });
  });

  test("without a parent, where the call that asked for it is not to be found", () => {
    const thread = foldDrafts([...begun, childStarted("gone"), ...inRun("child", endedWith({ inputTokens: 1 }))]);
    expect(runOf(thread)).toMatchObject({ childCalls: 0, usage: {} });
    expect(runOf(thread, "child")).toMatchObject({ outcome: "completed" });
  });
});

describe("what the app's conditions said of a turn", () => {
  const whole = foldDrafts([...begun, ...wholeTurn(["a"])]);

  test("is kept with the turn", () => {
    const judged = foldDrafts([{ ...turnJudged("again"), reason: "No source." } as Draft], whole); // of its kind
    expect(runOf(judged).turn?.judged).toEqual({ verdict: "again", reason: "No source." });
  });

  test.each<[string, Thread, Draft]>([
    ["twice", foldDrafts([turnJudged("pass")], whole), turnJudged("stop")],
    ["of another turn", whole, turnJudged("pass", 2)],
    ["of a turn that is open", foldDrafts([...begun, turnStarted()]), turnJudged("pass")],
    ["of a run without a turn", foldDrafts(begun), turnJudged("pass")],
    ["of another run", whole, { ...turnJudged("pass"), runId: "r9" }],
  ])("is not taken %s", (_title, thread, draft) => {
    expect(ignores(thread, draft)).toBe(true);
  });
});

describe("what a run remembers", () => {
  test("its limits, in order", () => {
    const thread = foldDrafts([...begun, limitReached("repeats", "note"), limitReached("turns")]);
    expect(runOf(thread).limits).toEqual([
      { limit: "repeats", count: 1, follows: "note" },
      { limit: "turns", count: 1, follows: "answer" },
    ]);
  });

  test("who stopped it, first", () => {
    const thread = foldDrafts([...begun, { ...stopRequested(), reason: "x" } as Draft]); // of its kind
    expect(runOf(thread).stop).toEqual({ by, at: thread.at, reason: "x" });
    expect(ignores(thread, stopRequested())).toBe(true);
  });

  test("that its model read all messages up to its last turn; a sub-agent's turn reads none", () => {
    const thread = foldDrafts([...begun, turnStarted()]);
    expect(thread.consumedSeq).toBe(thread.seq);
    const later = foldDrafts([...helping, message(), ...inRun("child", turnStarted())]);
    expect(later.consumedSeq).toBeLessThan(later.messages.at(-1)?.seq ?? 0);
    expect(later.messages.at(-1)).toEqual({
      ...{ messageId: "m", seq: later.seq - 1, at: later.at - 1, by },
      parts: [{ type: "text", text: "Hello" }],
    });
  });

  test.each<[string, object, object | undefined]>([
    ["an approval for this run", { scope: "run" }, { scope: "run", runId: "r" }],
    ["an approval for the thread", { scope: "thread" }, { scope: "thread", runId: "r" }],
    ["an approval for once", { scope: "once" }, undefined],
    ["an approval that says nothing", {}, undefined],
    ["a denial for the thread", { action: "deny", scope: "thread" }, { verdict: "deny", scope: "thread", runId: "r" }],
    ["a denial for once", { action: "deny", scope: "once" }, undefined],
  ])("%s: grant %j", (_title, said, grant) => {
    const thread = foldDrafts([
      ...begun,
      ...wholeTurn(["a"]),
      ...asked("a"),
      { ...decided("a", "approve"), ...said } as Draft,
    ]); // a decision
    const full = {
      grantId: "g-a",
      seq: thread.seq,
      verdict: "allow",
      used: 0,
      tool: "plain",
      toolHash: "h",
      path: [],
      input: {},
      by,
      at: thread.at,
      ...grant,
    };
    expect(thread.grants).toEqual(grant ? [full] : []);
  });

  test("an approval of a sub-agent's call, for the person's run, and for the agents on the way", () => {
    const approved = (callId: string): Draft => ({ ...decided(callId, "approve"), scope: "run" }) as Draft; // of its kind
    const thread = foldDrafts([
      ...helping,
      ...inRun("child", ...wholeTurn(["c", "look"], ["d"]), allowed("c"), started("c"), ...asked("d"), approved("d")),
      childStarted("c", "grandchild", 2),
      ...inRun("grandchild", ...wholeTurn(["e"]), ...asked("e"), approved("e")),
    ]);
    expect(thread.grants).toMatchObject([
      { grantId: "g-d", runId: "r", path: ["plain"] },
      { grantId: "g-e", runId: "r", path: ["plain", "look"] },
    ]);
    const settled = [notRun("e", "skipped"), ended()];
    expect(foldDrafts(inRun("grandchild", ...settled), thread).grants).toEqual(thread.grants);
  });
});
