import type { StepRecord } from "./observers.ts";

/** Steps for one reader, beside the run: whether they are read, and how fast, never matters to it. */
export interface StepChannel extends AsyncIterable<StepRecord> {
  /** Hand it to a run as its `onStep`. */
  readonly onStep: (step: StepRecord) => void;
  /** Steps that came while the channel was full. */
  readonly dropped: number;
  /** No step comes any more: the reader gets what is there, and then the end. */
  close(): void;
}

/**
 * A channel that keeps up to `capacity` unread steps. Those that come while it is full are dropped and counted; a
 * reader that leaves its loop closes it. Close it when the run is over, or the reader waits for ever.
 */
export function stepChannel({ capacity = 64 }: { readonly capacity?: number | undefined } = {}): StepChannel {
  let unread: StepRecord[] = [];
  let waiting: ((result: IteratorResult<StepRecord>) => void)[] = [];
  let isClosed = false;
  let dropped = 0;

  const close = (): void => {
    isClosed = true;
    for (const resolve of waiting) resolve({ done: true, value: undefined });
    waiting = [];
  };
  return {
    onStep(step) {
      if (isClosed) return;
      const reader = waiting.shift();
      if (reader) reader({ done: false, value: step });
      else if (unread.length < capacity) unread.push(step);
      else dropped++;
    },
    get dropped() {
      return dropped;
    },
    close,
    [Symbol.asyncIterator]: () => ({
      next() {
        const step = unread.shift();
        if (step) return Promise.resolve({ done: false, value: step });
        if (isClosed) return Promise.resolve({ done: true, value: undefined });
        return new Promise((resolve) => waiting.push(resolve));
      },
      return() {
        unread = [];
        close();
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
}
