import { describe, expect, test } from "vitest";
import type { EventBody, EventType, ThreadEvent } from "../../src/protocol/event.ts";
import { projectEvent, projectThread } from "../../src/protocol/project.ts";
import type { Call, Run, Thread, Turn } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { Draft } from "../loop/small-log.ts";
import {
  allowed,
  asked,
  begun,
  decided,
  ended,
  foldDrafts,
  ready,
  runStarted,
  started,
  turnJudged,
  turnStarted,
  wholeTurn,
} from "../loop/small-log.ts";
import { plain } from "./fold.ts";

type Body<Type extends EventType> = EventBody & { readonly type: Type };
/** An event with every field it can have, and those that stay on the server. */
type Projected = {
  readonly [Type in EventType]: readonly [Required<Omit<Body<Type>, "type">>, ...(keyof Body<Type>)[]];
};

const by = { id: "ana" };
const key = { key: "k", bodyHash: "h" };
const at = { turn: 1, attempt: 1 };
const opaque = [{ origin: "p", data: 1 }];
const error = { code: "tool-error", message: "x" } as const;
const usage = { inputTokens: 1 };

const EVENTS: Projected = {
  "thread-created": [{ owner: "ana", agent: "a", title: "T" }],
  "thread-renamed": [{ title: "T", by, ...key }, "key", "bodyHash"],
  "message-added": [{ messageId: "m", parts: [], by, ...key }, "key", "bodyHash"],
  "run-started": [
    {
      ...{ trigger: "continue", depth: 0, parentCallId: "c", agentVersion: "1", user: by, driverId: "d" },
      ...{ continues: "r0", turnLimit: 2, by, ...key },
    },
    ...(["user", "driverId", "by", "key", "bodyHash"] as const),
  ],
  "run-resumed": [{ driverId: "", why: "takeover" }],
  "run-waiting": [{ for: ["c"], dueAt: 1 }],
  "run-handed-over": [{ why: "budget", dueAt: 1 }],
  "stop-requested": [{ by, reason: "x", ...key }, "key", "bodyHash"],
  "run-ended": [
    { outcome: "completed", limit: "turns", code: "stop-when", reason: "secret", text: "t", usage },
    "reason",
  ],
  "turn-started": [{ ...at, model: "m", toolsOff: true, offered: ["x"], note: "n" }, "note", "offered"],
  "text-added": [{ ...at, kind: undefined, text: "t" }],
  "part-added": [{ ...at, part: { type: "source", url: "u" } }],
  "turn-ended": [{ ...at, finishReason: "stop", usage, opaque }, "opaque"],
  "turn-judged": [{ turn: 1, verdict: "pass", reason: "x" }, "type", "turn", "verdict", "reason"],
  "grant-revoked": [{ grantId: "g", by, ...key }, "key", "bodyHash"],
  "attempt-failed": [{ definite: true, callId: "c", ...at, error, retryAt: 1, usage }],
  "limit-reached": [{ limit: "turns", count: 1, follows: "answer" }],
  "call-proposed": [{ callId: "c", ...at, name: "x" }],
  "call-input-added": [{ callId: "c", text: "{" }],
  "call-ready": [
    {
      ...{ callId: "c", turn: 1, tool: "x", title: "X", summary: "s", input: 1, inputText: "1", providerId: "p" },
      ...{ opaque, toolHash: "h", salt: "s", digest: "d", destructive: true },
    },
    ...(["inputText", "providerId", "opaque", "toolHash", "salt"] as const),
  ],
  "call-judged": [{ callId: "c", verdict: "ask", by: "policy", digest: "d", input: 1, reason: "r", grantId: "g" }],
  "decision-requested": [
    {
      ...{ callId: "c", kind: "question", digest: "d", prompt: "p", schema: {}, url: "u", editable: true },
      ...{ scopes: ["once"], grant: { label: "l", uses: 1, forMs: 1 }, grantKey: "k", reason: "r" },
      ...{ denied: { by, at: 1, reason: "r" }, expiresAt: 1, extendMs: 1 },
    },
    "grantKey",
  ],
  "decision-extended": [
    { callId: "c", digest: "d", expiresAt: 2, by, via: "browser", ...key },
    ...(["key", "bodyHash"] as const),
  ],
  "decision-recorded": [
    {
      ...{ callId: "c", action: "answer", by, via: "browser", digest: "d", input: 1, newDigest: "e", value: 1 },
      ...{ error: "x", reason: "r", scope: "once", stop: true, ...key },
      ...{ grant: { label: "l", uses: 1, forMs: 1 }, grantKey: "k", grantId: "g" },
    },
    ...(["key", "bodyHash", "grantKey"] as const),
  ],
  "call-started": [{ callId: "c", attempt: 1, digest: "d", key: "c.0" }, "digest", "key"],
  "call-progressed": [{ callId: "c", attempt: 1, value: 1, max: 2, label: "l", log: ["x"], partial: 1 }],
  "call-interrupted": [{ callId: "c", attempt: 1 }],
  "call-settled": [
    {
      ...{ callId: "c", attempt: 1, outcome: "succeeded", output: 1, toModel: "short", error },
      ...{ reason: "denied", effect: "none", late: true },
    },
    "toModel",
  ],
};

/** As the log has it. */
function sealed(body: object): ThreadEvent {
  return { seq: 7, at: 9, v: 1, runId: "r", epoch: 3, ...body } as unknown as ThreadEvent; // one of the table above
}

describe("projectEvent", () => {
  test.each(Object.entries(EVENTS))("%s leaves with all but what stays here", (type, [body, ...stays]) => {
    const event = sealed({ type, ...body });
    const kept = Object.entries(event).filter(([name]) => name !== "epoch" && !(stays as string[]).includes(name));
    const left = type === "turn-judged" ? undefined : Object.fromEntries(kept);
    expect(projectEvent(event)).toStrictEqual(left);
    expect(Object.keys(event)).toContain("epoch"); // it is a copy that leaves
  });

  test("reasoning stays here", () => {
    const thought = { type: "text-added", ...at, kind: "reasoning", text: "hm" };
    expect(projectEvent(sealed(thought))).toBeUndefined();
  });

  test("who drives is not named, and that somebody does is", () => {
    const claim = sealed({ type: "run-resumed", driverId: "d1", why: "takeover" });
    expect(projectEvent(claim)).toStrictEqual({
      ...{ seq: 7, at: 9, v: 1, runId: "r" },
      ...{ type: "run-resumed", driverId: "", why: "takeover" },
    });
  });

  test.each([
    ["allow", "policy", false],
    ["allow", "tool", false],
    ["allow", "default", false],
    ["allow", "grant", true],
    ["ask", "policy", true],
    ["ask", "grant", true],
    ["deny", "policy", true],
    ["modify", "tool", true],
  ])("the verdict %s by %s leaves: %s", (verdict, judge, leaves) => {
    const event = sealed({ type: "call-judged", callId: "c", verdict, by: judge, digest: "d" });
    expect(projectEvent(event) !== undefined).toBe(leaves);
  });
});

const drive = { runId: "r", epoch: 1 } as const;
/** A thread with everything that stays on the server. */
const thread: Thread = foldDrafts([
  ...begun.slice(0, 2),
  { ...runStarted(), user: { id: "u", roles: ["admin"] } } as Draft, // of its kind
  { ...turnStarted(), note: "Answer now." } as Draft, // of its kind
  { type: "text-added", ...drive, ...at, text: "One" },
  { type: "text-added", ...drive, ...at, kind: "reasoning", text: "hm" },
  { type: "text-added", ...drive, ...at, text: " two" },
  { type: "turn-ended", ...drive, ...at, finishReason: "stop", opaque },
  { ...ready("a"), inputText: "{ }", providerId: "p", opaque } as Draft, // of its kind
  ready("b"),
  turnJudged("pass"),
  ...asked("a"),
  { ...decided("a", "approve"), scope: "thread" } as Draft, // of its kind
  started("a"),
  { type: "call-settled", ...drive, callId: "a", attempt: 1, outcome: "succeeded", output: 1, toModel: "short" },
  allowed("b"),
  started("b"),
]);

function only<Item>(items: readonly Item[]): Item {
  expect(items).toHaveLength(1);
  return items[0] as Item; // as just seen
}

function partsOf(of: Thread): { run: Run; turn: Turn; calls: readonly Call[] } {
  const run = only(of.active);
  const turn = run.turn as Turn; // it is at work
  return { run, turn, calls: turn.calls };
}

describe("projectThread", () => {
  const projected = projectThread(thread);
  const { run, turn, calls } = partsOf(projected);

  test("has nothing about who drives, and no keys", () => {
    expect(thread).toMatchObject({ epoch: 1, driverId: "d", keys: [{ key: "k" }, { key: "k" }] });
    expect(thread.activeMs).toBeGreaterThan(0);
    const none = { epoch: 0, driverId: null, activeMs: 0, activeAt: 0, keys: [], anomalies: 0 };
    expect(projectThread({ ...thread, anomalies: 2 })).toEqual({ ...projected, ...none });
    expect(projected).toMatchObject({ seq: thread.seq, messages: thread.messages, owner: "u", ...none });
  });

  test("has runs without their user, active time and the reason of their end", () => {
    expect(partsOf(thread).run.user).toEqual({ id: "u", roles: ["admin"] });
    expect(run).toMatchObject({ runId: "r", user: undefined, reason: undefined, activeFrom: 0 });
    const stopped = foldDrafts([
      ...begun,
      ...wholeTurn(),
      { ...ended(), code: "stop-when", reason: "secret" } as Draft, // of its kind
    ]);
    expect(only(stopped.runs).reason).toBe("secret");
    expect(only(projectThread(stopped).runs)).toMatchObject({ code: "stop-when", reason: undefined });
    const below = { ...partsOf(thread).run, activeFrom: 5 };
    expect(only(projectThread({ ...thread, active: [below] }).active).activeFrom).toBe(0);
  });

  test("has turns without reasoning, notes, opaque blocks and what the app's conditions said", () => {
    expect(partsOf(thread).turn).toMatchObject({ opaque, judged: { verdict: "pass" }, note: "Answer now." });
    expect(turn).toMatchObject({ opaque: undefined, judged: undefined, note: undefined, finishReason: "stop" });
    expect(turn.parts).toEqual([
      { type: "text", text: "One two" },
      { type: "call", index: 0 },
      { type: "call", index: 1 },
    ]);
  });

  test("has calls without what only the model and the server know", () => {
    const secret = ["inputText", "toModel", "providerId", "opaque", "toolHash", "salt"] as const;
    for (const name of secret) {
      expect(partsOf(thread).calls[0]?.[name]).toBeDefined();
      expect(calls[0]?.[name]).toBeUndefined();
    }
    expect(calls[0]).toMatchObject({ callId: "a", output: 1, decision: { action: "approve" } });
  });

  test("says nothing of a verdict that allowed, unless a grant did", () => {
    const verdictOf = (verdict: Call["verdict"]): Call["verdict"] => {
      const { run: all, turn: whole, calls: some } = partsOf(thread);
      const judged = some.map((call) => ({ ...call, verdict }));
      const next = { ...thread, active: [{ ...all, turn: { ...whole, calls: judged } }] };
      return partsOf(projectThread(next)).calls[0]?.verdict ?? null;
    };
    for (const judge of ["policy", "tool", "default"] as const) {
      expect(verdictOf({ verdict: "allow", by: judge })).toBeNull();
      expect(verdictOf({ verdict: "ask", by: judge })).toEqual({ verdict: "ask", by: judge });
    }
    expect(verdictOf({ verdict: "allow", by: "grant", grantId: "g" })).toMatchObject({ by: "grant" });
    expect(verdictOf({ verdict: "ask", by: "grant" })).toMatchObject({ by: "grant" });
    expect(verdictOf(null)).toBeNull();
  });

  test("has grants without the hash of the tool", () => {
    expect(only(thread.grants).toolHash).toBe("h");
    expect(only(projected.grants)).toEqual({ ...only(thread.grants), toolHash: undefined });
  });

  test("has a run without a turn as it is, and nothing of a thread without runs", () => {
    expect(only(projectThread(foldDrafts(begun)).active)).toMatchObject({ runId: "r", turn: null, turns: [] });
    expect(projectThread(emptyThread("t"))).toEqual(emptyThread("t"));
  });

  test("gives the same object for what did not change", () => {
    expect(projectThread(thread).active[0]).toBe(run);
    const next = foldDrafts([{ type: "call-progressed", ...drive, callId: "b", attempt: 1, value: 1 }], thread);
    const after = partsOf(projectThread(next));
    expect(after.calls[0]).toBe(calls[0]);
    expect(after.calls[1]).not.toBe(calls[1]);
    const renamed = { ...partsOf(thread).run, text: "x" };
    expect(only(projectThread({ ...thread, active: [renamed] }).active).turn).toBe(turn);
  });

  test("hands out plain JSON", () => {
    expect(JSON.stringify(plain(projected))).not.toMatch(/hm|short|admin|"h"|"s"|secret/);
  });
});
