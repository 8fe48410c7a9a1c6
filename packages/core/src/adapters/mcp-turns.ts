/** One after the other, in the order in which they came. */
export interface Turns {
  /** @throws the signal's reason when it aborts before the turn has come. */
  take<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value>;
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async take(signal, work) {
      const before = last;
      let done: () => void = () => undefined;
      const mine = new Promise<void>((resolve) => {
        done = resolve;
      });
      last = before.then(() => mine);
      try {
        await Promise.race([before, aborted(signal)]);
        signal.throwIfAborted();
        return await work();
      } finally {
        done();
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  const over = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  over.catch(() => undefined);
  return over;
}
