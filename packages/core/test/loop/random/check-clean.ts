import type { Seen } from "./seen.ts";
import type { Fail } from "./violation.ts";

/** Errors that plans bring in, and those that say what a plan did. */
const PLANNED = [
  /^planned/,
  /^The history for the model is not balanced: no results follow the calls \[half\]\.$/, // a hook's
  /^The model was silent for/,
  /^The answer (broke off|ended inside)/,
  /^A policy or approval (answered with|did not answer)/,
  /^(no reason|A model hook (failed|did not answer in time)\.|stopWhen or the completion gate did not answer in time\.)$/,
  /a proxy that has been revoked$/,
  /^(The store did not answer in time|The lease ended first)\.$/,
];

/** Nothing is left behind, and nothing of ours broke. */
export function checkClean({ stuck, leftMs, rejections, reports, thread }: Seen, fail: Fail): void {
  if (stuck !== undefined) fail("live", stuck);
  if (leftMs > 0) fail("clean", `timers are left for ${leftMs} ms`);
  if (thread.unknown) fail("replay", "the log holds what its own code does not know");
  for (const rejection of rejections) fail("clean", `unhandled: ${wordsOf(rejection)}`);
  for (const error of reports) if (!isPlanned(error)) fail("clean", `reported: ${wordsOf(error)}`);
}

/** A tool may throw what it likes; what is no error or cannot be read is none of ours. */
function isPlanned(error: unknown): boolean {
  try {
    if (!(error instanceof Error)) return true;
    return (
      PLANNED.some((pattern) => pattern.test(error.message)) ||
      error.message === "" ||
      error.name === "AbortError" ||
      error.name === "TimeoutError"
    );
  } catch {
    return true;
  }
}

function wordsOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : String(error);
  } catch {
    return "an error that cannot be read";
  }
}
