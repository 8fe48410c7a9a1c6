import type { EventDraft } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type {
  Json,
  LimitFollows,
  LimitName,
  NotRunReason,
  RunOutcome,
  TurnVerdict,
  Usage,
} from "../../src/protocol/values.ts";

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

/** Whether a draft is not legal here: counted, and nothing else of the thread changes but its place and time. */
export function ignores(thread: Thread, draft: Draft): boolean {
  const { seq, at, activeMs, activeAt } = thread;
  const next = reduceThread(thread, sealEvent(draft, seq + 1, at + 1));
  if (next.anomalies === thread.anomalies) return false;
  const same = { ...next, seq, at, activeMs, activeAt, keys: thread.keys, anomalies: thread.anomalies };
  if (JSON.stringify(same) !== JSON.stringify(thread)) throw new Error(`half taken: ${JSON.stringify(draft)}`);
  return true;
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

export function turnEnded(turn = 1, attempt = 1, finishReason = "stop", usage?: Usage): Draft {
  return { type: "turn-ended", runId: "r", epoch: 1, turn, attempt, finishReason, usage };
}

/** What the app's own conditions made of a turn. */
export function turnJudged(verdict: TurnVerdict, turn = 1): Draft {
  return { type: "turn-judged", runId: "r", epoch: 1, turn, verdict };
}

export function turnFailed(turn: number, attempt: number, retryAt?: number, code = "model-failed"): Draft {
  const error = { code, message: "x" };
  return { type: "attempt-failed", runId: "r", epoch: 1, turn, attempt, error, retryAt };
}

export function ready(callId: string, tool = "plain", turn = 1, input: Json = {}): Draft {
  const hashes = { toolHash: "h", salt: "s", digest: `d-${callId}` };
  return { type: "call-ready", runId: "r", epoch: 1, callId, turn, tool, input, ...hashes };
}

/** Nobody is asked; with an input, the policy put it in place of the model's. */
export function allowed(callId: string, input?: Json): Draft {
  const verdict = input === undefined ? "allow" : "modify";
  return { type: "call-judged", runId: "r", epoch: 1, callId, verdict, by: "default", digest: `d-${callId}`, input };
}

export function asked(callId: string, expiresAt?: number): readonly Draft[] {
  const at = { runId: "r", epoch: 1, callId, digest: `d-${callId}` } as const;
  return [
    { type: "call-judged", ...at, verdict: "ask", by: "default" },
    { type: "decision-requested", ...at, kind: "approval", expiresAt },
  ];
}

/** The call asks on its way, after its first start. */
export function questioned(callId: string, expiresAt?: number): readonly Draft[] {
  const at = { runId: "r", epoch: 1, callId, digest: `d-${callId}.q` } as const;
  return [{ type: "decision-requested", ...at, kind: "question", expiresAt }];
}

export function decided(callId: string, action: "approve" | "deny" | "retry" | "answer", stop?: boolean): Draft {
  const digest = `d-${callId}${{ approve: "", deny: "", retry: ".1", answer: ".q" }[action]}`; // each question has its own
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

export function failed(callId: string): Draft {
  const error = { code: "tool-error", message: "x" } as const;
  return { type: "call-settled", runId: "r", epoch: 1, callId, outcome: "failed", error };
}

export function limitReached(limit: LimitName = "turns", follows: LimitFollows = "answer"): Draft {
  return { type: "limit-reached", runId: "r", epoch: 1, limit, count: 1, follows };
}

export function ended(outcome: RunOutcome = "completed", limit?: LimitName): Draft {
  return { type: "run-ended", runId: "r", epoch: 1, outcome, limit, text: "", usage: {} };
}

/** Turn 1 is whole and asked for these calls. */
export function wholeTurn(...calls: readonly (readonly [callId: string, tool?: string])[]): readonly Draft[] {
  return [turnStarted(), turnEnded(), ...calls.map(([callId, tool]) => ready(callId, tool))];
}

/** A call of a turn that is over. */
export interface DoneCall {
  readonly callId: string;
  readonly tool?: string;
  readonly input?: Json;
  /** A person let it through. */
  readonly approved?: boolean;
  /** What the policy made of the input. */
  readonly modified?: Json;
  readonly outcome?: "succeeded" | "failed" | "not-run";
}

/** A turn whose calls are settled, succeeded where nothing else is said. */
export function doneTurn(turn: number, ...calls: readonly DoneCall[]): readonly Draft[] {
  const proposed = calls.map(({ callId, tool, input }) => ready(callId, tool, turn, input));
  return [turnStarted(turn), turnEnded(turn), ...proposed, ...calls.flatMap(ran)];
}

function ran({ callId, approved = false, modified, outcome = "succeeded" }: DoneCall): readonly Draft[] {
  if (outcome === "not-run") return [notRun(callId, "blocked")];
  const leave = approved ? [...asked(callId), decided(callId, "approve")] : [allowed(callId, modified)];
  return [...leave, started(callId), outcome === "failed" ? failed(callId) : succeeded(callId)];
}

/** A sub-agent's run that a call asked for. */
export function childStarted(parentCallId = "a", runId = "child", depth = 1): Draft {
  return { type: "run-started", runId, epoch: 1, trigger: "call", depth, parentCallId, agentVersion: "1" };
}

/** The same drafts, of another run. */
export function inRun(runId: string, ...drafts: readonly Draft[]): readonly Draft[] {
  return drafts.map((draft) => ({ ...draft, runId }));
}
