/** The value of some work of the app's, or a rejection with the signal's reason: such work need not hear a signal. */
export async function orAbort<Value>(work: PromiseLike<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return await work;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** True for a promise of any realm or library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** True when somebody stopped the work. A stop is no failure, other than a time limit. */
export function isStopped(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason instanceof Error && signal.reason.name === "AbortError";
}
