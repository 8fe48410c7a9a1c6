import { ModelError } from "../model/model.ts";
import type { EventDraft } from "../protocol/event.ts";
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

/** What may be said of a failure outside the server. */
function inWords(error: ModelError | undefined): { readonly code: string; readonly message: string } {
  if (error instanceof HookError) return { code: "hook-failed", message: "A check of the app failed." };
  const code = error?.status === 408 ? "model-timed-out" : "model-failed";
  if (error?.status === undefined) return { code, message: "The model did not answer." };
  return { code, message: `The model answered with an error (${error.status}).` };
}

/** Tried again while attempts are left and another try could help; a provider's text stays on the server. */
export function failedAttempt(options: CallModel, error: unknown): EventDraft {
  options.onError(error);
  const { runId, turn, attempt, agent, clock } = options;
  const known = error instanceof ModelError ? error : undefined;
  const again = attempt < agent.rules.modelAttempts && isWorthIt(error, options);
  const backoff = Math.min(MAX_BACKOFF_MS, 500 * 2 ** (attempt - 1)) + Math.round(clock.random() * MAX_JITTER_MS);
  const retryAt = again
    ? clock.now() + Math.max(backoff, Math.min(MAX_RETRY_AFTER_MS, known?.retryAfterMs ?? 0))
    : undefined;
  return { type: "attempt-failed", runId, turn, attempt, error: inWords(known), retryAt };
}
