import { describe, expect, test } from "vitest";
import { addUsage } from "../../src/protocol/add-usage.ts";
import type { EventDraft, EventType } from "../../src/protocol/event.ts";
import { isControl, PROTOCOL_VERSION } from "../../src/protocol/event.ts";
import { findCall } from "../../src/protocol/read-thread.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import type { Call, Thread } from "../../src/protocol/thread.ts";
import { EVENT_TYPES } from "./arbitrary-log.ts";
import { ANA, LogBuilder, ready } from "./log-builder.ts";

type State =
  | "writing"
  | "ready"
  | "allowed"
  | "asked"
  | "approved"
  | "denied"
  | "running"
  | "retrying"
  | "asking"
  | "answered"
  | "interrupted"
  | "retried"
  | "skipped"
  | "succeeded"
  | "not-run";

/** Logs that end with the call `c` in one state. */
const states: Readonly<Record<State, () => LogBuilder>> = {
  writing: () => opened().drive({ type: "call-proposed", callId: "c", turn: 1, attempt: 1, name: "c" }),
  ready: () => new LogBuilder().begin().turn(1, "", { c: 1 }),
  allowed: () => states.ready().allow("c"),
  asked: () => states.ready().ask("c"),
  approved: () => states.asked().decide("c", { action: "approve" }),
  denied: () => states.asked().decide("c", { action: "deny" }),
  running: () => states.allowed().start("c"),
  retrying: () =>
    states
      .running()
      .drive({ type: "attempt-failed", callId: "c", attempt: 1, error: ERROR, retryAt: 1_800_000_000_000 }),
  asking: () =>
    states.running().drive({ type: "decision-requested", callId: "c", kind: "question", digest: "digest-c" }),
  answered: () => states.asking().decide("c", { action: "answer", value: 7 }),
  interrupted: () => states.running().drive({ type: "call-interrupted", callId: "c", attempt: 1 }),
  retried: () => states.interrupted().decide("c", { action: "retry" }),
  skipped: () => states.interrupted().decide("c", { action: "skip" }),
  succeeded: () => states.running().succeed("c", "paid"),
  "not-run": () => states.denied().drive({ type: "call-settled", callId: "c", outcome: "not-run", reason: "denied" }),
};

const ERROR = { code: "tool-error", message: "It broke." } as const;
const DECISION = { callId: "c", by: ANA, via: "browser", digest: "digest-c", key: "k", bodyHash: "h" } as const;

function opened(): LogBuilder {
  return new LogBuilder().begin().drive({ type: "turn-started", turn: 1, attempt: 1, model: "m" });
}

/** The events a call knows, by a short name. */
const moves = {
  proposed: { type: "call-proposed", callId: "c", turn: 1, attempt: 1, name: "c" },
  written: { type: "call-input-added", callId: "c", text: "{" },
  ready: ready("c", 1, 2),
  allow: { type: "call-judged", callId: "c", verdict: "allow", by: "policy", digest: "digest-c" },
  ask: { type: "decision-requested", callId: "c", kind: "approval", digest: "digest-c" },
  approve: { type: "decision-recorded", action: "approve", ...DECISION },
  deny: { type: "decision-recorded", action: "deny", ...DECISION },
  expire: { type: "decision-recorded", action: "expire", ...DECISION, via: "clock" },
  start1: { type: "call-started", callId: "c", attempt: 1, digest: "digest-c", key: "c.0" },
  start2: { type: "call-started", callId: "c", attempt: 2, digest: "digest-c", key: "c.0" },
  progress: { type: "call-progressed", callId: "c", attempt: 1, value: 1 },
  progress2: { type: "call-progressed", callId: "c", attempt: 2, value: 1 },
  fail: { type: "attempt-failed", callId: "c", attempt: 1, error: ERROR, retryAt: 1_800_000_000_000 },
  interrupt: { type: "call-interrupted", callId: "c", attempt: 1 },
  succeed: { type: "call-settled", callId: "c", attempt: 1, outcome: "succeeded", output: "x" },
  late: { type: "call-settled", callId: "c", attempt: 1, outcome: "succeeded", output: "x", late: true },
  late2: { type: "call-settled", callId: "c", attempt: 2, outcome: "succeeded", output: "x", late: true },
} satisfies Record<string, EventDraft>;

type Move = keyof typeof moves;

/** What each state takes, and the status it leads to. Whatever is not listed is ignored and counted. */
const table: { readonly [From in State]: Partial<Record<Move, Call["status"]>> } = {
  writing: { written: "writing" },
  ready: { allow: "queued", ask: "waiting", start1: "running", start2: "running" },
  allowed: { ask: "waiting", start1: "running", start2: "running" },
  asked: { approve: "queued", deny: "waiting", expire: "waiting" },
  approved: { start1: "running", start2: "running" },
  denied: {},
  running: {
    ask: "waiting",
    start2: "running",
    progress: "running",
    fail: "running",
    interrupt: "waiting",
    succeed: "succeeded",
  },
  retrying: { ask: "waiting", start2: "running", progress: "running", interrupt: "waiting", succeed: "succeeded" },
  asking: { deny: "waiting", expire: "waiting" },
  answered: { start2: "running", succeed: "succeeded" },
  interrupted: { late: "succeeded" }, // a decision about the approval is none about the interruption
  retried: { start2: "running" },
  skipped: { late: "succeeded" },
  succeeded: {},
  "not-run": {},
};

const rows = Object.entries(states).flatMap(([from, build]) =>
  Object.entries(moves).map(([move, draft]) => {
    const expected = table[from as State][move as Move]; // keys of the two records above
    return { from, move, draft, build, to: expected ?? "ignored" };
  }),
);

describe("a call", () => {
  test.each(rows)("$from, $move: $to", ({ build, draft, to }) => {
    const log = build();
    const { anomalies } = log.thread;
    const before = findCall(log.thread, "c")?.call;
    log.drive(draft);
    const after = findCall(log.thread, "c")?.call;
    if (to === "ignored") {
      expect(after).toBe(before);
      expect(log.thread.anomalies).toBe(anomalies + 1);
    } else {
      expect(after?.status).toBe(to);
      expect(log.thread.anomalies).toBe(anomalies);
    }
  });

  test.each(Object.entries(states).filter(([from]) => from !== "writing"))(
    "%s, and its run ended: whatever comes is ignored",
    (_, build) => {
      const log = build().end("stopped");
      const [run] = log.thread.runs;
      for (const draft of Object.values(moves)) log.drive(draft);
      expect(log.thread.runs[0]).toBe(run);
      expect(log.thread.anomalies).toBe(Object.keys(moves).length);
    },
  );

  test("[A7] the first settlement and the first decision win; others are counted", () => {
    const log = states.succeeded();
    const { call } = { call: log.call("c") };
    log.drive(moves.succeed, { type: "call-settled", callId: "c", outcome: "failed", error: ERROR });
    expect(log.call("c")).toBe(call);
    expect(log.thread.anomalies).toBe(2);
    const decided = states.denied();
    const denied = decided.call("c");
    decided.drive(moves.approve, moves.expire);
    expect(decided.call("c")).toBe(denied);
    expect(decided.thread.anomalies).toBe(2);
  });

  test("a recorded refusal is never followed by a start", () => {
    const log = states.denied().drive(moves.start1, moves.start2);
    expect(log.call("c")).toMatchObject({ status: "waiting", attempt: 0, decision: { action: "deny" } });
  });

  test("an edit replaces the input, keeps the model's, and changes the digest", () => {
    const log = states.asked().decide("c", { action: "approve", input: { amount: 5 }, newDigest: "digest-2" });
    expect(log.call("c")).toMatchObject({ input: { amount: 5 }, digest: "digest-2", decision: { originalInput: 1 } });
  });

  test("[A9] definite failures count, attempts grow, and the key's number grows with definite failures only", () => {
    const log = states.retrying();
    expect(log.call("c")).toMatchObject({ status: "running", failures: 0, attempt: 1, lastError: "It broke." });
    log
      .start("c")
      .drive({ type: "call-interrupted", callId: "c", attempt: 2 })
      .decide("c", { action: "retry" })
      .start("c");
    expect(log.call("c")).toMatchObject({ status: "running", failures: 0, attempt: 3 });
    expect(log.call("c").retryAt).toBeUndefined();
    const error = { code: "tool-error", message: "It broke." };
    log.drive({ type: "attempt-failed", callId: "c", attempt: 3, error, retryAt: 1, definite: true });
    expect(log.call("c").failures).toBe(1);
  });

  test("progress moves, partial replaces, log lines add up to 500", () => {
    const log = states.running();
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`);
    const progress = { type: "call-progressed", callId: "c", attempt: 1 } as const;
    log.drive({ ...progress, value: 1, max: 2, label: "x" }, { ...progress, log: lines, partial: 1 });
    log.drive({ ...progress, log: lines, partial: null });
    expect(log.call("c")).toMatchObject({ progress: { value: 1, max: 2, label: "x" }, partial: null });
    expect(log.call("c").log).toHaveLength(500);
    expect(log.call("c").log.at(-1)).toBe("line 299");
    log.succeed("c", 1);
    expect(log.call("c").partial).toBeUndefined();
  });
});

describe("a turn", () => {
  const at = { turn: 1, attempt: 1 };
  const ended = { type: "turn-ended", ...at, finishReason: "stop" } as const;
  const failed = { type: "attempt-failed", ...at, error: { code: "model-failed", message: "no" } } as const;

  test("[A3] an attempt's deltas reach no other attempt", () => {
    const log = opened().drive({ type: "text-added", ...at, text: "one" }, failed);
    log.drive({ type: "turn-started", turn: 1, attempt: 2, model: "m" });
    log.drive({ type: "text-added", ...at, text: "late" }, ended, {
      type: "call-proposed",
      ...at,
      callId: "c",
      name: "c",
    });
    expect(log.thread.active[0]?.turn).toMatchObject({ attempt: 2, parts: [], calls: [], status: "open" });
    expect(log.thread.anomalies).toBe(3);
  });

  test("texts around a call that never came to be are one", () => {
    const log = opened().drive({ type: "text-added", ...at, text: "one " });
    log.drive(
      { type: "call-proposed", ...at, callId: "c", name: "c" },
      { type: "text-added", ...at, text: "two" },
      failed,
    );
    expect(log.thread.active[0]?.turn?.parts).toEqual([{ type: "text", text: "one two" }]);
  });

  test("takes nothing more once it ended or failed", () => {
    for (const last of [ended, failed]) {
      const log = opened().drive(last);
      const turn = log.thread.active[0]?.turn;
      log.drive({ type: "text-added", ...at, text: "late" }, ended, failed);
      log.drive({ type: "call-proposed", ...at, callId: "c", name: "c" });
      expect(log.thread.active[0]?.turn).toBe(turn);
      expect(log.thread.anomalies).toBe(4);
    }
  });

  test("counts the attempts that were cut without a word", () => {
    const log = opened().drive({ type: "turn-started", turn: 1, attempt: 2, model: "m" });
    expect(log.thread.active[0]?.turn?.cuts).toBe(1);
    log.drive({ ...failed, attempt: 2 }, { type: "turn-started", turn: 1, attempt: 3, model: "m" });
    expect(log.thread.active[0]?.turn?.cuts).toBe(0);
  });

  test("[A11] calls are ready only in a turn that ended", () => {
    const log = opened().drive(ready("c", 1, 1));
    expect(log.thread.anomalies).toBe(1);
    log.drive(ended, ready("c", 1, 1), ready("d", 2, 1));
    expect(log.thread.anomalies).toBe(2);
    expect(log.thread.active[0]?.callCount).toBe(1);
  });

  test.each<[string, EventDraft]>([
    ["the same attempt again", { type: "turn-started", turn: 1, attempt: 1, model: "m" }],
    ["a turn that leaves one out", { type: "turn-started", turn: 3, attempt: 1, model: "m" }],
    ["the next turn while this one is open", { type: "turn-started", turn: 2, attempt: 1, model: "m" }],
    ["a turn of another run", { type: "turn-started", runId: "r9", turn: 2, attempt: 1, model: "m" }],
  ])("does not take %s", (_, draft) => {
    const log = opened();
    const [run] = log.thread.active;
    log.drive(draft);
    expect(log.thread.active[0]).toBe(run);
    expect(log.thread.anomalies).toBe(1);
  });

  test("is not left behind while a call of it is open", () => {
    const log = states.allowed().drive({ type: "turn-started", turn: 2, attempt: 1, model: "m" });
    expect(log.thread.active[0]?.turn?.turn).toBe(1);
    log.start("c").succeed("c", 1).drive({ type: "turn-started", turn: 2, attempt: 1, model: "m" });
    expect(log.thread.active[0]?.turn?.turn).toBe(2);
    expect(log.thread.consumedSeq).toBe(log.thread.seq);
  });
});

describe("a run", () => {
  test.each<[string, EventDraft]>([
    ["a second root", { type: "run-started", runId: "r2", trigger: "message", depth: 0, agentVersion: "1" }],
    ["its own id again", { type: "run-started", runId: "r1", trigger: "call", depth: 1, agentVersion: "1" }],
    ["a run without an id", { type: "run-started", runId: undefined, trigger: "call", depth: 1, agentVersion: "1" }],
    ["a claim of another run", { type: "run-resumed", runId: "r9", epoch: 9, driverId: "x", why: "takeover" }],
    ["waiting of another run", { type: "run-waiting", runId: "r9", for: [] }],
    ["a hand-over of another run", { type: "run-handed-over", runId: "r9", why: "budget" }],
    ["the end of another run", { type: "run-ended", runId: "r9", outcome: "completed", text: "", usage: {} }],
    ["a second creation", { type: "thread-created", owner: "eve", agent: "x", title: "x" }],
  ])("does not take %s", (_, draft) => {
    const log = new LogBuilder().begin();
    const before = log.thread;
    log.drive(draft);
    expect({ ...log.thread, seq: 0, at: 0, activeMs: 0, activeAt: 0 }).toEqual({
      ...{ ...before, seq: 0, at: 0, activeMs: 0, activeAt: 0 },
      anomalies: 1,
    });
  });

  test("ends once, after its children, and its id does not come back", () => {
    const log = states.running();
    log.drive({ type: "run-started", runId: "r2", trigger: "call", depth: 1, parentCallId: "c", agentVersion: "1" });
    log.end("stopped");
    expect(log.thread.active.map(({ runId }) => runId)).toEqual(["r1", "r2"]);
    log
      .drive({ type: "run-ended", runId: "r2", outcome: "stopped", text: "", usage: {} })
      .end("stopped")
      .end("completed");
    expect(log.thread.active).toEqual([]);
    expect(log.thread.runs.map(({ runId, outcome }) => [runId, outcome])).toEqual([
      ["r2", "stopped"],
      ["r1", "stopped"],
    ]);
    log.add(log.run("r1"));
    expect(log.thread.active).toEqual([]);
    expect(log.thread.anomalies).toBe(3);
  });

  test("[A1] waiting, hand-over and the end close the epoch; a claim opens the next", () => {
    const log = states.asked();
    expect(log.thread).toMatchObject({ epoch: 1, driverId: "d1" });
    log.wait("c");
    expect(log.thread).toMatchObject({ epoch: 1, driverId: null, active: [{ status: "waiting" }] });
    log.decide("c", { action: "approve" });
    expect(log.thread).toMatchObject({ epoch: 2, driverId: "d2", active: [{ status: "running" }] });
    log.drive({ type: "run-handed-over", why: "budget", dueAt: 5 });
    expect(log.thread).toMatchObject({ driverId: null, active: [{ status: "running", dueAt: 5 }] });
    log.add(...log.claim("takeover")).end("stopped");
    expect(log.thread).toMatchObject({ epoch: 3, driverId: null, active: [] });
  });

  test("[A15] active time runs between events of one epoch only, and begins anew with a run", () => {
    const log = states.asked(); // one second between appends
    const before = log.thread.activeMs;
    expect(before).toBe(4000);
    log.wait("c");
    const waiting = log.thread.activeMs;
    log.add({ type: "thread-renamed", title: "x", by: ANA, ...log.key() });
    log.decide("c", { action: "approve" });
    expect(log.thread.activeMs).toBe(waiting);
    log.start("c");
    expect(log.thread.activeMs).toBe(waiting + 1000);
    log.succeed("c", 1).turn(2, "").end("completed").add(log.message("again", "r2"), log.run("r2"));
    expect(log.thread.activeMs).toBe(0);
  });

  test("a stop is recorded once", () => {
    const log = new LogBuilder().begin();
    const stop = { type: "stop-requested", runId: "r1", by: ANA } as const;
    log.add({ ...stop, reason: "first", ...log.key() }).add({ ...stop, reason: "second", ...log.key() });
    expect(log.thread.active[0]?.stop).toMatchObject({ reason: "first" });
    expect(log.thread.anomalies).toBe(1);
    expect(log.thread.keys.map(({ key }) => key)).toEqual(["k1", "k2", "k3"]);
  });

  test("grants of scope run end with it, those of scope thread stay until they are revoked", () => {
    const log = new LogBuilder().begin().turn(1, "", { "refund-1": 1, "refund-2": 2, "refund-3": 3 });
    for (const [callId, scope] of [
      ["refund-1", "run"],
      ["refund-2", "thread"],
      ["refund-3", "once"],
    ] as const) {
      log.ask(callId).decide(callId, { action: "approve", scope }).start(callId).succeed(callId, 1);
    }
    expect(log.thread.grants).toMatchObject([
      { grantId: "g-refund-1", tool: "refund", input: 1, scope: "run" },
      { grantId: "g-refund-2", tool: "refund", input: 2, scope: "thread" },
    ]);
    log.turn(2, "").end("completed");
    expect(log.thread.grants.map(({ grantId }) => grantId)).toEqual(["g-refund-2"]);
    log.add({ type: "grant-revoked", grantId: "g-refund-2", by: ANA, ...log.key() });
    expect(log.thread.grants).toEqual([]);
  });
});

describe("the thread", () => {
  test("keeps the last 256 keys, with who wrote and where", () => {
    const log = new LogBuilder().begin();
    for (let index = 0; index < 300; index++) log.add({ type: "thread-renamed", title: "x", by: ANA, ...log.key() });
    expect(log.thread.keys).toHaveLength(256);
    expect(log.thread.keys.at(-1)).toEqual({
      key: "k301",
      userId: "ana",
      bodyHash: "h",
      seq: log.thread.seq,
      runId: undefined,
    });
  });

  test("an expiry has no key", () => {
    const log = states.asked();
    const keys = log.thread.keys.length;
    log.decide("c", { action: "expire", via: "clock", by: undefined, key: "", bodyHash: "" });
    expect(log.thread.keys).toHaveLength(keys);
  });

  test("[A15] its time never goes back", () => {
    const log = new LogBuilder().begin();
    const { at, seq } = log.thread;
    const early = sealEvent({ type: "thread-renamed", title: "x", by: ANA, ...log.key() }, seq + 1, at - 5000);
    expect(reduceThread(log.thread, early)).toMatchObject({ title: "x", at });
  });

  test.each([
    ["a control kind of newer code", { type: "run-forked", v: 1 }, true],
    ["any kind of a newer version", { type: "text-added", v: 2 }, true],
    ["an old kind", { type: "limit-reached", v: 1 }, false],
  ])("%s: unknown is %s", (_, { type, v }, unknown) => {
    const log = new LogBuilder().begin();
    const event = { ...sealEvent({ type: type as "limit-reached" } as EventDraft, log.thread.seq + 1, 1), v }; // newer code's
    const next: Thread = reduceThread(log.thread, event);
    expect(next.unknown).toBe(unknown);
    expect(next.seq).toBe(log.thread.seq + 1);
  });

  test("deltas are the four that do not move control", () => {
    const deltas: readonly EventType[] = ["text-added", "call-proposed", "call-input-added", "call-progressed"];
    expect(EVENT_TYPES.filter((type) => !isControl({ type })).sort()).toEqual([...deltas].sort());
    expect(EVENT_TYPES).toHaveLength(28);
    expect(PROTOCOL_VERSION).toBe(1);
  });

  test("token counts add up, and what nobody reported stays unreported", () => {
    expect(addUsage({ inputTokens: 1 }, { inputTokens: 2, outputTokens: 3 })).toEqual({
      inputTokens: 3,
      outputTokens: 3,
    });
    expect(addUsage({}, { inputTokens: undefined })).toEqual({});
  });
});
