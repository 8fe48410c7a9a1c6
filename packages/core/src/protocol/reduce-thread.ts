import { addUsage, withUsageOf } from "./add-usage.ts";
import type { MessageAdded, RunStarted, ThreadEvent } from "./event.ts";
import { isControl, PROTOCOL_VERSION } from "./event.ts";
import { runWith, threadWith, turnWith } from "./one-shape.ts";
import { nextExpiry } from "./read-thread.ts";
import { reduceCall, withoutGrant } from "./reduce-call.ts";
import { withDenial, withGrant, withoutRevoked, withUse } from "./reduce-grant.ts";
import { abandonTurn, reduceTurn } from "./reduce-turn.ts";
import type { Call, Run, Thread, Turn } from "./thread.ts";
import { isSettled, openAsk } from "./thread.ts";

const KEYS_KEPT = 256;

/**
 * The only writer of Thread: pure, total, idempotent by seq. An event whose transition is not legal in
 * this state is ignored and counted, so that every reader of a log comes to the same state.
 */
export function reduceThread(thread: Thread, event: ThreadEvent): Thread {
  if (event.seq <= thread.seq) return thread;
  const next = apply(thread, event) ?? threadWith(thread, { anomalies: thread.anomalies + 1 });
  return stamp(next, event);
}

/** Place, time, active time and the key of a write: what every event carries. */
function stamp(thread: Thread, event: ThreadEvent): Thread {
  const mine = event.epoch !== undefined && event.epoch === thread.epoch;
  const writeKey = keyOf(event);
  return threadWith(thread, {
    seq: event.seq,
    // A decision may land behind deltas of another server whose clock is ahead.
    at: Math.max(thread.at, event.at),
    unknown: thread.unknown || event.v > PROTOCOL_VERSION,
    // Waiting and the hours between a crash and a takeover never count: only time between events of one epoch.
    activeMs: mine && thread.activeAt > 0 ? thread.activeMs + Math.max(0, event.at - thread.activeAt) : thread.activeMs,
    activeAt: mine ? event.at : thread.activeAt,
    keys: writeKey ? [...thread.keys.slice(-(KEYS_KEPT - 1)), writeKey] : thread.keys,
  });
}

function keyOf(event: ThreadEvent): Thread["keys"][number] | undefined {
  if (!("key" in event && "bodyHash" in event && event.by && event.key && event.bodyHash)) return undefined;
  const { key, bodyHash, by, seq, runId } = event;
  return { key, userId: by.id, bodyHash, seq, runId, callId: "callId" in event ? event.callId : undefined };
}

/** The next state, or undefined when the transition is not legal. */
function apply(thread: Thread, event: ThreadEvent): Thread | undefined {
  switch (event.type) {
    case "thread-created":
      if (thread.seq > 0) return undefined;
      return threadWith(thread, {
        createdAt: event.at,
        owner: event.owner ?? "",
        agent: event.agent,
        title: event.title,
      });
    case "thread-renamed":
      return threadWith(thread, { title: event.title });
    case "message-added":
      return threadWith(thread, { messages: [...thread.messages, messageOf(event)] });
    case "run-started":
      return startRun(thread, event);
    case "run-resumed":
      return owned(
        updateRoot(thread, event.runId, (run) => runWith(run, { status: "running", dueAt: undefined })),
        event.epoch,
        event.driverId,
      );
    case "run-waiting":
      return released(
        updateRoot(thread, event.runId, (run) => runWith(run, { status: "waiting", dueAt: event.dueAt })),
      );
    case "run-handed-over":
      return released(updateRoot(thread, event.runId, (run) => runWith(run, { dueAt: event.dueAt })));
    case "stop-requested": {
      const stop = { by: event.by, at: event.at, reason: event.reason };
      return updateRun(thread, event.runId, (run) => (run.stop ? undefined : runWith(run, { stop })));
    }
    case "run-ended":
      return endRun(thread, event);
    case "limit-reached":
      return updateRun(thread, event.runId, (run) =>
        runWith(run, { limits: [...run.limits, { limit: event.limit, count: event.count, follows: event.follows }] }),
      );
    case "grant-revoked":
      return reopened(withoutRevoked(thread, event.grantId));
    case "turn-started":
      return startTurn(thread, event);
    case "turn-judged":
      return updateRun(thread, event.runId, (run) => judgeTurn(run, event));
    case "decision-recorded": {
      const recorded = onCall(thread, event);
      const decided = event.action === "answer" ? withLiveGrants(recorded, event.runId, event.callId) : recorded;
      return decided && reopened(withUse(withDenial(withGrant(decided, event), event), event.grantId));
    }
    case "decision-extended":
      return reopened(onCall(thread, event));
    case "call-judged":
      return withUse(onCall(thread, event), event.grantId);
    case "text-added":
    case "part-added":
    case "turn-ended":
      return onTurn(thread, event);
    case "attempt-failed":
      return event.callId === undefined
        ? onTurn(thread, event)
        : withLiveGrants(onCall(thread, event), event.runId, event.callId);
    case "call-proposed":
    case "call-input-added":
    case "call-ready":
    case "decision-requested":
    case "call-started":
    case "call-progressed":
    case "call-interrupted":
      return onCall(thread, event);
    case "call-settled":
      return reopened(onCall(thread, event));
    default:
      return unknownEvent(thread, event);
  }
}

/** Followers pass kinds they do not know; a driver must not go on past an unknown control event. */
function unknownEvent(thread: Thread, event: never): Thread {
  return isControl(event as { type: string }) ? threadWith(thread, { unknown: true }) : thread; // newer code wrote it
}

function messageOf(event: MessageAdded & ThreadEvent): Thread["messages"][number] {
  return { messageId: event.messageId, seq: event.seq, at: event.at, parts: event.parts, by: event.by };
}

function startRun(thread: Thread, event: ThreadEvent & RunStarted): Thread | undefined {
  if (event.runId === undefined) return undefined;
  if (event.depth === 0 ? thread.active.length > 0 : thread.active.length === 0) return undefined;
  if ([...thread.active, ...thread.runs].some((known) => known.runId === event.runId)) return undefined;
  const run: Run = {
    runId: event.runId,
    status: "running",
    depth: event.depth,
    trigger: event.trigger,
    parentCallId: event.parentCallId,
    continues: event.continues,
    turnLimit: event.turnLimit,
    startedSeq: event.seq,
    startedAt: event.at,
    turns: [],
    turn: null,
    callCount: 0,
    childCalls: 0,
    limits: [],
    denials: [],
    stop: null,
    text: "",
    usage: {},
    agentVersion: event.agentVersion,
    activeFrom: event.depth === 0 ? 0 : thread.activeMs,
    user: event.user,
  };
  const next = threadWith(thread, { active: [...thread.active, runWith(run, {})] });
  if (event.depth > 0) return next;
  return owned(threadWith(next, { activeMs: 0, activeAt: 0 }), event.epoch, event.driverId);
}

function endRun(thread: Thread, event: ThreadEvent & { type: "run-ended" }): Thread | undefined {
  const run = thread.active.find((candidate) => candidate.runId === event.runId);
  if (!run || (run.depth === 0 && thread.active.length > 1)) return undefined; // leaf first, the root last
  const { outcome, limit, code, reason, text, usage } = event;
  const ended = runWith(run, {
    status: "ended",
    endedAt: event.at,
    turn: run.turn && abandonTurn(run.turn, event.at),
    dueAt: undefined,
    outcome,
    limit,
    code,
    reason,
    text,
    usage,
  });
  const next = threadWith(thread, {
    active: withUsageOf(ended, thread).filter((candidate) => candidate !== run),
    runs: [...thread.runs, ended],
    grants: thread.grants.filter((grant) => grant.scope !== "run" || grant.runId !== run.runId),
  });
  return run.depth === 0 ? released(next) : next;
}

/** Said once of a turn that is whole, before anything of it runs. */
function judgeTurn(run: Run, { turn, verdict, reason }: ThreadEvent & { type: "turn-judged" }): Run | undefined {
  const { turn: current } = run;
  if (current?.turn !== turn || current.status !== "ended" || current.judged) return undefined;
  return runWith(run, { turn: turnWith(current, { judged: { verdict, reason } }) });
}

function startTurn(thread: Thread, event: ThreadEvent & { type: "turn-started" }): Thread | undefined {
  const next = updateRun(thread, event.runId, (run) => {
    const current = run.turn;
    const begun: Turn = {
      turn: event.turn,
      attempt: event.attempt,
      cuts: current?.status === "open" && current.turn === event.turn ? current.cuts + 1 : 0,
      status: "open",
      startedSeq: event.seq,
      startedAt: event.at,
      model: event.model,
      toolsOff: event.toolsOff,
      note: event.note,
      parts: [],
      calls: [],
    };
    const turn = turnWith(begun, {});
    if (current && current.turn === event.turn && current.status !== "ended") {
      // A new attempt at the same turn drops whatever the abandoned one had written.
      return event.attempt > current.attempt ? runWith(run, { turn }) : undefined;
    }
    if (event.turn !== (current?.turn ?? 0) + 1) return undefined;
    // A turn that is left behind is never touched again: its calls must be settled.
    if (current && (current.status !== "ended" || !current.calls.every(isSettled))) return undefined;
    return runWith(run, { turns: current ? [...run.turns, current] : run.turns, turn });
  });
  const isRoot = next?.active[0]?.runId === event.runId;
  return next && isRoot ? threadWith(next, { consumedSeq: event.seq }) : next;
}

function onTurn(thread: Thread, event: ThreadEvent): Thread | undefined {
  return updateRun(thread, event.runId, (run) => {
    const turn = run.turn && reduceTurn(run.turn, event);
    if (!turn) return undefined;
    const used = event.type === "turn-ended" || event.type === "attempt-failed" ? event.usage : undefined;
    return used ? runWith(run, { turn, usage: addUsage(run.usage, used) }) : runWith(run, { turn });
  });
}

/** Calls of the current turn only: a settled turn is never touched again. */
function onCall(thread: Thread, event: ThreadEvent): Thread | undefined {
  return updateRun(thread, event.runId, (run) => {
    const turn = run.turn && reduceCall(run.turn, event);
    if (!turn) return undefined;
    return event.type === "call-ready" ? runWith(run, { turn, callCount: run.callCount + 1 }) : runWith(run, { turn });
  });
}

/** A grant may have been taken back while the attempt ran or asked: then nothing allows the next one. */
function withLiveGrants(thread: Thread | undefined, runId: string | undefined, callId: string): Thread | undefined {
  if (!thread) return undefined;
  const isGone = (grantId: string, call: Call): boolean =>
    call.callId === callId && !thread.grants.some((grant) => grant.grantId === grantId);
  return updateRun(thread, runId, (run) => {
    return run.turn ? runWith(run, { turn: withoutGrant(run.turn, isGone) }) : run;
  });
}

function updateRun(
  thread: Thread,
  runId: string | undefined,
  update: (run: Run) => Run | undefined,
): Thread | undefined {
  const index = thread.active.findIndex((run) => run.runId === runId);
  const run = thread.active[index];
  const updated = run && update(run);
  return updated && threadWith(thread, { active: thread.active.with(index, updated) });
}

function updateRoot(thread: Thread, runId: string | undefined, update: (run: Run) => Run): Thread | undefined {
  return thread.active[0]?.runId === runId ? updateRun(thread, runId, update) : undefined;
}

/**
 * An answer, a late result or a revocation came while nobody drives: the run does not wait any more, so that whoever
 * looks or sweeps takes it up. What it says in the state is all that a crash leaves.
 */
function reopened(thread: Thread | undefined): Thread | undefined {
  if (thread?.active[0]?.status !== "waiting") return thread;
  const waits = thread.active.every((run) => {
    const calls = run.turn?.calls ?? [];
    // A run whose calls are all settled has its next turn to take, whatever the others wait for.
    return (
      calls.every((call) => call.status !== "queued") &&
      calls.some((call) => openAsk(call) || call.status === "running")
    );
  });
  const { runId } = thread.active[0];
  if (!waits) return updateRoot(thread, runId, (run) => runWith(run, { status: "running", dueAt: undefined }));
  return updateRoot(thread, runId, (run) => runWith(run, { dueAt: nextExpiry(thread) }));
}

/** An epoch opens. A browser sees neither epoch nor driver: both stay at their empty value there. */
function owned(
  thread: Thread | undefined,
  epoch: number | undefined,
  driverId: string | undefined,
): Thread | undefined {
  if (!thread || driverId === undefined || epoch === undefined) return thread;
  return threadWith(thread, { epoch, driverId, activeAt: 0 });
}

/** The epoch closes: whoever wants to drive must claim. */
function released(thread: Thread | undefined): Thread | undefined {
  return thread && threadWith(thread, { driverId: null });
}
