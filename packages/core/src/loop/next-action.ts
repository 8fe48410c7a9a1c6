import type { Rules } from "../agent/rules.ts";
import type { Call, Run, Thread, Turn } from "../protocol/thread.ts";
import { isSettled, openAsk, rootOf } from "../protocol/thread.ts";
import type { LimitName, RunOutcome } from "../protocol/values.ts";

/** What the asking driver knows that the log does not. */
export interface Me {
  /** The epoch this driver opened; null when it owns nothing. */
  readonly epoch: number | null;
  /** What this driver is doing right now: `callKey` and `turnKey`. */
  readonly inFlight: ReadonlySet<string>;
  /** What is left of the request, Infinity without a limit. */
  readonly budgetLeftMs: number;
  /** The signals of what is in flight were aborted already. */
  readonly aborting: boolean;
}

/** What happens next. Those with a `run` act on that run. */
export type Action =
  | { readonly type: "rest" }
  | { readonly type: "refuse" }
  | { readonly type: "stop" }
  | { readonly type: "attach" }
  | { readonly type: "claim" }
  | { readonly type: "start-run" }
  | { readonly type: "abort" }
  | { readonly type: "await"; readonly until: number | null }
  | {
      readonly type: "end";
      readonly run: Run;
      readonly outcome: RunOutcome;
      readonly limit?: LimitName;
      readonly code?: string;
    }
  | { readonly type: "expire"; readonly run: Run; readonly calls: readonly Call[] }
  | { readonly type: "interrupt"; readonly run: Run; readonly calls: readonly Call[] }
  | { readonly type: "judge"; readonly run: Run; readonly calls: readonly Call[] }
  | { readonly type: "start"; readonly run: Run; readonly calls: readonly Call[] }
  | {
      readonly type: "call-model";
      readonly run: Run;
      readonly turn: number;
      readonly attempt: number;
      /** The limit that makes this the last, tool-less answer. */
      readonly last?: LimitName | undefined;
    }
  | { readonly type: "hand-over"; readonly dueAt?: number | undefined }
  | { readonly type: "sleep"; readonly until: number }
  | { readonly type: "wait"; readonly calls: readonly Call[]; readonly dueAt?: number | undefined };

/** Names one attempt of a call in `Me.inFlight`. */
export function callKey(callId: string, attempt: number): string {
  return `call ${callId}#${attempt}`;
}

/** Names one attempt of a turn in `Me.inFlight`. */
export function turnKey(runId: string, turn: number, attempt: number): string {
  return `turn ${runId}.${turn}#${attempt}`;
}

/**
 * The only place that decides what happens next: pure, the first row that matches wins. Numbers are the
 * rows of docs/protocol.md. Resuming is not a special path: fold the log, ask again.
 */
export function nextAction(thread: Thread, rules: Rules, now: number, me: Me): Action {
  const root = rootOf(thread);
  if (!root && me.epoch !== null) return { type: "stop" }; // 3: another owner ended it
  if (!root) return hasUnread(thread) && mayStartAgain(thread) ? { type: "start-run" } : { type: "rest" }; // 1
  if (thread.unknown) return { type: "refuse" }; // 2
  if (me.epoch !== null)
    return me.epoch === thread.epoch && thread.driverId !== null
      ? drive(thread, root, rules, now, me)
      : { type: "stop" }; // 3
  if (thread.driverId !== null) return { type: "attach" }; // 4
  return unowned(root, drive(thread, root, rules, now, { ...me, inFlight: new Set() }), now); // 5
}

/** Row 5: nobody drives. There is something to claim unless all there is to do is to wait. */
function unowned(root: Run, action: Action, now: number): Action {
  if (action.type === "wait") return root.status === "waiting" ? { type: "rest" } : { type: "claim" };
  if (action.type === "sleep" && action.until > now)
    return root.dueAt === undefined ? { type: "claim" } : { type: "rest" };
  if (action.type === "hand-over") return { type: "rest" }; // this request has no room for it either
  return { type: "claim" };
}

/** Rows 6 to 20, for the owner. */
function drive(thread: Thread, root: Run, rules: Rules, now: number, me: Me): Action {
  const overTime = activeMs(thread, now, me) >= rules.limits.timeMs;
  if (root.stop || overTime) {
    if (me.inFlight.size > 0) return me.aborting ? { type: "await", until: null } : { type: "abort" }; // 6
    return root.stop
      ? { type: "end", run: root, outcome: "stopped" }
      : { type: "end", run: root, outcome: "limited", limit: "time" }; // 7
  }
  // Children of a running agent call are asked before their parent.
  const runs = thread.active.toReversed();
  for (const run of runs) {
    const expired = callsOf(run).filter((call) => isExpired(call, now));
    if (expired.length > 0) return { type: "expire", run, calls: expired }; // 8
  }
  const open: Open = { waiting: [], expiries: [], retries: [], queued: false };
  for (const run of runs) {
    const action = advance(thread, run, rules, now, me, open);
    if (action) return action;
  }
  return pause(thread, rules, now, me, open);
}

/** What the runs leave to wait for when none of them can move. */
interface Open {
  readonly waiting: Call[];
  /** When the open questions run out. */
  readonly expiries: number[];
  /** When the next attempts of calls and turns are due. */
  readonly retries: number[];
  queued: boolean;
}

/** Rows 9 to 12 and 17 to 20 for one run; undefined when it can only wait. */
function advance(thread: Thread, run: Run, rules: Rules, now: number, me: Me, open: Open): Action | undefined {
  const calls = callsOf(run);
  const lost = calls.filter((call) => isLost(thread, call, me));
  if (lost.length > 0) return recover(run, lost, rules); // 9
  if (run.turn?.status === "ended") {
    const unjudged = calls.filter((call) => call.status === "queued" && !call.verdict);
    if (unjudged.length > 0) return { type: "judge", run, calls: unjudged }; // 10
    const ready = startable(calls, rules, now, me, open);
    if (ready.length > 0) return { type: "start", run, calls: ready }; // 11, 12
  }
  for (const call of calls) {
    const ask = openAsk(call);
    if (!ask) continue;
    open.waiting.push(call);
    if (ask.expiresAt !== undefined) open.expiries.push(ask.expiresAt);
  }
  if (calls.some((call) => !isSettled(call)) && run.turn?.status === "ended") return undefined;
  return turnAction(thread, run, run.turn, rules, now, me, open);
}

/** Rows 13 to 16: nothing can be started. */
function pause(thread: Thread, rules: Rules, now: number, me: Me, open: Open): Action {
  const retry = Math.min(...open.retries); // Infinity when there is none
  const next = Math.min(retry, ...open.expiries);
  const timeUp = now + rules.limits.timeMs - activeMs(thread, now, me);
  if (me.inFlight.size > 0) {
    return { type: "await", until: Math.min(next, timeUp) }; // 13
  }
  if (open.queued) return { type: "hand-over" }; // 14
  if (Number.isFinite(retry)) {
    return next - now > me.budgetLeftMs
      ? { type: "hand-over", dueAt: next }
      : { type: "sleep", until: Math.min(next, timeUp) }; // 14, 15
  }
  return { type: "wait", calls: open.waiting, dueAt: Number.isFinite(next) ? next : undefined }; // 16
}

/** Row 9: the driver that ran them is gone. What is safe to run again runs again; a person decides over the rest. */
function recover(run: Run, lost: readonly Call[], rules: Rules): Action {
  const again = lost.filter((call) => {
    const tool = rules.tools[call.tool];
    return tool?.idempotent === true && call.attempt <= tool.maxRetries;
  });
  return again.length > 0 ? { type: "start", run, calls: again } : { type: "interrupt", run, calls: lost };
}

/** Rows 11 and 12: approved or allowed calls that may start now, and attempts whose time has come. */
function startable(calls: readonly Call[], rules: Rules, now: number, me: Me, open: Open): readonly Call[] {
  if (rules.holdTurn && calls.some((call) => openAsk(call))) return [];
  const retries = calls.filter((call) => call.status === "running" && call.retryAt !== undefined);
  for (const call of retries) if ((call.retryAt ?? 0) > now) open.retries.push(call.retryAt ?? 0);
  const wanted = [...retries.filter((call) => (call.retryAt ?? 0) <= now), ...calls.filter(isQueued)];
  const running = calls.filter((call) => call.status === "running" && call.retryAt === undefined);
  const started: Call[] = [];
  for (const call of wanted) {
    const tool = rules.tools[call.tool];
    const busy = [...running, ...started];
    const alone = tool?.sequential || busy.some((other) => rules.tools[other.tool]?.sequential);
    if (busy.length >= rules.concurrency || (alone && busy.length > 0)) break;
    if ((tool?.timeoutMs ?? 0) > me.budgetLeftMs) open.queued = true;
    else started.push(call);
  }
  return started;
}

/** Rows 17 to 20: the turn is over, or there is none yet. */
function turnAction(
  thread: Thread,
  run: Run,
  turn: Turn | null,
  rules: Rules,
  now: number,
  me: Me,
  open: Open,
): Action | undefined {
  const attempts = rules.modelAttempts;
  if (turn && turn.status !== "ended") {
    if (me.inFlight.has(turnKey(run.runId, turn.turn, turn.attempt))) return undefined;
    const cut = turn.status === "open"; // its request died without a word
    if (cut && turn.cuts > 0) return { type: "end", run, outcome: "failed", code: "request-too-short" }; // 17
    if (!cut && (turn.retryAt === undefined || turn.attempt >= attempts)) {
      return { type: "end", run, outcome: "failed", code: turn.error?.code ?? "model-failed" };
    }
    if (turn.retryAt !== undefined && turn.retryAt > now) {
      open.retries.push(turn.retryAt);
      return undefined;
    }
    return callModel(run, turn.turn, turn.attempt + 1, turn.toolsOff ? lastLimit(run) : undefined, rules, me, open);
  }
  const calls = turn?.calls ?? [];
  if (calls.some((call) => stopsRun(call, rules))) return { type: "end", run, outcome: "stopped", code: "denied" }; // 18
  if (!turn || calls.length > 0 || (run.depth === 0 && hasUnread(thread))) {
    const next = (turn?.turn ?? 0) + 1;
    const limit = reachedLimit(run, next, rules);
    if (limit && (run.limits.length > 0 || rules.onLimit === "stop"))
      return { type: "end", run, outcome: "limited", limit };
    const last = limit ?? (next === turnLimit(run, rules) && rules.onLimit === "answer" ? "turns" : undefined);
    return callModel(run, next, 1, last, rules, me, open); // 19
  }
  const limit = lastLimit(run);
  return limit ? { type: "end", run, outcome: "limited", limit } : { type: "end", run, outcome: "completed" }; // 20
}

function callModel(
  run: Run,
  turn: number,
  attempt: number,
  last: LimitName | undefined,
  rules: Rules,
  me: Me,
  open: Open,
): Action | undefined {
  if (rules.modelTimeoutMs > me.budgetLeftMs) {
    open.queued = true;
    return undefined;
  }
  return { type: "call-model", run, turn, attempt, last };
}

/** The limit that forbids another turn with tools. */
function reachedLimit(run: Run, next: number, rules: Rules): LimitName | undefined {
  if (run.limits.some((reached) => reached.follows === "answer")) return lastLimit(run);
  if (next > turnLimit(run, rules)) return "turns";
  if (run.callCount >= rules.limits.calls) return "calls";
  return undefined;
}

function turnLimit(run: Run, rules: Rules): number {
  return run.turnLimit ?? rules.limits.turns;
}

function lastLimit(run: Run): LimitName | undefined {
  return run.limits.findLast((reached) => reached.follows === "answer")?.limit;
}

function stopsRun(call: Call, rules: Rules): boolean {
  if (call.decision?.action !== "deny") return false;
  return rules.onDenied === "stop" || call.decision.stop === true;
}

function isQueued(call: Call): boolean {
  return call.status === "queued" && call.verdict !== null;
}

function isExpired(call: Call, now: number): boolean {
  const ask = openAsk(call);
  return ask?.expiresAt !== undefined && ask.expiresAt <= now;
}

/** Running by the log, but not here, not about to be retried, and not a parent whose child still runs. */
function isLost(thread: Thread, call: Call, me: Me): boolean {
  if (call.status !== "running" || call.retryAt !== undefined) return false;
  if (me.inFlight.has(callKey(call.callId, call.attempt))) return false;
  return !thread.active.some((run) => run.parentCallId === call.callId);
}

/** Only the current turn's calls can be open. */
function callsOf(run: Run): readonly Call[] {
  return run.turn?.calls ?? [];
}

/** Messages the model has not read. */
export function hasUnread(thread: Thread): boolean {
  const last = thread.messages.at(-1);
  return last !== undefined && last.seq > thread.consumedSeq;
}

/** After a stop or a failure an unread message stays unsent until the person sends again. */
function mayStartAgain(thread: Thread): boolean {
  const outcome = thread.runs.findLast((run) => run.depth === 0)?.outcome;
  return outcome !== "stopped" && outcome !== "failed";
}

function activeMs(thread: Thread, now: number, me: Me): number {
  const running = me.epoch !== null && thread.activeAt > 0 ? Math.max(0, now - thread.activeAt) : 0;
  return thread.activeMs + running;
}
