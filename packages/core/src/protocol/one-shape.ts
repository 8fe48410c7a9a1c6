import type { Call, Run, Thread, Turn } from "./thread.ts";

// The state with some fields changed, always as an object with every field in one order. A spread of a spread
// makes a new hidden class each time in V8: after a few events nothing that reads the state is fast any more,
// and folding an event costs ten times as much. A new field does not compile until it is listed here.

export function threadWith(thread: Thread, changes: Partial<Thread>): Thread {
  const copy: Required<Thread> = {
    id: thread.id,
    seq: thread.seq,
    at: thread.at,
    createdAt: thread.createdAt,
    owner: thread.owner,
    agent: thread.agent,
    title: thread.title,
    messages: thread.messages,
    runs: thread.runs,
    active: thread.active,
    consumedSeq: thread.consumedSeq,
    grants: thread.grants,
    anomalies: thread.anomalies,
    unknown: thread.unknown,
    epoch: thread.epoch,
    driverId: thread.driverId,
    activeMs: thread.activeMs,
    activeAt: thread.activeAt,
    keys: thread.keys,
  };
  return Object.assign(copy, changes);
}

export function runWith(run: Run, changes: Partial<Run>): Run {
  const copy: Required<Run> = {
    runId: run.runId,
    status: run.status,
    depth: run.depth,
    trigger: run.trigger,
    parentCallId: run.parentCallId,
    continues: run.continues,
    turnLimit: run.turnLimit,
    startedSeq: run.startedSeq,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    turns: run.turns,
    turn: run.turn,
    callCount: run.callCount,
    childCalls: run.childCalls,
    limits: run.limits,
    denials: run.denials,
    stop: run.stop,
    dueAt: run.dueAt,
    outcome: run.outcome,
    limit: run.limit,
    code: run.code,
    text: run.text,
    usage: run.usage,
    agentVersion: run.agentVersion,
    activeFrom: run.activeFrom,
    reason: run.reason,
    user: run.user,
  };
  return Object.assign(copy, changes);
}

export function turnWith(turn: Turn, changes: Partial<Turn>): Turn {
  const copy: Required<Turn> = {
    turn: turn.turn,
    attempt: turn.attempt,
    cuts: turn.cuts,
    status: turn.status,
    startedSeq: turn.startedSeq,
    startedAt: turn.startedAt,
    endedAt: turn.endedAt,
    model: turn.model,
    toolsOff: turn.toolsOff,
    note: turn.note,
    parts: turn.parts,
    calls: turn.calls,
    finishReason: turn.finishReason,
    usage: turn.usage,
    error: turn.error,
    retryAt: turn.retryAt,
    opaque: turn.opaque,
    judged: turn.judged,
  };
  return Object.assign(copy, changes);
}

export function callWith(call: Call, changes: Partial<Call>): Call {
  const copy: Required<Call> = {
    callId: call.callId,
    tool: call.tool,
    status: call.status,
    title: call.title,
    summary: call.summary,
    input: call.input,
    draft: call.draft,
    digest: call.digest,
    changed: call.changed,
    destructive: call.destructive,
    ask: call.ask,
    decision: call.decision,
    earlier: call.earlier,
    verdict: call.verdict,
    attempt: call.attempt,
    failures: call.failures,
    retryAt: call.retryAt,
    lastError: call.lastError,
    progress: call.progress,
    log: call.log,
    partial: call.partial,
    output: call.output,
    error: call.error,
    reason: call.reason,
    effect: call.effect,
    late: call.late,
    startedAt: call.startedAt,
    endedAt: call.endedAt,
    inputText: call.inputText,
    toModel: call.toModel,
    providerId: call.providerId,
    opaque: call.opaque,
    toolHash: call.toolHash,
    salt: call.salt,
  };
  return Object.assign(copy, changes);
}
