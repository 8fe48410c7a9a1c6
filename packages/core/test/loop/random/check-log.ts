import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { reduceThread } from "../../../src/protocol/reduce-thread.ts";
import { emptyThread } from "../../../src/protocol/thread.ts";
import { checkDecision, checkSettlement, checkWaiting } from "./check-call.ts";
import { checkCallBegin, checkCallStart } from "./check-call-start.ts";
import { checkGrant } from "./check-grant.ts";
import { checkTurnJudged, checkTurnStart } from "./check-turn-start.ts";
import { expectedJudgement } from "./expected-judgement.ts";
import { repeatsEnd, repeatsOf } from "./expected-limits.ts";
import type { CallFacts, EventOf, LogFacts, RunFacts, TurnFacts } from "./log-facts.ts";
import { callsOf, newCall, newTurn } from "./log-facts.ts";
import type { Seen } from "./seen.ts";
import type { Fail } from "./violation.ts";

/** Reads the log event by event, without the reducer, and says which event breaks a rule. */
export function checkLog(seen: Seen, report: Fail): LogFacts {
  const runs = new Map<string, RunFacts>();
  const calls = new Map<string, CallFacts>();
  const drafts = new Map<string, string>();
  const drivers = new Map<number, string>();
  const revoked = new Set<string>();
  const log: LogFacts = { runs, calls, drafts, drivers, events: seen.events, seq: 0, activeMs: 0 };
  let epoch = 0;
  let epochAt: number | undefined;

  for (const event of seen.events) {
    const fail: Fail = (invariant, message) => report(invariant, `${message} (event ${event.seq} ${event.type})`);
    if (event.epoch !== undefined && event.epoch > epoch) {
      epoch = event.epoch;
      epochAt = undefined;
    }
    log.seq = event.seq;
    if (event.type === "run-started" && event.depth === 0) log.activeMs = 0;
    if (event.epoch !== undefined && "driverId" in event && event.driverId) drivers.set(event.epoch, event.driverId);
    if (event.epoch === epoch) {
      log.activeMs += epochAt === undefined ? 0 : Math.max(0, event.at - epochAt);
      epochAt = event.at;
    }
    read(event, fail);
  }
  let thread = emptyThread(seen.threadId);
  for (const event of seen.events) {
    const { anomalies } = thread;
    thread = reduceThread(thread, event);
    if (thread.anomalies > anomalies) report("settles", `the reducer does not take event ${event.seq} ${event.type}`);
  }
  for (const [runId, run] of runs) if (!run.ended) report("ends", `${runId} never ends`);
  for (const [callId, call] of calls) if (!call.settled) report("settles", `${callId} is never settled`);
  return log;

  /** Finds what the event is about; an event about an ended run breaks a rule whatever it is. */
  function read(event: ThreadEvent, fail: Fail): void {
    if (event.type === "run-started") {
      startRun(event, fail);
      return;
    }
    if (event.type === "thread-created" || event.type === "message-added" || event.type === "thread-renamed") return;
    if (event.type === "grant-revoked") {
      revoked.add(event.grantId);
      for (const call of calls.values()) if (!call.running && !call.ask) askAnew(call);
      return;
    }
    const run = runs.get(event.runId ?? "");
    if (!run) {
      fail("ends", "an event of no run");
      return;
    }
    if (run.ended) {
      fail("ends", "an event of a run that ended");
      return;
    }
    if ("callId" in event && event.callId !== undefined) {
      onCall(event, event.callId, run, fail);
      return;
    }
    onRun(event, run, fail);
  }

  function startRun(event: EventOf<"run-started">, fail: Fail): void {
    const runId = event.runId ?? "";
    const parent = calls.get(event.parentCallId ?? "");
    if (runs.has(runId)) fail("ends", "a run starts twice");
    const active = [...runs.values()].filter((run) => !run.ended);
    if (event.depth === 0 && active.length > 0) fail("ends", "a run starts beside another one");
    const plan = event.depth === 0 ? seen.plan.agent : parent?.plan?.kind === "agent" ? parent.plan.agent : undefined;
    if (!plan || event.depth > 0 !== (parent !== undefined)) {
      fail("ends", "a run of no agent");
      return;
    }
    const run: RunFacts = {
      ...{ started: event, plan, parent, activeFrom: event.depth === 0 ? 0 : log.activeMs },
      ...{ turns: [], stops: [], limits: [], children: [], ended: undefined },
    };
    runs.set(runId, run);
    if (!parent) return;
    if (!parent.running || parent.child) fail("refused", "a sub-agent starts, and its call does not run");
    if (event.depth !== parent.run.started.depth + 1)
      fail("limits", `depth ${event.depth} below ${parent.run.started.depth}`);
    if (event.depth > seen.plan.agent.limits.depth) fail("limits", `depth ${event.depth}`);
    parent.child = run;
    parent.run.children.push(run);
  }

  function onRun(event: ThreadEvent, run: RunFacts, fail: Fail): void {
    const turn = run.turns.at(-1);
    switch (event.type) {
      case "stop-requested":
        run.stops.push(event);
        return;
      case "limit-reached":
        run.limits.push(event);
        return;
      case "turn-started":
        startTurn(event, run, turn, fail);
        return;
      case "text-added": {
        const written = turn && ofAttempt(turn, event, fail);
        if (!written) return;
        if (event.kind === "reasoning") written.reasoning += event.text;
        else written.text += event.text;
        return;
      }
      case "part-added":
        if (turn) ofAttempt(turn, event, fail);
        return;
      case "turn-ended":
        if (!turn || !ofAttempt(turn, event, fail)) return;
        turn.open = false;
        turn.ended = event;
        return;
      case "turn-judged":
        if (!turn) {
          fail("judged", "a turn is judged that is not there");
          return;
        }
        checkTurnJudged(run, turn, event, fail);
        turn.judged = event;
        return;
      case "attempt-failed":
        if (!turn || event.turn !== turn.turn || !turn.open) {
          fail("heard", "an attempt fails that is not there");
          return;
        }
        turn.open = false;
        turn.failed.push(event);
        return;
      case "run-waiting":
        checkWaiting(log, event, fail);
        return;
      case "run-ended": {
        const open = callsOf(run).filter((call) => !call.settled);
        if (open.length > 0) fail("settles", `a run ends with ${open.length} open calls`);
        if (run.children.some((child) => !child.ended)) fail("ends", "a run ends before its sub-agents");
        if (event.code === "internal") fail("clean", "the loop itself failed");
        run.ended = event;
        return;
      }
      default:
        return;
    }
  }

  function startTurn(event: EventOf<"turn-started">, run: RunFacts, last: TurnFacts | undefined, fail: Fail): void {
    checkTurnStart(log, run, event, fail);
    if (last && last.turn === event.turn) {
      if (last.open) last.cuts++;
      last.open = true;
      last.starts.push(event);
    } else run.turns.push(newTurn(event));
  }

  /** What an attempt has written so far, where the event belongs to the attempt that is open. */
  function ofAttempt(
    turn: TurnFacts,
    event: { readonly turn: number; readonly attempt: number },
    fail: Fail,
  ): { text: string; reasoning: string } | undefined {
    if (!turn.open || event.turn !== turn.turn || event.attempt !== turn.starts.at(-1)?.attempt) {
      fail("heard", "a part of an attempt that is not open");
      return undefined;
    }
    const known = turn.texts.get(event.attempt) ?? { text: "", reasoning: "" };
    turn.texts.set(event.attempt, known);
    return known;
  }

  function onCall(event: ThreadEvent, callId: string, run: RunFacts, fail: Fail): void {
    const turn = run.turns.at(-1);
    if (event.type === "call-proposed" || event.type === "call-input-added") {
      if (!turn?.open || turn.starts.at(-1)?.toolsOff) fail("heard", "a call is written outside of a turn");
      if (event.type === "call-input-added") drafts.set(callId, (drafts.get(callId) ?? "") + event.text);
      return;
    }
    if (event.type === "call-ready") {
      if (calls.has(callId)) fail("settles", "a call is ready twice");
      if (!turn?.ended || event.turn !== turn.turn) {
        fail("heard", "a call of a turn that has not ended");
        return;
      }
      if (turn.starts.at(-1)?.toolsOff) fail("limits", "a call of the last answer");
      const made = newCall(event, run, turn);
      calls.set(callId, made);
      turn.calls.push(made);
      return;
    }
    const call = calls.get(callId);
    if (!call || call.run !== run) {
      fail("settles", "an event of no call of this run");
      return;
    }
    if (call.settled) fail("settles", "an event of a settled call");
    if (call.turn !== turn) fail("settles", "an event of an earlier turn's call");
    switch (event.type) {
      case "call-judged":
        judge(event, call, fail);
        return;
      case "decision-requested":
        ask(event, call, fail);
        return;
      case "decision-recorded":
        checkDecision(event, call, fail);
        if (event.grantId !== undefined) checkGrant(log, call, event.grantId, event, fail);
        return;
      case "decision-extended":
        if (call.ask?.digest !== event.digest || (call.ask.expiresAt ?? event.expiresAt) >= event.expiresAt)
          fail("waits", "it gives no more time");
        if (call.ask) call.ask.expiresAt = event.expiresAt;
        return;
      case "call-started":
        checkCallStart(log, call, event, fail);
        call.starts.push(event);
        call.running = true;
        call.retryAt = undefined;
        call.interrupted = false;
        return;
      case "attempt-failed":
        if (!call.running || event.attempt !== call.starts.length) fail("once", "an attempt fails that does not run");
        call.running = false;
        call.retryAt = event.retryAt;
        if (event.definite) call.failures++;
        askAnew(call);
        return;
      case "call-progressed":
        if (!call.running || event.attempt !== call.starts.length) fail("once", "progress of what does not run");
        return;
      case "call-interrupted":
        if (!call.running || call.child) fail("once", "interrupted, and it does not run");
        call.running = false;
        call.interrupted = true;
        call.ask = {
          kind: "interrupted",
          digest: `${call.digest}.${event.attempt}`,
          expiresAt: undefined,
          schema: undefined,
        };
        return;
      case "call-settled":
        checkSettlement(event, call, fail);
        Object.assign(call, { settled: event, running: false, retryAt: undefined, ask: undefined });
        return;
      default:
        return;
    }
  }

  function judge(event: EventOf<"call-judged">, call: CallFacts, fail: Fail): void {
    const { run, turn } = call;
    if (call.judged) fail("approved", "a call is judged twice");
    if (expectedJudgement(run, turn) !== undefined && turn.judged?.verdict !== "pass") {
      fail("judged", "a call of a turn that was not let through");
    }
    if (event.verdict !== "deny" && repeatsOf(run) >= repeatsEnd(run)) fail("limits", "it goes on in circles");
    call.judged = event;
    call.digest = event.digest;
    if (event.input !== undefined) call.input = event.input;
    if (event.verdict === "deny") call.refused = "the policy's no";
  }

  /** What a revoked grant had allowed, and has still to start, is judged and asked about again. */
  function askAnew(call: CallFacts): void {
    const grantId = call.decisions.at(-1)?.grantId ?? call.judged?.grantId;
    if (call.settled || grantId === undefined || !revoked.has(grantId)) return;
    call.judged = undefined;
    call.retryAt = undefined;
    call.decisions = call.decisions.filter((decision) => decision.grantId !== grantId);
    call.asked = call.asked.filter(({ kind }) => kind !== "approval");
  }

  function ask(event: EventOf<"decision-requested">, call: CallFacts, fail: Fail): void {
    const { kind, digest, expiresAt, schema } = event;
    if (kind === "approval") {
      if (digest !== call.digest) fail("approved", "asks about another digest");
      if (call.asked.length > 0) fail("approved", "asks for leave a second time");
    } else if (call.asked.some((other) => other.digest === digest) || digest === call.digest) {
      fail("approved", "two questions have one digest: an answer to one fits the other");
    }
    if (kind !== "approval" && call.plan?.kind === "server") {
      if (!call.running) fail("refused", "a tool asks that does not run");
    } else if (kind !== "approval") checkCallBegin(log, call, fail);
    if (call.ask) fail("approved", "asks twice at once");
    call.ask = { kind, digest, expiresAt, schema };
    call.asked.push({ kind, digest });
    call.running = false;
  }
}
