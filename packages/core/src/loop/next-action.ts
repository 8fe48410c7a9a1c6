import type { Rules } from "../agent/rules.ts";
import { toolRules } from "../agent/rules.ts";
import { grantOf } from "../protocol/reduce-call.ts";
import type { Call, Run, Thread, Turn } from "../protocol/thread.ts";
import { isSettled, openAsk, rootOf } from "../protocol/thread.ts";
import type { LimitName, RunOutcome } from "../protocol/values.ts";
import type { Action, Me } from "./action.ts";
import { callKey, turnKey } from "./action.ts";
import {
  failuresOf,
  gateRefusals,
  lastWhole,
  MAX_EVENTS,
  MAX_TURNS,
  repeatsEnd,
  repeatsOf,
  rulesFor,
  usedUp,
} from "./limits.ts";
import type { At, Open } from "./startable.ts";
import { startable, triesOf } from "./startable.ts";

/**
 * The only place that decides what happens next: pure, the first row that matches wins. Numbers are the
 * rows of docs/protocol.md. Resuming is not a special path: fold the log, ask again.
 */
export function nextAction(thread: Thread, rules: Rules, now: number, me: Me): Action {
  const root = rootOf(thread);
  if (!root && me.epoch !== null) return { type: "stop" }; // 3: another owner ended it
  if (!root) return hasUnread(thread) && goesOnAfter(lastRoot(thread)) ? { type: "start-run" } : { type: "rest" }; // 1
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
  const over = hardLimit(thread, rules, now, me);
  const denied = thread.active.some((run) => callsOf(run).some((call) => call.decision?.stop === true));
  if (root.stop || denied || over) {
    if (me.inFlight.size > 0) return me.aborting ? { type: "await", until: null } : { type: "abort" }; // 6
    if (root.stop) return end(root, "stopped"); // 7
    return denied ? end(root, "stopped", undefined, "denied") : end(root, "limited", over);
  }
  // Children of a running agent call are asked before their parent.
  const runs = thread.active.toReversed();
  for (const run of runs) {
    const expired = callsOf(run).filter((call) => isExpired(call, now));
    if (expired.length > 0) return { type: "expire", run, calls: expired }; // 8
  }
  const open: Open = { waiting: [], expiries: [], retries: [], queued: false };
  const at: At = { thread, root: rules, now, me, open };
  for (const run of runs) {
    const own = rulesFor(thread, run, rules);
    const action = own ? advance(at, run, own) : end(run, "failed", undefined, "tool-changed");
    if (action) return action;
  }
  return pause(at);
}

/** Rows 9 to 12 and 17 to 20 for one run; undefined when it can only wait. */
function advance(at: At, run: Run, rules: Rules): Action | undefined {
  const { thread, me, open } = at;
  const { turn } = run;
  const calls = callsOf(run);
  const lost = calls.filter((call) => isLost(thread, call, me));
  if (lost.length > 0) return recover(thread, run, lost, rules); // 9
  if (turn?.status === "ended") {
    if (rules.judgesTurns && !turn.judged && !turn.toolsOff) return { type: "judge-turn", run, turn }; // 10
    if (turn.judged?.verdict === "stop") return end(run, "completed", undefined, "stop-when");
    if (turn.judged?.verdict === "failed") return end(run, "failed", undefined, "hook-failed");
    if (calls.some((call) => stopsRun(call, rules))) {
      // Nothing new of this run; what runs comes to its end first.
      const runs = calls.some((call) => call.status === "running" && call.retryAt === undefined);
      return runs ? undefined : end(run, "stopped", undefined, "denied"); // 18
    }
    const unjudged = calls.filter((call) => call.status === "queued" && !call.verdict);
    if (unjudged.length > 0) {
      if (goesInCircles(run, rules)) return end(run, "limited", "repeats");
      return { type: "judge", run, calls: unjudged }; // 10
    }
    const ready = startable(calls, rules, at);
    if (ready.length > 0) return { type: "start", run, calls: ready }; // 11, 12
  }
  for (const call of calls) {
    const ask = openAsk(call);
    if (!ask) continue;
    open.waiting.push(call);
    if (ask.expiresAt !== undefined) open.expiries.push(ask.expiresAt);
  }
  if (calls.some((call) => !isSettled(call)) && turn?.status === "ended") return undefined;
  return turnAction(at, run, turn, rules);
}

/** Rows 13 to 16: nothing can be started. */
function pause({ thread, root, now, me, open }: At): Action {
  const retry = Math.min(...open.retries); // Infinity when there is none
  const next = Math.min(retry, ...open.expiries);
  const timeUp = now + root.limits.timeMs - activeMs(thread, now, me);
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

/**
 * Row 9: the driver that ran them is gone. What is safe to run again, and still allowed, runs again; a person decides
 * over the rest.
 */
function recover(thread: Thread, run: Run, lost: readonly Call[], rules: Rules): Action {
  const isAllowed = (grantId: string | undefined): boolean =>
    grantId === undefined || thread.grants.some((grant) => grant.grantId === grantId);
  const again = lost.filter((call) => {
    const tool = toolRules(rules, call.tool);
    return isAllowed(grantOf(call)) && tool?.idempotent === true && triesOf(call) <= tool.maxRetries;
  });
  return again.length > 0 ? { type: "start", run, calls: again } : { type: "interrupt", run, calls: lost };
}

/** Rows 17 to 20: the turn is over, or there is none yet. */
function turnAction(at: At, run: Run, turn: Turn | null, rules: Rules): Action | undefined {
  const { thread, now, me, open } = at;
  if (turn && turn.status !== "ended") {
    if (me.inFlight.has(turnKey(run.runId, turn.turn, turn.attempt))) return undefined;
    const cut = turn.status === "open"; // its request died without a word
    const isBounded = Number.isFinite(me.budgetLeftMs);
    // Without a limit only a server that died can have cut it off; one that it kills each time must not try for ever.
    if (cut && turn.cuts + 1 >= (isBounded ? 2 : Math.max(2, rules.modelAttempts))) {
      return end(run, "failed", undefined, isBounded ? "request-too-short" : "model-failed"); // 17
    }
    if (!cut && (turn.retryAt === undefined || turn.attempt >= rules.modelAttempts * rules.models)) {
      return end(run, "failed", undefined, turn.error?.code ?? "model-failed");
    }
    if (turn.retryAt !== undefined && turn.retryAt > now) {
      open.retries.push(turn.retryAt);
      return undefined;
    }
    return callModel(at, run, rules, turn.turn, turn.attempt + 1, turn.toolsOff ? lastLimit(run) : undefined);
  }
  const goesOn = !turn || turn.calls.length > 0 || turn.judged?.verdict === "again";
  if (goesOn || (run.depth === 0 && hasUnread(thread))) {
    const next = (turn?.turn ?? 0) + 1;
    const limit = reachedLimit(at, run, rules, next);
    if (limit && (run.limits.some(isLast) || rules.onLimit === "stop" || ENDS_AT_ONCE.includes(limit)))
      return end(run, "limited", limit);
    const last = limit ?? (next === turnLimit(run, rules) && rules.onLimit === "answer" ? "turns" : undefined);
    return callModel(at, run, rules, next, 1, last); // 19
  }
  // An answer that the model's own limit of length cut off is none that is whole.
  const limit = lastLimit(run) ?? (turn?.finishReason === "length" ? "tokens" : undefined);
  return limit ? end(run, "limited", limit) : end(run, "completed"); // 20
}

function callModel(
  { me, open }: At,
  run: Run,
  rules: Rules,
  turn: number,
  attempt: number,
  last: LimitName | undefined,
): Action | undefined {
  if (rules.modelTimeoutMs > me.budgetLeftMs) {
    open.queued = true;
    return undefined;
  }
  const repeats = rules.limits.repeats ? repeatsOf(run) : 0;
  const repeated = repeats > 0 && repeats % (rules.limits.repeats?.count ?? 1) === 0 ? repeats : undefined;
  return { type: "call-model", run, turn, attempt, last, repeated };
}

function end(run: Run, outcome: RunOutcome, limit?: LimitName, code?: string): Action {
  return { type: "end", run, outcome, limit, code };
}

/** What no last answer may follow: it would cost what is used up, or say the same again. */
const ENDS_AT_ONCE: readonly LimitName[] = ["tokens", "time", "repeats", "completion"];

/** The limit that forbids another turn with tools. */
function reachedLimit({ thread, root, now, me }: At, run: Run, rules: Rules, next: number): LimitName | undefined {
  const { limits } = rules;
  if (run.limits.some(isLast)) return lastLimit(run);
  if (run.depth > 0 && activeMs(thread, now, me) - run.activeFrom >= limits.timeMs) return "time";
  const used = usedUp(thread, run, root);
  if (used === "tokens") return used;
  if (goesInCircles(run, rules)) return "repeats";
  if (lastWhole(run)?.judged?.verdict === "again" && gateRefusals(run) > rules.gateAttempts) return "completion";
  if (next > turnLimit(run, rules)) return "turns";
  if (used) return used;
  return limits.failures && failuresOf(run, limits.failures.except) >= limits.failures.count ? "failures" : undefined;
}

function goesInCircles(run: Run, { limits }: Rules): boolean {
  return limits.repeats !== null && repeatsOf(run) >= repeatsEnd(limits);
}

/** What ends a run wherever it stands: its active time, or a log that takes no more. */
function hardLimit(thread: Thread, rules: Rules, now: number, me: Me): "time" | "log-size" | undefined {
  if (activeMs(thread, now, me) >= rules.limits.timeMs) return "time";
  return me.full || thread.seq >= MAX_EVENTS ? "log-size" : undefined;
}

function turnLimit(run: Run, rules: Rules): number {
  return Math.min(run.turnLimit ?? rules.limits.turns, MAX_TURNS);
}

function lastLimit(run: Run): LimitName | undefined {
  return run.limits.findLast(isLast)?.limit;
}

function isLast(reached: Run["limits"][number]): boolean {
  return reached.follows === "answer";
}

/** A person denied it, and the agent ends then; a denial that came with a message says that it goes on. */
function stopsRun(call: Call, rules: Rules): boolean {
  return call.decision?.action === "deny" && call.decision.stop === undefined && rules.onDenied === "stop";
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

function lastRoot(thread: Thread): Run | undefined {
  return thread.runs.findLast((run) => run.depth === 0);
}

/**
 * Whether an unread message begins another run by itself. After a stop or a failure it stays unsent until the person
 * sends again; so it does behind a run that never got to read, or the next one would end the same way, for ever.
 */
export function goesOnAfter(run: Pick<Run, "outcome" | "limit" | "turn"> | undefined): boolean {
  if (run?.outcome === "limited") return run.turn !== null && run.limit !== "log-size";
  return run === undefined || run.outcome === "completed";
}

/** True when nothing can happen before somebody writes: no stream stays open for that. */
export function isAtRest(thread: Thread): boolean {
  const root = rootOf(thread);
  return !root || (root.status === "waiting" && thread.driverId === null);
}

function activeMs(thread: Thread, now: number, me: Me): number {
  const running = me.epoch !== null && thread.activeAt > 0 ? Math.max(0, now - thread.activeAt) : 0;
  return thread.activeMs + running;
}
