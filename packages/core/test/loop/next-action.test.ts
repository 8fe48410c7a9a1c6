import { describe, expect, it } from "vitest";
import type { Rules } from "../../src/agent/rules.ts";
import type { Action, Me } from "../../src/loop/action.ts";
import { callKey, turnKey } from "../../src/loop/action.ts";
import { nextAction } from "../../src/loop/next-action.ts";
import type { Draft } from "./small-log.ts";
import {
  allowed,
  asked,
  begun,
  callFailed,
  decided,
  ended,
  foldDrafts,
  handedOver,
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
  turnFailed,
  turnStarted,
  waiting,
  wholeTurn,
} from "./small-log.ts";

const tool = { kind: "server", timeoutMs: 60_000, idempotent: false, maxRetries: 0, sequential: false } as const;
const RULES: Rules = {
  limits: {
    turns: 10,
    calls: 100,
    tokens: null,
    timeMs: 300_000,
    repeats: { count: 3, follows: "note" },
    failures: { count: 3, except: [] },
    depth: 3,
  },
  onLimit: "answer",
  onDenied: "continue",
  holdTurn: false,
  concurrency: 8,
  modelAttempts: 3,
  modelTimeoutMs: 60_000,
  judgesTurns: false,
  gateAttempts: 0,
  tools: {
    plain: tool,
    safe: { ...tool, idempotent: true, maxRetries: 2 },
    alone: { ...tool, sequential: true },
    quick: { ...tool, timeoutMs: 1_000 },
  },
};
const ME: Me = { epoch: 1, inFlight: new Set(), budgetLeftMs: Number.POSITIVE_INFINITY, aborting: false };
const NOBODY: Partial<Me> = { epoch: null };
const NOW = 2_000;
/** Active time counts from the run's first event. */
const TIME_UP = 1_002 + RULES.limits.timeMs;

interface Row {
  readonly is: string;
  readonly events: readonly Draft[];
  readonly rules?: Partial<Rules>;
  readonly now?: number;
  readonly me?: Partial<Me>;
  readonly expected: object;
}

/** An action with names in place of runs and calls. */
function named(action: Action): object {
  const { run, calls, ...rest } = { run: undefined, calls: undefined, ...action };
  const named = { ...rest, ...(run && { run: run.runId }), ...(calls && { calls: calls.map((call) => call.callId) }) };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function inFlight(...keys: readonly string[]): Partial<Me> {
  return { inFlight: new Set(keys) };
}

const askedTurn = [...begun, ...wholeTurn(["a"]), ...asked("a")];
const runningTurn = [...begun, ...wholeTurn(["a"]), allowed("a"), started("a")];
const childStarted: Draft = {
  type: "run-started",
  runId: "child",
  epoch: 1,
  trigger: "call",
  depth: 1,
  parentCallId: "a",
  agentVersion: "1",
};

const ROWS: readonly Row[] = [
  { is: "1: nothing was ever said", events: [], me: NOBODY, expected: { type: "rest" } },
  {
    is: "1: a run completed and nothing is unread",
    events: [...begun, ...wholeTurn(), ended()],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "1: a message came after the run completed",
    events: [...begun, ...wholeTurn(), ended(), message()],
    me: NOBODY,
    expected: { type: "start-run" },
  },
  {
    is: "1: a message came after the run was limited",
    events: [...begun, ...wholeTurn(), ended("limited"), message()],
    me: NOBODY,
    expected: { type: "start-run" },
  },
  {
    is: "1: a message is unread after a stop",
    events: [...begun, ...wholeTurn(), stopRequested(), message(), ended("stopped")],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "1: a message is unread after a failure",
    events: [...begun, message(), ended("failed")],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "2: the log holds a control event this code does not know",
    events: [...begun, { type: "from-the-future", runId: "r" } as unknown as Draft], // a newer version's event
    expected: { type: "refuse" },
  },
  {
    is: "2 before 3: unknown, and another epoch owns it",
    events: [...begun, { type: "from-the-future", runId: "r" } as unknown as Draft], // a newer version's event
    me: { epoch: 7 },
    expected: { type: "refuse" },
  },
  { is: "3: another owner ended it", events: [...begun, ended()], expected: { type: "stop" } },
  { is: "3: another epoch owns it", events: begun, me: { epoch: 2 }, expected: { type: "stop" } },
  { is: "3: my epoch was closed", events: [...askedTurn, waiting()], expected: { type: "stop" } },
  { is: "4: an owner is there", events: begun, me: NOBODY, expected: { type: "attach" } },
  {
    is: "5: a run nobody owns has a turn to start",
    events: [begun[0], begun[1], runStarted(false)].filter((event) => event !== undefined),
    me: NOBODY,
    expected: { type: "claim" },
  },
  {
    is: "5: it waits for a person and says so",
    events: [...askedTurn, waiting()],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "5: it waits for a person and says it runs",
    events: [...askedTurn, handedOver()],
    me: NOBODY,
    expected: { type: "claim" },
  },
  {
    is: "5: a person approved meanwhile",
    events: [...askedTurn, waiting(), decided("a", "approve")],
    me: NOBODY,
    expected: { type: "claim" },
  },
  {
    is: "5: a question that waits is over its time",
    events: [...begun, ...wholeTurn(["a"]), ...asked("a", NOW), waiting(NOW)],
    me: NOBODY,
    expected: { type: "claim" },
  },
  {
    is: "5: all there is to do is to sleep, and it was handed over until then",
    events: [...runningTurn, callFailed("a", 1, NOW + 5_000), handedOver(NOW + 5_000)],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "5: it slept until now",
    events: [...runningTurn, callFailed("a", 1, NOW), handedOver(NOW)],
    me: NOBODY,
    expected: { type: "claim" },
  },
  {
    is: "5: it would sleep, and nobody noted until when",
    events: [...runningTurn, callFailed("a", 1, NOW + 5_000), handedOver()],
    me: NOBODY,
    expected: { type: "claim" },
  },
  {
    is: "5: this request has no room for what is next",
    events: [...begun, ...wholeTurn(["a"]), allowed("a"), handedOver()],
    me: { epoch: null, budgetLeftMs: 10 },
    expected: { type: "rest" },
  },
  {
    is: "5: what the asker had in flight does not count",
    events: [...runningTurn, handedOver()],
    me: { epoch: null, ...inFlight(callKey("a", 1)) },
    expected: { type: "claim" },
  },
  {
    is: "6: stop is requested while a call runs",
    events: [...runningTurn, stopRequested()],
    me: inFlight(callKey("a", 1)),
    expected: { type: "abort" },
  },
  {
    is: "6: stop is requested and the signals are aborted already",
    events: [...runningTurn, stopRequested()],
    me: { ...inFlight(callKey("a", 1)), aborting: true },
    expected: { type: "await", until: null },
  },
  {
    is: "6: active time is over while the model answers",
    events: [...begun, turnStarted()],
    now: 400_000,
    me: inFlight(turnKey("r", 1, 1)),
    expected: { type: "abort" },
  },
  {
    is: "7: stop is requested and nothing is in flight",
    events: [...askedTurn, stopRequested()],
    expected: { type: "end", run: "r", outcome: "stopped" },
  },
  {
    is: "7: active time is over and nothing is in flight",
    events: begun,
    now: 400_000,
    expected: { type: "end", run: "r", outcome: "limited", limit: "time" },
  },
  {
    is: "7: stopped comes before limited",
    events: [...begun, stopRequested()],
    now: 400_000,
    expected: { type: "end", run: "r", outcome: "stopped" },
  },
  {
    is: "7 before 8: stopped, and a question is over its time",
    events: [...begun, ...wholeTurn(["a"]), ...asked("a", NOW), stopRequested()],
    expected: { type: "end", run: "r", outcome: "stopped" },
  },
  {
    is: "7: time that passed while it waited does not count",
    events: [
      ...askedTurn,
      waiting(),
      { ...decided("a", "approve"), at: 900_000 },
      { type: "run-resumed", runId: "r", epoch: 2, driverId: "e", why: "decision", at: 900_000 },
    ],
    now: 900_001,
    me: { epoch: 2 },
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "8: a question is over its time",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a", NOW), ...asked("b", NOW + 1)],
    expected: { type: "expire", run: "r", calls: ["a"] },
  },
  {
    is: "8 before 11: a question is over its time and a call could start",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a", NOW), allowed("b")],
    expected: { type: "expire", run: "r", calls: ["a"] },
  },
  {
    is: "9: a call runs by the log but not here",
    events: runningTurn,
    expected: { type: "interrupt", run: "r", calls: ["a"] },
  },
  {
    is: "9: an idempotent call runs by the log but not here",
    events: [...begun, ...wholeTurn(["a", "safe"]), allowed("a"), started("a")],
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "9: an idempotent call has no attempts left",
    events: [...begun, ...wholeTurn(["a", "safe"]), allowed("a"), started("a"), started("a", 2), started("a", 3)],
    expected: { type: "interrupt", run: "r", calls: ["a"] },
  },
  {
    is: "9: of two lost calls the idempotent one restarts first",
    events: [...begun, ...wholeTurn(["a"], ["b", "safe"]), allowed("a"), allowed("b"), started("a"), started("b")],
    expected: { type: "start", run: "r", calls: ["b"] },
  },
  {
    is: "9: a lost call of a tool that is gone",
    events: [...begun, ...wholeTurn(["a", "gone"]), allowed("a"), started("a")],
    expected: { type: "interrupt", run: "r", calls: ["a"] },
  },
  {
    is: "9: an agent's call with an open child: the child goes first",
    events: [...runningTurn, childStarted],
    rules: { tools: { plain: { ...tool, kind: "agent", agent: RULES } } },
    expected: { type: "call-model", run: "child", turn: 1, attempt: 1 },
  },
  {
    is: "9 before 10: a lost call and one without verdict",
    events: [...begun, ...wholeTurn(["a"], ["b"]), allowed("a"), started("a")],
    expected: { type: "interrupt", run: "r", calls: ["a"] },
  },
  {
    is: "10: calls of an ended turn have no verdict",
    events: [...begun, ...wholeTurn(["a"], ["b"])],
    expected: { type: "judge", run: "r", calls: ["a", "b"] },
  },
  {
    is: "10 before 11: one has no verdict and one could start",
    events: [...begun, ...wholeTurn(["a"], ["b"]), allowed("a")],
    expected: { type: "judge", run: "r", calls: ["b"] },
  },
  {
    is: "10: nothing is judged of a turn that is still open",
    events: [
      ...begun,
      turnStarted(),
      { type: "call-proposed", runId: "r", epoch: 1, callId: "a", turn: 1, attempt: 1, name: "plain" },
    ],
    me: inFlight(turnKey("r", 1, 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "11: allowed calls start together",
    events: [...begun, ...wholeTurn(["a"], ["b"]), allowed("a"), allowed("b")],
    expected: { type: "start", run: "r", calls: ["a", "b"] },
  },
  {
    is: "11: an approved call starts although another still waits",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a"), ...asked("b"), decided("b", "approve")],
    expected: { type: "start", run: "r", calls: ["b"] },
  },
  {
    is: "11: holdTurn holds an approved call while another waits",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a"), ...asked("b"), decided("b", "approve")],
    rules: { holdTurn: true },
    expected: { type: "wait", calls: ["a"] },
  },
  {
    is: "11: holdTurn starts all when all are decided",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"], ["c"]),
      ...asked("a"),
      allowed("b"),
      ...asked("c"),
      decided("a", "approve"),
      decided("c", "deny"),
      notRun("c", "denied"),
    ],
    rules: { holdTurn: true },
    expected: { type: "start", run: "r", calls: ["a", "b"] },
  },
  {
    is: "11: concurrency caps how many start",
    events: [...begun, ...wholeTurn(["a"], ["b"], ["c"]), allowed("a"), allowed("b"), allowed("c")],
    rules: { concurrency: 2 },
    expected: { type: "start", run: "r", calls: ["a", "b"] },
  },
  {
    is: "11: concurrency counts what runs already",
    events: [...begun, ...wholeTurn(["a"], ["b"], ["c"]), allowed("a"), allowed("b"), allowed("c"), started("a")],
    rules: { concurrency: 2 },
    me: inFlight(callKey("a", 1)),
    expected: { type: "start", run: "r", calls: ["b"] },
  },
  {
    is: "11: a sequential call starts alone",
    events: [...begun, ...wholeTurn(["a", "alone"], ["b"]), allowed("a"), allowed("b")],
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "11: a sequential call waits for what runs",
    events: [...begun, ...wholeTurn(["a"], ["b", "alone"]), allowed("a"), allowed("b"), started("a")],
    me: inFlight(callKey("a", 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "11: nothing starts beside a sequential call",
    events: [...begun, ...wholeTurn(["a", "alone"], ["b"]), allowed("a"), allowed("b"), started("a")],
    me: inFlight(callKey("a", 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "11: what fits into the request starts, the rest is left",
    events: [...begun, ...wholeTurn(["a"], ["b", "quick"]), allowed("a"), allowed("b")],
    me: { budgetLeftMs: 5_000 },
    expected: { type: "start", run: "r", calls: ["b"] },
  },
  {
    is: "12: a retry is due",
    events: [...runningTurn, callFailed("a", 1, NOW)],
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "12: a call a person let run again starts",
    events: [...runningTurn, interrupted("a"), decided("a", "retry")],
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "13: a call is in flight: time is over at the limit of active time",
    events: runningTurn,
    me: inFlight(callKey("a", 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "13: a call is in flight and a question runs out first",
    events: [...begun, ...wholeTurn(["a"], ["b"]), allowed("a"), ...asked("b", NOW + 500), started("a")],
    me: inFlight(callKey("a", 1)),
    expected: { type: "await", until: NOW + 500 },
  },
  {
    is: "14: a call does not fit into the request",
    events: [...begun, ...wholeTurn(["a"]), allowed("a")],
    me: { budgetLeftMs: 5_000 },
    expected: { type: "hand-over" },
  },
  {
    is: "14: a model call does not fit into the request",
    events: begun,
    me: { budgetLeftMs: 5_000 },
    expected: { type: "hand-over" },
  },
  {
    is: "14: a retry is due after the request is over",
    events: [...begun, ...wholeTurn(["a", "quick"]), allowed("a"), started("a"), callFailed("a", 1, NOW + 9_000)],
    me: { budgetLeftMs: 5_000 },
    expected: { type: "hand-over", dueAt: NOW + 9_000 },
  },
  {
    is: "15: a retry is due later",
    events: [...runningTurn, callFailed("a", 1, NOW + 500)],
    expected: { type: "sleep", until: NOW + 500 },
  },
  {
    is: "15: a question runs out before the retry is due",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      allowed("a"),
      ...asked("b", NOW + 100),
      started("a"),
      callFailed("a", 1, NOW + 500),
    ],
    expected: { type: "sleep", until: NOW + 100 },
  },
  {
    is: "15: a retry is due at the very time a question runs out",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      allowed("a"),
      ...asked("b", NOW + 500),
      started("a"),
      callFailed("a", 1, NOW + 500),
    ],
    expected: { type: "sleep", until: NOW + 500 },
  },
  {
    is: "15: the next attempt of a model call is due later",
    events: [...begun, turnStarted(), turnFailed(1, 1, NOW + 500)],
    expected: { type: "sleep", until: NOW + 500 },
  },
  {
    is: "16: questions are open",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a"), ...asked("b")],
    expected: { type: "wait", calls: ["a", "b"] },
  },
  {
    is: "16: it is due when the first question runs out",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a", NOW + 900), ...asked("b", NOW + 500)],
    expected: { type: "wait", calls: ["a", "b"], dueAt: NOW + 500 },
  },
  {
    is: "16: an interrupted call is open",
    events: [...runningTurn, interrupted("a")],
    expected: { type: "wait", calls: ["a"] },
  },
  {
    is: "17: the request of a model call was cut off",
    events: [...begun, turnStarted()],
    expected: { type: "call-model", run: "r", turn: 1, attempt: 2 },
  },
  {
    is: "17: it was cut off twice",
    events: [...begun, turnStarted(), turnStarted(1, 2)],
    expected: { type: "end", run: "r", outcome: "failed", code: "request-too-short" },
  },
  {
    is: "17: the next attempt is due",
    events: [...begun, turnStarted(), turnFailed(1, 1, NOW)],
    expected: { type: "call-model", run: "r", turn: 1, attempt: 2 },
  },
  {
    is: "17: attempts are used up",
    events: [...begun, turnStarted(1, 3), turnFailed(1, 3, NOW)],
    expected: { type: "end", run: "r", outcome: "failed", code: "model-failed" },
  },
  {
    is: "17: another attempt would not help",
    events: [...begun, turnStarted(), turnFailed(1, 1)],
    expected: { type: "end", run: "r", outcome: "failed", code: "model-failed" },
  },
  {
    is: "17: the next attempt of the last answer has no tools either",
    events: [...begun, limitReached(), turnStarted(1, 1, true), turnFailed(1, 1, NOW)],
    expected: { type: "call-model", run: "r", turn: 1, attempt: 2, last: "turns" },
  },
  {
    is: "18: a person denied and onDenied is stop",
    events: [...askedTurn, decided("a", "deny"), notRun("a", "denied")],
    rules: { onDenied: "stop" },
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "18: a person denied and said stop",
    events: [...askedTurn, decided("a", "deny", true), notRun("a", "denied")],
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "18: what a policy blocked is no denial",
    events: [...begun, ...wholeTurn(["a"]), notRun("a", "blocked")],
    rules: { onDenied: "stop" },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "18: the run ends only when the other calls are settled",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      ...asked("a"),
      allowed("b"),
      started("b"),
      decided("a", "deny", true),
      notRun("a", "denied"),
    ],
    me: inFlight(callKey("b", 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "19: the run has no turn yet",
    events: begun,
    expected: { type: "call-model", run: "r", turn: 1, attempt: 1 },
  },
  {
    is: "19: every call of the turn is settled",
    events: [...begun, ...wholeTurn(["a"]), allowed("a"), started("a"), succeeded("a")],
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "19: a message came while the model answered",
    events: [...begun, turnStarted(), message(), turnEnded()],
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "19: the last turn allowed is a tool-less answer",
    events: [...begun, ...wholeTurn(["a"]), allowed("a"), started("a"), succeeded("a")],
    rules: { limits: { ...RULES.limits, turns: 2 } },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1, last: "turns" },
  },
  {
    is: "19: with one turn allowed the first is the last answer",
    events: begun,
    rules: { limits: { ...RULES.limits, turns: 1 } },
    expected: { type: "call-model", run: "r", turn: 1, attempt: 1, last: "turns" },
  },
  {
    is: "19: with onLimit stop the last turn keeps its tools",
    events: begun,
    rules: { limits: { ...RULES.limits, turns: 1 }, onLimit: "stop" },
    expected: { type: "call-model", run: "r", turn: 1, attempt: 1 },
  },
  {
    is: "19: with onLimit stop the run ends at the limit",
    events: [...begun, ...wholeTurn(["a"]), allowed("a"), started("a"), succeeded("a")],
    rules: { limits: { ...RULES.limits, turns: 1 }, onLimit: "stop" },
    expected: { type: "end", run: "r", outcome: "limited", limit: "turns" },
  },
  {
    is: "19: a message that comes during the last answer does not make another turn",
    events: [...begun, limitReached(), turnStarted(1, 1, true), message(), turnEnded()],
    rules: { limits: { ...RULES.limits, turns: 1 } },
    expected: { type: "end", run: "r", outcome: "limited", limit: "turns" },
  },
  {
    is: "19: the limit of calls makes the next answer the last",
    events: [...begun, ...wholeTurn(["a"]), allowed("a"), started("a"), succeeded("a")],
    rules: { limits: { ...RULES.limits, calls: 1 } },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1, last: "calls" },
  },
  {
    is: "20: the turn asked for nothing",
    events: [...begun, ...wholeTurn()],
    expected: { type: "end", run: "r", outcome: "completed" },
  },
  {
    is: "20: the last answer at a limit is there",
    events: [...begun, limitReached(), turnStarted(1, 1, true), turnEnded()],
    rules: { limits: { ...RULES.limits, turns: 1 } },
    expected: { type: "end", run: "r", outcome: "limited", limit: "turns" },
  },
];

describe("nextAction", () => {
  it.each(ROWS.map((row) => [row.is, row] as const))("row %s", (_is, { events, rules, now = NOW, me, expected }) => {
    const action = nextAction(foldDrafts(events), { ...RULES, ...rules }, now, { ...ME, ...me });
    expect(named(action)).toEqual(expected);
  });

  it("has a case for each of the 20 rows", () => {
    const rows = new Set(ROWS.map(({ is }) => Number.parseInt(is, 10)));
    expect([...rows].sort((left, right) => left - right)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it("does not change what it is asked about", () => {
    for (const { events, rules, now = NOW, me } of ROWS) {
      const thread = foldDrafts(events);
      const before = JSON.stringify(thread);
      nextAction(thread, { ...RULES, ...rules }, now, { ...ME, ...me });
      expect(JSON.stringify(thread)).toBe(before);
    }
  });

  it("names every attempt of a call and of a turn differently", () => {
    expect(new Set([callKey("a", 1), callKey("a", 2), turnKey("a", 1, 1), turnKey("a", 1, 2)]).size).toBe(4);
  });

  it("asks the model again behind the run it left off in", () => {
    const log = [
      ...begun,
      ...wholeTurn(["a"]),
      allowed("a"),
      started("a"),
      succeeded("a"),
      turnStarted(2),
      turnEnded(2),
    ];
    const more = [ready("b", "plain", 2), allowed("b")];
    const action = nextAction(foldDrafts([...log, ...more]), RULES, NOW, ME);
    expect(named(action)).toEqual({ type: "start", run: "r", calls: ["b"] });
  });
});
