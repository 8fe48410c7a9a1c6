import { describe, expect, it } from "vitest";
import type { Rules } from "../../src/agent/rules.ts";
import type { Action, Me } from "../../src/loop/action.ts";
import { callKey, turnKey } from "../../src/loop/action.ts";
import { MAX_EVENTS } from "../../src/loop/limits.ts";
import { isAtRest, nextAction } from "../../src/loop/next-action.ts";
import type { Draft } from "./small-log.ts";
import {
  allowed,
  asked,
  begun,
  callFailed,
  childStarted,
  decided,
  doneTurn,
  ended,
  foldDrafts,
  handedOver,
  inRun,
  interrupted,
  limitReached,
  message,
  notRun,
  questioned,
  ready,
  runStarted,
  started,
  stopRequested,
  succeeded,
  turnEnded,
  turnFailed,
  turnJudged,
  turnStarted,
  waiting,
  wholeTurn,
} from "./small-log.ts";
import { RULES, TOOL } from "./small-rules.ts";

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
  const { run, calls, turn, ...rest } = { run: undefined, calls: undefined, turn: undefined, ...action };
  const named = {
    ...rest,
    run: run?.runId,
    calls: calls?.map((call) => call.callId),
    turn: typeof turn === "object" ? turn.turn : turn,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function inFlight(...keys: readonly string[]): Partial<Me> {
  return { inFlight: new Set(keys) };
}

const askedTurn = [...begun, ...wholeTurn(["a"]), ...asked("a")];
const runningTurn = [...begun, ...wholeTurn(["a"]), allowed("a"), started("a")];

/** Two questions and their answers on the way of a call: its next start is the third. */
const answered = (callId: string): readonly Draft[] => [
  started(callId),
  ...questioned(callId),
  decided(callId, "answer"),
  started(callId, 2),
  ...questioned(callId),
  decided(callId, "answer"),
];
/** The call `a` is a sub-agent at work. */
const childTurn: readonly Draft[] = [...runningTurn, childStarted()];
const AGENT: Partial<Rules> = { tools: { plain: { ...TOOL, kind: "agent", agent: RULES } } };
/** One tool asks a person, one the browser. */
const ASKING: Partial<Rules> = {
  tools: { plain: TOOL, quiz: { ...TOOL, kind: "question" }, page: { ...TOOL, kind: "browser" } },
};
/** Somebody denies a call of the sub-agent. */
const childDenied = (stop?: true): readonly Draft[] => [
  ...childTurn,
  ...inRun("child", ...wholeTurn(["b"]), ...asked("b"), decided("b", "deny", stop), notRun("b", "denied")),
];
/** Turns that ask for the same call each. */
const same = (turns: number): readonly Draft[] =>
  Array.from({ length: turns }, (_, index) => doneTurn(index + 1, { callId: `c${index}`, input: 1 })).flat();
const failing = (turns: number): readonly Draft[] =>
  Array.from({ length: turns }, (_, index) =>
    doneTurn(index + 1, { callId: `c${index}`, input: index, outcome: "failed" }),
  ).flat();
/** The first turn is over and took ten tokens. */
const tenTokens: readonly Draft[] = [
  turnStarted(),
  turnEnded(1, 1, "stop", { inputTokens: 6, outputTokens: 4 }),
  ready("a"),
  allowed("a"),
  started("a"),
  succeeded("a"),
];
/** A sub-agent that may take a second, and began at five. */
const childAt5s: readonly Draft[] = [
  ...begun,
  ...wholeTurn(["a"]),
  allowed("a"),
  { ...started("a"), at: 5_000 },
  { ...childStarted(), at: 5_000 },
];
const brief: Partial<Rules> = {
  tools: { plain: { ...TOOL, kind: "agent", agent: { ...RULES, limits: { ...RULES.limits, timeMs: 1_000 } } } },
};
/** The same, with another limit. */
function limits(changed: Partial<Rules["limits"]>, more: Partial<Rules> = {}): Partial<Rules> {
  return { limits: { ...RULES.limits, ...changed }, ...more };
}

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
    is: "1: a message is unread behind a run whose limit it was to never read it",
    events: [...begun, ended("limited", "time")],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "1: a message is unread and the log takes no more",
    events: [...begun, ...wholeTurn(), ended("limited", "log-size"), message()],
    me: NOBODY,
    expected: { type: "rest" },
  },
  {
    is: "1: a message for which nobody started a run",
    events: begun.slice(0, 2),
    me: NOBODY,
    expected: { type: "start-run" },
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
    is: "5: it waits for a person, for longer than its active time may be",
    events: [...askedTurn, waiting()],
    now: 900_000,
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
    is: "6: a person denied under a sub-agent and said stop, while a call beside it runs",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["c", "quick"]),
      ...[allowed("a"), allowed("c"), started("a"), started("c"), childStarted()],
      ...inRun("child", ...wholeTurn(["b"]), ...asked("b"), decided("b", "deny", true), notRun("b", "denied")),
    ],
    rules: { tools: { ...AGENT.tools, quick: TOOL } },
    me: inFlight(callKey("c", 1)),
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
    is: "7: active time is over at its last millisecond",
    events: begun,
    now: TIME_UP,
    expected: { type: "end", run: "r", outcome: "limited", limit: "time" },
  },
  {
    is: "7: active time is over a millisecond later",
    events: begun,
    now: TIME_UP - 1,
    expected: { type: "call-model", run: "r", turn: 1, attempt: 1 },
  },
  {
    is: "7: a person denied and said stop: nothing of the turn goes on",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"], ["c"]),
      ...[...asked("a"), allowed("b"), ...asked("c"), decided("a", "deny", true), notRun("a", "denied")],
    ],
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "7: denied comes before limited",
    events: [...askedTurn, decided("a", "deny", true), notRun("a", "denied")],
    now: 400_000,
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "7: stopped comes before denied",
    events: [...askedTurn, decided("a", "deny", true), notRun("a", "denied"), stopRequested()],
    expected: { type: "end", run: "r", outcome: "stopped" },
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
    is: "9: an idempotent call has its last attempt left",
    events: [...begun, ...wholeTurn(["a", "safe"]), allowed("a"), started("a"), started("a", 2)],
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "9: starts that an answer began are no attempts",
    events: [...begun, ...wholeTurn(["a", "safe"]), allowed("a"), ...answered("a"), started("a", 3), started("a", 4)],
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "9: those after the answer are",
    events: [
      ...begun,
      ...wholeTurn(["a", "safe"]),
      ...[allowed("a"), ...answered("a"), started("a", 3), started("a", 4), started("a", 5)],
    ],
    expected: { type: "interrupt", run: "r", calls: ["a"] },
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
    events: [...runningTurn, childStarted()],
    rules: { tools: { plain: { ...TOOL, kind: "agent", agent: RULES } } },
    expected: { type: "call-model", run: "child", turn: 1, attempt: 1 },
  },
  {
    is: "9: an agent's call is not lost while its child's model call is in flight",
    events: [...childTurn, ...inRun("child", turnStarted())],
    rules: AGENT,
    me: inFlight(turnKey("child", 1, 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "9: an agent's call whose child ended is lost",
    events: [...childTurn, ...inRun("child", ended("failed"))],
    rules: AGENT,
    expected: { type: "interrupt", run: "r", calls: ["a"] },
  },
  {
    is: "9: the agent of a child is gone",
    events: childTurn,
    expected: { type: "end", run: "child", outcome: "failed", code: "tool-changed" },
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
    is: "10: whole turns are shown to the app's conditions before their calls are judged",
    events: [...begun, ...wholeTurn(["a"])],
    rules: { judgesTurns: true },
    expected: { type: "judge-turn", run: "r", turn: 1 },
  },
  {
    is: "10: a turn without calls is shown to them too",
    events: [...begun, ...wholeTurn()],
    rules: { judgesTurns: true },
    expected: { type: "judge-turn", run: "r", turn: 1 },
  },
  {
    is: "10: they are asked once",
    events: [...begun, ...wholeTurn(["a"]), turnJudged("pass")],
    rules: { judgesTurns: true },
    expected: { type: "judge", run: "r", calls: ["a"] },
  },
  {
    is: "10: they are not asked about a last answer",
    events: [...begun, limitReached(), turnStarted(1, 1, true), turnEnded()],
    rules: { judgesTurns: true },
    expected: { type: "end", run: "r", outcome: "limited", limit: "turns" },
  },
  {
    is: "10: they say stop: nothing of the turn runs",
    events: [...begun, ...wholeTurn(["a"]), turnJudged("stop")],
    rules: { judgesTurns: true },
    expected: { type: "end", run: "r", outcome: "completed", code: "stop-when" },
  },
  {
    is: "10: they fail: nothing of the turn runs",
    events: [...begun, ...wholeTurn(["a"]), turnJudged("failed")],
    rules: { judgesTurns: true },
    expected: { type: "end", run: "r", outcome: "failed", code: "hook-failed" },
  },
  {
    is: "10: calls that repeat too often are not judged",
    events: [...begun, ...same(1), turnStarted(2), turnEnded(2), ready("a", "plain", 2, 1)],
    rules: limits({ repeats: { count: 2, follows: "stop" } }),
    expected: { type: "end", run: "r", outcome: "limited", limit: "repeats" },
  },
  {
    is: "10: calls that may repeat once more are",
    events: [...begun, ...same(1), turnStarted(2), turnEnded(2), ready("a", "plain", 2, 1)],
    rules: limits({ repeats: { count: 3, follows: "stop" } }),
    expected: { type: "judge", run: "r", calls: ["a"] },
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
    is: "11: holdTurn does not hold what began before: a call that was answered on its way",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"], ["c"]),
      ...[allowed("a"), ...asked("b"), allowed("c"), started("a"), ...questioned("a"), decided("a", "answer")],
    ],
    rules: { holdTurn: true },
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "11: holdTurn does not hold what began before: the next attempt of a call",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      ...[allowed("a"), ...asked("b"), started("a"), callFailed("a", 1, NOW)],
    ],
    rules: { holdTurn: true },
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "11: where a turn is held its questions are asked before anything runs",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b", "quiz"], ["c", "page"]),
      ...[allowed("a"), allowed("b"), allowed("c")],
    ],
    rules: { holdTurn: true, ...ASKING },
    expected: { type: "start", run: "r", calls: ["b", "c"] },
  },
  {
    is: "11: where it is held, a call of a tool that is gone is no question",
    events: [...begun, ...wholeTurn(["a", "gone"], ["b", "quiz"]), allowed("a"), allowed("b")],
    rules: { holdTurn: true, ...ASKING },
    expected: { type: "start", run: "r", calls: ["b"] },
  },
  {
    is: "11: where no turn is held, questions are asked while the rest runs",
    events: [...begun, ...wholeTurn(["a"], ["b", "quiz"]), allowed("a"), allowed("b")],
    rules: ASKING,
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
    is: "11: what takes as long as the request still lasts starts",
    events: [...begun, ...wholeTurn(["a"]), allowed("a")],
    me: { budgetLeftMs: 60_000 },
    expected: { type: "start", run: "r", calls: ["a"] },
  },
  {
    is: "11: a call that waits for its next attempt takes no place",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      ...[allowed("a"), allowed("b"), started("a"), callFailed("a", 1, NOW + 500)],
    ],
    rules: { concurrency: 1 },
    expected: { type: "start", run: "r", calls: ["b"] },
  },
  {
    is: "11: a call of a tool that is gone starts, and so does one beside it",
    events: [
      ...begun,
      ...wholeTurn(["a", "gone"], ["b", "gone"], ["c"]),
      ...[allowed("a"), allowed("b"), allowed("c"), started("a")],
    ],
    me: inFlight(callKey("a", 1)),
    expected: { type: "start", run: "r", calls: ["b", "c"] },
  },
  {
    is: "11: nothing starts beside a call that became sequential while others ran",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b", "alone"], ["c"]),
      ...[allowed("a"), allowed("b"), allowed("c"), started("a"), started("b")],
    ],
    me: inFlight(callKey("a", 1), callKey("b", 1)),
    expected: { type: "await", until: TIME_UP },
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
    is: "12: a retry that is due waits for the sequential call that runs",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b", "alone"]),
      ...[allowed("a"), allowed("b"), started("a"), callFailed("a", 1, NOW), started("b")],
    ],
    me: inFlight(callKey("b", 1)),
    expected: { type: "await", until: TIME_UP },
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
    is: "14: a retry is due at the request's last millisecond: it is waited for",
    events: [...begun, ...wholeTurn(["a", "quick"]), allowed("a"), started("a"), callFailed("a", 1, NOW + 5_000)],
    me: { budgetLeftMs: 5_000 },
    expected: { type: "sleep", until: NOW + 5_000 },
  },
  {
    is: "15: active time is over before the retry is due",
    events: [...runningTurn, callFailed("a", 1, TIME_UP + 1)],
    expected: { type: "sleep", until: TIME_UP },
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
    is: "16: it is due when the only question that runs out does",
    events: [...begun, ...wholeTurn(["a"], ["b"]), ...asked("a"), ...asked("b", NOW + 500)],
    expected: { type: "wait", calls: ["a", "b"], dueAt: NOW + 500 },
  },
  {
    is: "16: an interrupted call is open although a retry of it was due",
    events: [...runningTurn, callFailed("a", 1, NOW), interrupted("a")],
    expected: { type: "wait", calls: ["a"] },
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
    is: "17: it was cut off while the model wrote a call",
    events: [
      ...begun,
      turnStarted(),
      { type: "call-proposed", runId: "r", epoch: 1, callId: "a", turn: 1, attempt: 1, name: "plain" },
    ],
    expected: { type: "call-model", run: "r", turn: 1, attempt: 2 },
  },
  {
    is: "17: it was cut off twice, and requests have no limit",
    events: [...begun, turnStarted(), turnStarted(1, 2)],
    expected: { type: "call-model", run: "r", turn: 1, attempt: 3 },
  },
  {
    is: "17: it was cut off as often as a model may fail, and requests have no limit",
    events: [...begun, turnStarted(), turnStarted(1, 2), turnStarted(1, 3)],
    expected: { type: "end", run: "r", outcome: "failed", code: "model-failed" },
  },
  {
    is: "17: it was cut off twice",
    events: [...begun, turnStarted(), turnStarted(1, 2)],
    me: { budgetLeftMs: 60_000 },
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
    is: "17: the run ends with the code of the last attempt",
    events: [...begun, turnStarted(), turnFailed(1, 1, undefined, "model-timed-out")],
    expected: { type: "end", run: "r", outcome: "failed", code: "model-timed-out" },
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
    is: "18: a person denied, and the model goes on",
    events: [...askedTurn, decided("a", "deny"), notRun("a", "denied")],
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "18: a denial under a sub-agent ends that one where it is to end at denials",
    events: childDenied(),
    rules: { tools: { plain: { ...TOOL, kind: "agent", agent: { ...RULES, onDenied: "stop" } } } },
    expected: { type: "end", run: "child", outcome: "stopped", code: "denied" },
  },
  {
    is: "18: a person who denies and says stop under a sub-agent means the whole",
    events: childDenied(true),
    rules: AGENT,
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "18: what a policy blocked is no denial",
    events: [...begun, ...wholeTurn(["a"]), notRun("a", "blocked")],
    rules: { onDenied: "stop" },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "18: where a denial ends the run, what runs comes to its end first",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      ...[...asked("a"), allowed("b"), started("b"), decided("a", "deny"), notRun("a", "denied")],
    ],
    rules: { onDenied: "stop" },
    me: inFlight(callKey("b", 1)),
    expected: { type: "await", until: TIME_UP },
  },
  {
    is: "18: where a denial ends the run, nothing new of it starts",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"], ["c"], ["d"]),
      ...[...asked("a"), allowed("b"), ...asked("c"), decided("a", "deny"), notRun("a", "denied")],
    ],
    rules: { onDenied: "stop" },
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "18: a denial that came with a message ends nothing",
    events: [...askedTurn, decided("a", "deny", false), notRun("a", "denied")],
    rules: { onDenied: "stop" },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "18: an approval ends nothing",
    events: [...askedTurn, decided("a", "approve"), started("a"), succeeded("a")],
    rules: { onDenied: "stop" },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
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
    is: "19: whoever continued the run said how many turns it may take",
    events: [...begun.slice(0, 2), { ...runStarted(), turnLimit: 1 } as Draft], // of its kind
    expected: { type: "call-model", run: "r", turn: 1, attempt: 1, last: "turns" },
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
    is: "19: a model call that may take as long as the request still lasts begins",
    events: begun,
    me: { budgetLeftMs: 60_000 },
    expected: { type: "call-model", run: "r", turn: 1, attempt: 1 },
  },
  {
    is: "19: the gate asked for another answer",
    events: [...begun, ...wholeTurn(), turnJudged("again")],
    rules: { judgesTurns: true, gateAttempts: 1 },
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "19: the gate asked for another answer once too often",
    events: [...begun, ...wholeTurn(), turnJudged("again"), ...doneTurn(2), turnJudged("again", 2)],
    rules: { judgesTurns: true, gateAttempts: 1 },
    expected: { type: "end", run: "r", outcome: "limited", limit: "completion" },
  },
  {
    is: "19: how often the gate refused says nothing once a turn passed",
    events: [
      ...begun,
      ...[...wholeTurn(), turnJudged("again"), ...doneTurn(2), turnJudged("again", 2)],
      ...[...doneTurn(3, { callId: "a" }), turnJudged("pass", 3)],
    ],
    rules: { judgesTurns: true, gateAttempts: 1 },
    expected: { type: "call-model", run: "r", turn: 4, attempt: 1 },
  },
  {
    is: "19: tokens are used up: there is no last answer",
    events: [...begun, ...tenTokens],
    rules: limits({ tokens: 10 }),
    expected: { type: "end", run: "r", outcome: "limited", limit: "tokens" },
  },
  {
    is: "19: tokens are named before turns",
    events: [...begun, ...tenTokens],
    rules: limits({ tokens: 10, turns: 1 }),
    expected: { type: "end", run: "r", outcome: "limited", limit: "tokens" },
  },
  {
    is: "19: a token is left",
    events: [...begun, ...tenTokens],
    rules: limits({ tokens: 11 }),
    expected: { type: "call-model", run: "r", turn: 2, attempt: 1 },
  },
  {
    is: "19: what may still be used is that of the outermost agent too",
    events: childTurn,
    rules: { ...AGENT, ...limits({ calls: 1 }) },
    expected: { type: "call-model", run: "child", turn: 1, attempt: 1, last: "calls" },
  },
  {
    is: "19: a sub-agent's own time is over",
    events: childAt5s,
    rules: brief,
    now: 6_000,
    expected: { type: "end", run: "child", outcome: "limited", limit: "time" },
  },
  {
    is: "19: a sub-agent's own time is not over",
    events: childAt5s,
    rules: brief,
    now: 5_999,
    expected: { type: "call-model", run: "child", turn: 1, attempt: 1 },
  },
  {
    is: "19: the model hears of repetitions at their count",
    events: [...begun, ...same(3)],
    expected: { type: "call-model", run: "r", turn: 4, attempt: 1, repeated: 3 },
  },
  {
    is: "19: it does not hear of them in between",
    events: [...begun, ...same(4)],
    expected: { type: "call-model", run: "r", turn: 5, attempt: 1 },
  },
  {
    is: "19: the run ends at twice the count, even where nothing of it was judged",
    events: [...begun, ...same(5), ...doneTurn(6, { callId: "a", input: 1, outcome: "not-run" })],
    expected: { type: "end", run: "r", outcome: "limited", limit: "repeats" },
  },
  {
    is: "19: repetitions that are only noted down are, each time",
    events: [...begun, ...same(6)],
    rules: limits({ repeats: { count: 3, follows: "warn" } }),
    expected: { type: "call-model", run: "r", turn: 7, attempt: 1, repeated: 6 },
  },
  {
    is: "19: repetitions do not count where nobody wants to know",
    events: [...begun, ...same(6)],
    rules: limits({ repeats: null }),
    expected: { type: "call-model", run: "r", turn: 7, attempt: 1 },
  },
  {
    is: "19: calls failed too often in a row",
    events: [...begun, ...failing(3)],
    expected: { type: "call-model", run: "r", turn: 4, attempt: 1, last: "failures" },
  },
  {
    is: "19: calls may fail once more",
    events: [...begun, ...failing(2)],
    expected: { type: "call-model", run: "r", turn: 3, attempt: 1 },
  },
  {
    is: "19: failures do not count where nobody wants to know",
    events: [...begun, ...failing(3)],
    rules: limits({ failures: null }),
    expected: { type: "call-model", run: "r", turn: 4, attempt: 1 },
  },
  {
    is: "19: a run that gave its last answer takes no other turn, though its limit would allow one by now",
    events: [...begun, limitReached("failures"), turnStarted(1, 1, true), message(), turnEnded()],
    expected: { type: "end", run: "r", outcome: "limited", limit: "failures" },
  },
  {
    is: "19: a message is for the outermost agent, not for one below it",
    events: [...childTurn, ...inRun("child", turnStarted()), message(), ...inRun("child", turnEnded())],
    rules: AGENT,
    expected: { type: "end", run: "child", outcome: "completed" },
  },
  {
    is: "18: an agent that stops at a denial does not wait for the retry of another call",
    events: [
      ...begun,
      ...wholeTurn(["a"], ["b"]),
      ...asked("a"),
      allowed("b"),
      started("b"),
      callFailed("b", 1, NOW + 500),
      decided("a", "deny"),
      notRun("a", "denied"),
    ],
    rules: { onDenied: "stop" },
    expected: { type: "end", run: "r", outcome: "stopped", code: "denied" },
  },
  {
    is: "20: the turn asked for nothing",
    events: [...begun, ...wholeTurn()],
    expected: { type: "end", run: "r", outcome: "completed" },
  },
  {
    is: "20: the model's own limit of length cut the answer off",
    events: [...begun, turnStarted(), turnEnded(1, 1, "length")],
    expected: { type: "end", run: "r", outcome: "limited", limit: "tokens" },
  },
  {
    is: "20: a limit that was only noted down leaves the run completed",
    events: [...begun, limitReached("repeats", "note"), ...wholeTurn()],
    expected: { type: "end", run: "r", outcome: "completed" },
  },
  {
    is: "20: an answer that passed the gate",
    events: [...begun, ...wholeTurn(), turnJudged("pass")],
    rules: { judgesTurns: true, gateAttempts: 1 },
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

  it("7: a log that is full takes no more work", () => {
    const thread = foldDrafts(begun);
    const full = { type: "end", run: "r", outcome: "limited", limit: "log-size" };
    expect(named(nextAction({ ...thread, seq: MAX_EVENTS }, RULES, NOW, ME))).toEqual(full);
    expect(nextAction({ ...thread, seq: MAX_EVENTS - 1 }, RULES, NOW, ME).type).toBe("call-model");
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

describe("isAtRest", () => {
  it.each<[string, readonly Draft[], boolean]>([
    ["a thread without a run is", begun.slice(0, 2), true],
    ["a run that ended is", [...begun, ended()], true],
    ["a run that waits is", [...askedTurn, waiting()], true],
    ["a run that somebody drives is not", askedTurn, false],
    ["a run that was handed over is not", [...askedTurn, handedOver()], false],
    ["a run whose question was answered is not", [...askedTurn, waiting(), decided("a", "approve")], false],
    [
      "a run that waits and was claimed is not",
      [...askedTurn, waiting(), { type: "run-resumed", runId: "r", epoch: 2, driverId: "e", why: "takeover" }],
      false,
    ],
  ])("%s", (_title, drafts, rests) => {
    expect(isAtRest(foldDrafts(drafts))).toBe(rests);
  });
});
