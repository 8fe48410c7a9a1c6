import { describe, expect, test } from "vitest";
import { findCall } from "../../src/protocol/read-thread.ts";
import type { Call, Thread } from "../../src/protocol/thread.ts";
import type { AskKind, DecisionAction } from "../../src/protocol/values.ts";
import type { Draft } from "../loop/small-log.ts";
import {
  allowed,
  asked,
  begun,
  callFailed,
  decided,
  foldDrafts,
  ignores,
  interrupted,
  notRun,
  ready,
  started,
  succeeded,
  turnEnded,
  turnStarted,
  wholeTurn,
} from "../loop/small-log.ts";

const on = { runId: "r", epoch: 1, callId: "a" } as const;
const by = { id: "u" };

/** A thread whose call `a` came this far. */
function called(...drafts: readonly Draft[]): Thread {
  return foldDrafts([...begun, ...wholeTurn(["a"]), ...drafts]);
}

function callOf(thread: Thread, callId = "a"): Call {
  const found = findCall(thread, callId);
  if (!found) throw new Error(`no call ${callId}`);
  return found.call;
}

function question(kind: Exclude<AskKind, "interrupted">, digest = "q"): Draft {
  return { type: "decision-requested", ...on, kind, digest };
}

function answer(action: DecisionAction | "expire", digest: string, more: object = {}): Draft {
  return { type: "decision-recorded", ...on, action, via: "browser", by, digest, key: "k", bodyHash: "h", ...more };
}

const approvedOnce: readonly Draft[] = [...asked("a"), decided("a", "approve")];
const running: readonly Draft[] = [allowed("a"), started("a")];

describe("a call that is being written", () => {
  const writing: readonly Draft[] = [
    ...begun,
    turnStarted(),
    { type: "call-proposed", ...on, turn: 1, attempt: 1, name: "plain" },
  ];
  const text = (piece: string): Draft => ({ type: "call-input-added", ...on, text: piece });

  test("begins with nothing", () => {
    expect(callOf(foldDrafts(writing))).toMatchObject({
      ...{ tool: "plain", status: "writing", input: null, draft: "", digest: "", ask: null, decision: null },
      ...{ earlier: [], verdict: null, attempt: 0, failures: 0, progress: null, log: [] },
    });
  });

  test("adds up, and is not shown beside the whole input", () => {
    const written = foldDrafts([...writing, text('{"a"'), text(":1}")]);
    expect(callOf(written).draft).toBe('{"a":1}');
    expect(callOf(foldDrafts([turnEnded(), ready("a")], written))).toMatchObject({ draft: "", input: {} });
  });

  test("is of the turn and attempt that are open", () => {
    const thread = foldDrafts([...begun, turnStarted()]);
    expect(ignores(thread, { type: "call-proposed", ...on, turn: 2, attempt: 1, name: "plain" })).toBe(true);
    expect(ignores(thread, { type: "call-proposed", ...on, turn: 1, attempt: 2, name: "plain" })).toBe(true);
    expect(ignores(thread, { type: "call-proposed", ...on, turn: 1, attempt: 1, name: "plain" })).toBe(false);
  });
});

describe("a verdict", () => {
  test("is kept with who gave it and why", () => {
    const judged: Draft = {
      type: "call-judged",
      ...on,
      verdict: "allow",
      by: "grant",
      digest: "e",
      reason: "x",
      grantId: "g",
    };
    expect(callOf(called(judged))).toMatchObject({
      ...{ digest: "e", verdict: { verdict: "allow", by: "grant", reason: "x", grantId: "g" } },
    });
    expect(callOf(called(judged)).changed).toBeUndefined();
  });

  test("that changes the input keeps the model's, whoever changes it again", () => {
    const summarised = { ...ready("a", "plain", 1, 1), summary: "One." } as Draft; // of its kind
    const modified = foldDrafts([...begun, turnStarted(), turnEnded(), summarised, allowed("a", 2)]);
    expect(callOf(modified)).toMatchObject({ input: 2, changed: { by: "policy", from: 1 }, summary: undefined });
    const edited = foldDrafts([question("approval"), answer("approve", "q", { input: 3, newDigest: "e" })], modified);
    expect(callOf(edited)).toMatchObject({
      input: 3,
      changed: { by: "person", from: 1 },
      decision: { originalInput: 2 },
    });
  });
});

describe("questions", () => {
  const actions = ["approve", "deny", "answer", "retry", "skip", "expire"] as const;
  type Action = (typeof actions)[number];
  const kinds: Readonly<
    Record<AskKind, readonly [Draft[], string, Readonly<Partial<Record<Action, Call["status"]>>>]>
  > = {
    approval: [[question("approval")], "q", { approve: "queued", deny: "waiting", expire: "waiting" }],
    question: [
      [...running, question("question")],
      "q",
      { answer: "queued", skip: "waiting", deny: "waiting", expire: "waiting" },
    ],
    link: [
      [...running, question("link")],
      "q",
      { answer: "queued", skip: "waiting", deny: "waiting", expire: "waiting" },
    ],
    browser: [
      [...approvedOnce, question("browser")],
      "q",
      { answer: "queued", skip: "waiting", deny: "waiting", expire: "waiting" },
    ],
    interrupted: [
      [...running, interrupted("a")],
      "d-a.1",
      { retry: "queued", skip: "waiting", answer: "waiting", deny: "waiting" },
    ],
  };
  const cases = Object.entries(kinds).flatMap(([kind, [before, digest, takes]]) =>
    actions.map((action) => ({ kind, before, digest, action, to: takes[action] ?? "ignored" })),
  );

  test.each(cases)("of kind $kind: $action leads to $to", ({ before, digest, action, to }) => {
    const thread = called(...before);
    const draft = answer(action, digest);
    expect(ignores(thread, draft)).toBe(to === "ignored");
    if (to !== "ignored")
      expect(callOf(foldDrafts([draft], thread))).toMatchObject({ status: to, decision: { action } });
  });

  test("are answered once, by their own digest, and only while they are open", () => {
    const open = called(...running, question("question"));
    expect(ignores(open, answer("answer", "d-a"))).toBe(true);
    const decidedOnce = foldDrafts([answer("skip", "q")], open);
    expect(ignores(decidedOnce, answer("answer", "q"))).toBe(true);
    const closed = called(question("approval"), notRun("a", "skipped"));
    expect(ignores(closed, answer("approve", "q"))).toBe(true);
  });

  test("keep every answer before the latest", () => {
    const once = [...approvedOnce, started("a"), question("question"), answer("answer", "q", { value: 1 })];
    expect(callOf(called(...once))).toMatchObject({ decision: { action: "answer" }, earlier: [{ action: "approve" }] });
    const twice = [...once, started("a", 2), question("link", "q2")];
    expect(callOf(called(...twice))).toMatchObject({
      ...{ status: "waiting", decision: null, ask: { kind: "link" } },
      earlier: [{ action: "approve" }, { action: "answer", value: 1 }],
    });
    const lost = [...once, started("a", 2), interrupted("a", 2)];
    expect(callOf(called(...lost)).earlier.map(({ action }) => action)).toEqual(["approve", "answer"]);
  });

  test.each<[string, readonly Draft[], Readonly<Record<Exclude<AskKind, "interrupted">, boolean>>]>([
    ["a call that waits for its verdict", [], { approval: true, question: true, link: true, browser: true }],
    ["a call that is allowed", [allowed("a")], { approval: true, question: true, link: true, browser: true }],
    ["a call that was approved", approvedOnce, { approval: false, question: true, link: true, browser: true }],
    ["a call that runs", running, { approval: true, question: true, link: true, browser: true }],
    [
      "a call whose question was answered, before it starts again",
      [...running, question("question"), answer("answer", "q")],
      { approval: false, question: false, link: false, browser: false },
    ],
    [
      "a call that may run again after an interruption",
      [...running, interrupted("a"), decided("a", "retry")],
      { approval: false, question: false, link: false, browser: false },
    ],
    ["a call that waits", [...asked("a")], { approval: false, question: false, link: false, browser: false }],
    [
      "a call that is settled",
      [...running, succeeded("a")],
      { approval: false, question: false, link: false, browser: false },
    ],
  ])("are asked by %s", (_title, before, may) => {
    const thread = called(...before);
    const found = Object.keys(may).map((kind) => [kind, !ignores(thread, question(kind as "approval", "q9"))]); // its own keys
    expect(Object.fromEntries(found)).toEqual(may);
  });

  test("of a tool for the browser: approved, asked, answered and settled without a start", () => {
    const settled: Draft = { type: "call-settled", ...on, outcome: "succeeded", output: "ok" };
    const thread = called(...approvedOnce, question("browser"), answer("answer", "q", { value: "ok" }));
    expect(callOf(thread)).toMatchObject({ status: "queued", attempt: 0, earlier: [{ action: "approve" }] });
    expect(callOf(foldDrafts([settled], thread))).toMatchObject({ status: "succeeded", output: "ok", attempt: 0 });
  });

  test("that are skipped settle as not run", () => {
    const thread = called(...running, question("question"), answer("skip", "q"), notRun("a", "skipped"));
    expect(callOf(thread)).toMatchObject({ status: "not-run", reason: "skipped", decision: { action: "skip" } });
  });

  test("keep all that the answer says", () => {
    const said = { value: 1, error: "x", reason: "r", stop: true, scope: "once" };
    expect(callOf(called(question("approval"), answer("deny", "q", said))).decision).toMatchObject({
      ...{ action: "deny", by, via: "browser", digest: "q", originalInput: undefined },
      ...said,
    });
  });

  test("forget when the next attempt was due", () => {
    const thread = called(...running, callFailed("a", 1, 9_000), question("question"));
    expect(callOf(thread)).toMatchObject({ status: "waiting", retryAt: undefined, lastError: "x" });
  });
});

describe("attempts", () => {
  test("fail and are interrupted as the one that runs, or not at all", () => {
    const second = called(...running, callFailed("a", 1, 1), started("a", 2));
    for (const attempt of [1, 3]) {
      expect(ignores(second, callFailed("a", attempt))).toBe(true);
      expect(ignores(second, interrupted("a", attempt))).toBe(true);
      expect(ignores(second, { type: "call-progressed", ...on, attempt, value: 1 })).toBe(true);
    }
    expect(ignores(second, callFailed("a", 2))).toBe(false);
    expect(ignores(second, interrupted("a", 2))).toBe(false);
  });

  test("start with a clean face, and keep when the first began", () => {
    const first = called(...running, { type: "call-progressed", ...on, attempt: 1, value: 1, log: ["x"], partial: 1 });
    const { startedAt } = callOf(first);
    expect(startedAt).toBeGreaterThan(0);
    const second = foldDrafts([callFailed("a", 1, 1), started("a", 2)], first);
    expect(callOf(second)).toMatchObject({ startedAt, attempt: 2, progress: null, retryAt: undefined, log: ["x"] });
    expect(callOf(second).partial).toBeUndefined();
  });

  test.each([
    ["value", { value: 1 }, { value: 1 }],
    ["max", { max: 2 }, { max: 2 }],
    ["label", { label: "l" }, { label: "l" }],
    ["no word of it", { log: ["x"] }, { value: 0, max: 9, label: "before" }],
  ])("show progress with %s alone", (_title, said, shown) => {
    const at = { type: "call-progressed", ...on, attempt: 1 } as const;
    const thread = called(...running, { ...at, value: 0, max: 9, label: "before", partial: "p" }, { ...at, ...said });
    const nothing = { value: undefined, max: undefined, label: undefined };
    expect(callOf(thread).progress).toEqual({ ...nothing, ...shown });
    expect(callOf(thread).partial).toBe("p");
  });
});

describe("a settlement", () => {
  test("leaves nothing of what was in between", () => {
    const at = { type: "call-progressed", ...on, attempt: 1 } as const;
    const thread = called(...running, { ...at, partial: 1 }, callFailed("a", 1, 9_000), succeeded("a"));
    expect(callOf(thread)).toMatchObject({ status: "succeeded", retryAt: undefined, partial: undefined, draft: "" });
    expect(callOf(thread).endedAt).toBe(thread.at);
  });

  test.each<[string, readonly Draft[], boolean]>([
    ["what nobody judged", [], false],
    ["what was allowed and never started", [allowed("a")], false],
    ["what waits for its approval", asked("a"), false],
    ["what was approved and never started", approvedOnce, false],
    ["what runs", running, true],
    ["what a person answered", [...running, interrupted("a"), answer("answer", "d-a.1", { value: 1 })], true],
  ])("of success is taken of %s: %#", (_title, before, taken) => {
    expect(ignores(called(...before), succeeded("a"))).toBe(!taken);
  });

  test("[A7] that comes late is taken only of the very attempt that was interrupted", () => {
    const late = (attempt: number): Draft => ({ ...succeeded("a"), attempt, late: true }) as Draft; // of its kind
    const lost = called(...running, interrupted("a"));
    expect(ignores(lost, late(2))).toBe(true);
    expect(callOf(foldDrafts([late(1)], lost))).toMatchObject({ status: "succeeded", late: true });
    expect(ignores(called(...running), late(1))).toBe(true);
    expect(ignores(called(...running, question("question")), late(1))).toBe(true);
    expect(ignores(foldDrafts([decided("a", "retry")], lost), late(1))).toBe(true);
  });
});

describe("a grant that is revoked", () => {
  const granted = (callId: string, grantId: string): Draft => ({ ...allowed(callId), by: "grant", grantId }) as Draft; // of its kind
  const revoked: Draft = { type: "grant-revoked", grantId: "g", by, key: "k", bodyHash: "h" };
  const grants = [
    { ...decided("a", "approve"), scope: "thread" },
    { ...decided("b", "approve"), scope: "thread" },
  ] as readonly Draft[]; // decisions

  test("is judged again where its call has not started; what started, and other calls, go on", () => {
    const thread = foldDrafts([
      ...begun,
      ...wholeTurn(["a"], ["b"], ["c"], ["d"], ["e"]),
      ...[granted("a", "g"), granted("b", "g"), granted("c", "other"), allowed("d"), started("b")],
      revoked,
    ]);
    const verdicts = ["a", "b", "c", "d", "e"].map((callId) => callOf(thread, callId).verdict?.by ?? null);
    expect(verdicts).toEqual([null, "grant", "grant", "default", null]);
  });

  test("is gone, and others are not, nor are runs that have no turn yet", () => {
    const thread = foldDrafts([...begun, ...wholeTurn(["a"], ["b"]), ...asked("a"), ...asked("b"), ...grants]);
    expect(thread.grants.map(({ grantId }) => grantId)).toEqual(["g-a", "g-b"]);
    const one = foldDrafts([{ ...revoked, grantId: "g-a" } as Draft], thread); // of its kind
    expect(one.grants.map(({ grantId }) => grantId)).toEqual(["g-b"]);
    const early = foldDrafts(begun);
    expect(foldDrafts([revoked], early).active).toEqual(early.active);
  });
});
