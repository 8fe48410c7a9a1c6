import type { EventDraft } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { Json, NotRunReason } from "../../src/protocol/values.ts";

/** Small pieces of a log: what a driver of epoch 1 writes about run `r`. */
export type Draft = EventDraft & { readonly at?: number | undefined };

const KEYS = { key: "k", bodyHash: "h" } as const;
const by = { id: "u" };

/** Folds drafts; each is at `at`, or a millisecond after the one before it. Throws where one is not legal. */
export function foldDrafts(drafts: readonly Draft[], from: Thread = emptyThread("t")): Thread {
  return drafts.reduce((thread, { at, ...draft }) => {
    const next = reduceThread(thread, sealEvent(draft, thread.seq + 1, at ?? Math.max(1000, thread.at + 1)));
    if (next.anomalies > thread.anomalies) throw new Error(`not legal here: ${JSON.stringify(draft)}`);
    return next;
  }, from);
}

export function message(): Draft {
  const parts = [{ type: "text", text: "Hello" }] as const;
  return { type: "message-added", messageId: "m", parts, by, ...KEYS };
}

export function runStarted(owned = true, runId = "r"): Draft {
  const owner = owned ? { driverId: "d", epoch: 1 } : {};
  return { type: "run-started", runId, trigger: "message", depth: 0, agentVersion: "1", user: by, ...owner };
}

/** A thread with its first message and a run that epoch 1 owns. */
export const begun: readonly Draft[] = [
  { type: "thread-created", owner: "u", agent: "a", title: "T" },
  message(),
  runStarted(),
];

export function turnStarted(turn = 1, attempt = 1, toolsOff?: true): Draft {
  return { type: "turn-started", runId: "r", epoch: 1, turn, attempt, model: "m", toolsOff };
}

export function turnEnded(turn = 1, attempt = 1, finishReason = "stop"): Draft {
  return { type: "turn-ended", runId: "r", epoch: 1, turn, attempt, finishReason };
}

export function turnFailed(turn: number, attempt: number, retryAt?: number): Draft {
  const error = { code: "model-failed", message: "x" };
  return { type: "attempt-failed", runId: "r", epoch: 1, turn, attempt, error, retryAt };
}

export function ready(callId: string, tool = "plain", turn = 1, input: Json = {}): Draft {
  const hashes = { toolHash: "h", salt: "s", digest: `d-${callId}` };
  return { type: "call-ready", runId: "r", epoch: 1, callId, turn, tool, input, ...hashes };
}

export function allowed(callId: string): Draft {
  return { type: "call-judged", runId: "r", epoch: 1, callId, verdict: "allow", by: "default", digest: `d-${callId}` };
}

export function asked(callId: string, expiresAt?: number): readonly Draft[] {
  const at = { runId: "r", epoch: 1, callId, digest: `d-${callId}` } as const;
  return [
    { type: "call-judged", ...at, verdict: "ask", by: "default" },
    { type: "decision-requested", ...at, kind: "approval", expiresAt },
  ];
}

export function decided(callId: string, action: "approve" | "deny" | "retry", stop?: boolean): Draft {
  const digest = action === "retry" ? `d-${callId}.1` : `d-${callId}`; // the question of an interruption names its attempt
  const at = { runId: "r", callId, digest } as const;
  return { type: "decision-recorded", ...at, action, via: "browser", by, stop, ...KEYS };
}

export function started(callId: string, attempt = 1): Draft {
  const at = { runId: "r", epoch: 1, callId, digest: `d-${callId}` } as const;
  return { type: "call-started", ...at, attempt, key: `${callId}.0` };
}

export function callFailed(callId: string, attempt: number, retryAt?: number): Draft {
  const error = { code: "tool-error", message: "x" };
  return { type: "attempt-failed", runId: "r", epoch: 1, callId, attempt, error, retryAt };
}

export function interrupted(callId: string, attempt = 1): Draft {
  return { type: "call-interrupted", runId: "r", epoch: 1, callId, attempt };
}

export function succeeded(callId: string): Draft {
  return { type: "call-settled", runId: "r", epoch: 1, callId, outcome: "succeeded", output: null };
}

export function notRun(callId: string, reason: NotRunReason): Draft {
  return { type: "call-settled", runId: "r", epoch: 1, callId, outcome: "not-run", reason };
}

export function waiting(dueAt?: number, calls: readonly string[] = ["a"]): Draft {
  return { type: "run-waiting", runId: "r", epoch: 1, for: calls, dueAt };
}

export function handedOver(dueAt?: number): Draft {
  return { type: "run-handed-over", runId: "r", epoch: 1, why: "budget", dueAt };
}

export function stopRequested(): Draft {
  return { type: "stop-requested", runId: "r", by, ...KEYS };
}

export function limitReached(limit: "turns" | "calls" = "turns"): Draft {
  return { type: "limit-reached", runId: "r", epoch: 1, limit, count: 1, follows: "answer" };
}

export function ended(outcome: "completed" | "limited" | "stopped" | "failed" = "completed"): Draft {
  return { type: "run-ended", runId: "r", epoch: 1, outcome, text: "", usage: {} };
}

/** Turn 1 is whole and asked for these calls. */
export function wholeTurn(...calls: readonly (readonly [callId: string, tool?: string])[]): readonly Draft[] {
  return [turnStarted(), turnEnded(), ...calls.map(([callId, tool]) => ready(callId, tool))];
}
