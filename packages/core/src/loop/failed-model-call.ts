import { ModelError } from "../model/model.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Usage } from "../protocol/values.ts";
import type { CallModel } from "./model-call.ts";
import { HookError } from "./model-hooks.ts";

const MAX_BACKOFF_MS = 30_000;
/** Longer than any provider means; a number at all. */
const MAX_RETRY_AFTER_MS = 2_147_483_647_000;
const MAX_JITTER_MS = 100;

/** The failure's own word, or the app's. */
function isWorthIt(error: unknown, { agent, onError }: CallModel): boolean {
  const known =
    error instanceof ModelError ? error : new ModelError("The model failed.", { retryable: true, cause: error });
  if (!agent.modelRetry || error instanceof HookError) return known.retryable;
  try {
    return agent.modelRetry(known);
  } catch (failure) {
    onError(failure);
    return false;
  }
}

interface InWords {
  readonly code: string;
  readonly message: string;
}

/** What may be said of it when the app's own code around a model call failed. */
export const HOOK_FAILED: InWords = { code: "hook-failed", message: "A check of the app failed." };

/** What may be said of a failure outside the server. */
function inWords(error: ModelError | undefined): InWords {
  if (error instanceof HookError) return HOOK_FAILED;
  const code = error?.status === 408 ? "model-timed-out" : "model-failed";
  if (error?.status === undefined) return { code, message: "The model did not answer." };
  return { code, message: `The model answered with an error (${error.status}).` };
}

/**
 * Tried again while attempts are left and another try could help, with the next model at once; a provider's text
 * stays on the server. `usage`: what the answer said it used before it failed.
 */
export function failedAttempt(options: CallModel, error: unknown, usage: Usage | undefined): EventDraft {
  options.onError(error);
  const { runId, turn, attempt, clock } = options;
  const known = error instanceof ModelError ? error : undefined;
  const pauseMs = isWorthIt(error, options) ? pauseBefore(options, known?.retryAfterMs) : undefined;
  const retryAt = pauseMs === undefined ? undefined : clock.now() + pauseMs;
  return { type: "attempt-failed", runId, turn, attempt, error: inWords(known), retryAt, usage };
}

/** Undefined when there is no other try. */
function pauseBefore({ agent, plan, clock }: CallModel, retryAfterMs = 0): number | undefined {
  const { tries, isLastModel } = plan;
  if (tries >= agent.rules.modelAttempts) return isLastModel ? undefined : 0;
  const backoff = Math.min(MAX_BACKOFF_MS, 500 * 2 ** (tries - 1)) + Math.round(clock.random() * MAX_JITTER_MS);
  return Math.max(backoff, Math.min(MAX_RETRY_AFTER_MS, retryAfterMs));
}
