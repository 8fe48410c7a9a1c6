/**
 * Every code a ToolRunError can carry. A code never changes its meaning.
 *
 * - `bad-request`: the request is not what the endpoint takes; `issues` say where.
 * - `unauthenticated` / `forbidden`: nobody is signed in / this user may not do this.
 * - `not-found`: no such thread or call for this user (foreign and unknown look alike).
 * - `stale`: the digest is not the one of the step on screen; refresh and decide again.
 * - `decided`: somebody decided first; `step` carries what, when and by whom.
 * - `expired` / `stopped`: the question closed before this answer came.
 * - `not-waiting`: the step, run or thread is not in a state that takes this action.
 * - `tool-changed`: the tool's definition is not the one that was shown.
 * - `invalid-input`: edited input or an answer does not fit its schema; `issues` say where.
 * - `key-reused`: the same key came with another body.
 * - `too-large` / `unsupported-media-type` / `too-many`: caps of the server.
 * - `unavailable`: the store or a service did not answer in time, or newer code wrote in the thread; try again.
 * - `misconfigured`: the server lacks a setting; the message names the fix.
 * - `invalid-config`: a mistake in code, thrown at construction.
 * - `network`: the browser could not reach the server.
 * - `model-failed`, `model-truncated`, `model-timed-out`: a model attempt failed.
 * - `tools-failed`: an agent's `dynamicTools` could not be loaded.
 * - `internal`: anything else; `reference` finds it in the server's log.
 */
export type ToolRunErrorCode =
  | "bad-request"
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "stale"
  | "decided"
  | "expired"
  | "stopped"
  | "not-waiting"
  | "tool-changed"
  | "invalid-input"
  | "key-reused"
  | "too-large"
  | "unsupported-media-type"
  | "too-many"
  | "unavailable"
  | "misconfigured"
  | "invalid-config"
  | "network"
  | "model-failed"
  | "model-truncated"
  | "model-timed-out"
  | "tools-failed"
  | "internal";

/** One problem in an input: where (object keys and array indexes) and what. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What an error may carry beside its code and message. */
export interface ToolRunErrorDetails {
  readonly issues?: readonly Issue[] | undefined;
  /** Finds the full error in the server's log; never a stack or a provider's text. */
  readonly reference?: string | undefined;
  /** The real state of the call an action was refused for, as `viewThread` shows it. */
  readonly step?: unknown;
  readonly cause?: unknown;
}

/** The one error class of toolrun: branch on `code`, show `message`. */
export class ToolRunError extends Error {
  override readonly name = "ToolRunError";
  readonly code: ToolRunErrorCode;
  readonly issues: readonly Issue[] | undefined;
  readonly reference: string | undefined;
  readonly step: unknown;

  constructor(code: ToolRunErrorCode, message: string, details: ToolRunErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.issues = details.issues;
    this.reference = details.reference;
    this.step = details.step;
  }
}

/** True for a ToolRunError of any copy of this package (instanceof fails across copies). */
export function isToolRunError(error: unknown): error is ToolRunError {
  return error instanceof Error && error.name === "ToolRunError" && "code" in error;
}
