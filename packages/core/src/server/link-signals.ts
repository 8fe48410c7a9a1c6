/** A signal that aborts with another one, or by itself. AbortSignal.any is missing on Next's edge runtime. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  abort(): void;
  /** Lets go of the other signal. */
  close(): void;
}

export function linkSignals(other: AbortSignal): LinkedSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const close = (): void => other.removeEventListener("abort", abort);
  if (other.aborted) abort();
  else other.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    abort() {
      close();
      abort();
    },
    close() {
      close();
      abort();
    },
  };
}
