import type { CallProgressed, CallReady, CallSettled, DecisionExtended, DecisionRecorded } from "./call-event.ts";
import type { ThreadEvent } from "./event.ts";
import { callWith, turnWith } from "./one-shape.ts";
import type { Call, Decision, Turn } from "./thread.ts";
import { isSettled, openAsk } from "./thread.ts";
import type { AskKind, Json } from "./values.ts";

const LOG_LINES_KEPT = 500;

/** The events of the current turn's calls; undefined when the transition is not legal. */
export function reduceCall(turn: Turn, event: ThreadEvent): Turn | undefined {
  if (event.type === "call-proposed") {
    if (turn.status !== "open" || event.turn !== turn.turn || event.attempt !== turn.attempt) return undefined;
    return addCall(turn, callWith(newCall(event.callId, event.name, "writing"), {}));
  }
  if (event.type === "call-ready") return ready(turn, event);
  if (!("callId" in event) || event.callId === undefined) return undefined;
  const index = turn.calls.findIndex((call) => call.callId === event.callId);
  const call = turn.calls[index];
  const next = call && transition(call, event);
  return next && turnWith(turn, { calls: turn.calls.with(index, next) });
}

/** A whole call of a whole turn; it takes the place of what was shown while the model wrote. */
function ready(turn: Turn, event: CallReady & ThreadEvent): Turn | undefined {
  if (turn.status !== "ended" || event.turn !== turn.turn) return undefined;
  const index = turn.calls.findIndex((call) => call.callId === event.callId);
  const writing = turn.calls[index];
  if (writing && writing.status !== "writing") return undefined;
  const { tool, title, summary, input, digest, destructive, inputText, providerId, opaque, toolHash, salt } = event;
  const call = callWith(newCall(event.callId, tool, "queued"), {
    title,
    summary,
    input,
    digest,
    destructive,
    inputText,
    providerId,
    opaque,
    toolHash,
    salt,
  });
  return writing ? turnWith(turn, { calls: turn.calls.with(index, call) }) : addCall(turn, call);
}

function addCall(turn: Turn, call: Call): Turn | undefined {
  if (turn.calls.some((existing) => existing.callId === call.callId)) return undefined;
  return turnWith(turn, {
    calls: [...turn.calls, call],
    parts: [...turn.parts, { type: "call", index: turn.calls.length }],
  });
}

function newCall(callId: string, tool: string, status: "writing" | "queued"): Call {
  return {
    callId,
    tool,
    status,
    input: null,
    draft: "",
    digest: "",
    ask: null,
    decision: null,
    earlier: [],
    verdict: null,
    attempt: 0,
    failures: 0,
    progress: null,
    log: [],
  };
}

function transition(call: Call, event: ThreadEvent): Call | undefined {
  switch (event.type) {
    case "call-input-added":
      return call.status === "writing" ? callWith(call, { draft: call.draft + event.text }) : undefined;
    case "call-judged": {
      if (call.status !== "queued" || call.verdict || call.ask) return undefined;
      const { verdict, by, reason, grantId } = event;
      const judged = { verdict: { verdict, by, reason, grantId }, digest: event.digest };
      return callWith(withInput(call, event.input, "policy"), judged);
    }
    case "decision-requested": {
      // From `running`: the attempt ended by asking (`return ask(…)`); the answer starts the next one.
      if (call.status !== "running" && !mayAsk(call, event.kind)) return undefined;
      const { kind, digest, prompt, schema, url, editable, scopes, reason, expiresAt } = event;
      const { grant, grantKey, denied, extendMs } = event;
      const ask = {
        ...{ kind, digest, prompt, schema, url, editable, scopes, grant, grantKey, reason, denied },
        ...{ expiresAt, extendMs, askedAt: event.at },
      };
      return callWith(call, { status: "waiting", ask, decision: null, earlier: decisionsOf(call), retryAt: undefined });
    }
    case "decision-extended":
      return extend(call, event);
    case "decision-recorded":
      return decide(call, event);
    case "call-started":
      return start(call, event);
    case "call-progressed":
      return call.status === "running" && event.attempt === call.attempt ? progressed(call, event) : undefined;
    case "attempt-failed":
      if (call.status !== "running" || event.attempt !== call.attempt || call.retryAt !== undefined) return undefined;
      return callWith(call, {
        failures: call.failures + (event.definite ? 1 : 0),
        lastError: event.error.message,
        retryAt: event.retryAt,
      });
    case "call-interrupted":
      if (call.status !== "running" || event.attempt !== call.attempt) return undefined;
      return callWith(call, {
        status: "waiting",
        // Another question than the approval was, and than the next interruption will be: late answers find no door.
        ask: { kind: "interrupted", digest: `${call.digest}.${event.attempt}`, askedAt: event.at },
        decision: null,
        earlier: decisionsOf(call),
      });
    case "call-settled":
      return settle(call, event);
    default:
      return undefined;
  }
}

/** A queued call asks once for leave, and after that for what only a person or a browser can give. */
function mayAsk(call: Call, kind: AskKind): boolean {
  if (call.status !== "queued") return false;
  return call.decision === null || (call.decision.action === "approve" && kind !== "approval");
}

/** All decisions so far, for when the next question is asked. */
function decisionsOf(call: Call): readonly Decision[] {
  return call.decision ? [...call.earlier, call.decision] : call.earlier;
}

/** Another input in the model's place; what the model wrote is kept from the first change on. */
function withInput(call: Call, input: Json | undefined, by: "person" | "policy"): Call {
  if (input === undefined) return call;
  const changed = { by, from: call.changed ? call.changed.from : call.input };
  return callWith(call, { input, changed, summary: undefined }); // the summary spoke of the other input
}

const ANSWERS: Readonly<Record<AskKind, readonly DecisionRecorded["action"][]>> = {
  approval: ["approve", "deny", "expire"],
  question: ["answer", "skip", "deny", "expire"],
  link: ["answer", "skip", "deny", "expire"],
  browser: ["answer", "skip", "deny", "expire"],
  interrupted: ["retry", "skip", "answer", "deny"],
};

/** First valid decision wins. A refusal keeps the call waiting until its settlement, in the same batch. */
function decide(call: Call, event: DecisionRecorded & ThreadEvent): Call | undefined {
  if (call.status !== "waiting" || !call.ask || call.decision || event.digest !== call.ask.digest) return undefined;
  if (!ANSWERS[call.ask.kind].includes(event.action)) return undefined;
  const { action, by, via, digest, value, error, reason, scope, grantId, stop } = event;
  const edited = event.input !== undefined;
  const decision = {
    ...{ kind: call.ask.kind, action, by, via, digest, value, error, reason, scope, grantId, stop, at: event.at },
    originalInput: edited ? call.input : undefined,
  };
  const goesOn = action === "approve" || action === "retry" || (action === "answer" && call.ask.kind !== "interrupted");
  return callWith(withInput(call, event.input, "person"), {
    decision,
    status: goesOn ? "queued" : "waiting",
    digest: event.newDigest ?? call.digest,
  });
}

/** More time, never less. */
function extend(call: Call, { digest, expiresAt }: DecisionExtended): Call | undefined {
  const ask = openAsk(call);
  if (ask?.expiresAt === undefined || ask.extendMs === undefined) return undefined;
  if (digest !== ask.digest || expiresAt <= ask.expiresAt) return undefined;
  return callWith(call, { ask: { ...ask, expiresAt } });
}

function start(call: Call, event: ThreadEvent & { type: "call-started" }): Call | undefined {
  if (call.status !== "queued" && call.status !== "running") return undefined;
  if (event.attempt <= call.attempt) return undefined;
  return callWith(call, {
    status: "running",
    attempt: event.attempt,
    startedAt: call.startedAt ?? event.at,
    retryAt: undefined,
    progress: null,
    partial: undefined,
  });
}

function progressed(call: Call, event: CallProgressed): Call {
  const { value, max, label } = event;
  const moved = value !== undefined || max !== undefined || label !== undefined;
  return callWith(call, {
    progress: moved ? { value, max, label } : call.progress,
    log: event.log ? [...call.log, ...event.log].slice(-LOG_LINES_KEPT) : call.log,
    partial: event.partial === undefined ? call.partial : event.partial,
  });
}

/** The first settlement wins; a result that comes late counts only while the call is interrupted at that attempt. */
function settle(call: Call, event: CallSettled & ThreadEvent): Call | undefined {
  if (isSettled(call) || (event.attempt !== undefined && event.attempt !== call.attempt)) return undefined;
  const interrupted = call.status === "waiting" && call.ask?.kind === "interrupted";
  if (event.late && !interrupted) return undefined;
  // Only what ran can have succeeded, or what a person answered.
  const couldSucceed = call.status === "running" || event.late || call.decision?.action === "answer";
  if (event.outcome === "succeeded" && !couldSucceed) return undefined;
  const { outcome, output, toModel, error, reason, effect, late } = event;
  return callWith(call, {
    status: outcome,
    output,
    toModel,
    error,
    reason,
    effect,
    late,
    endedAt: event.at,
    retryAt: undefined,
    partial: undefined,
    draft: "",
  });
}

/** The grant that lets a call run, also after it has asked something of its own; none when a person ran it again. */
export function grantOf(call: Call): string | undefined {
  const yes = decisionsOf(call).findLast(({ action }) => action === "approve" || action === "retry");
  return yes?.action === "retry" ? undefined : (call.verdict?.grantId ?? yes?.grantId);
}

/** What a grant allowed and has still to start, for the first time or again, is judged anew once the grant is gone. */
export function withoutGrant(turn: Turn, isGone: (grantId: string, call: Call) => boolean): Turn {
  const calls = turn.calls.map((call) => {
    const starts = call.status === "queued" || (call.status === "running" && call.retryAt !== undefined);
    const grantId = grantOf(call);
    if (!starts || grantId === undefined || !isGone(grantId, call)) return call;
    const asksAnew = { ask: null, decision: null, earlier: decisionsOf(call) };
    return callWith(call, { ...asksAnew, status: "queued", verdict: null, retryAt: undefined });
  });
  return turnWith(turn, { calls });
}
