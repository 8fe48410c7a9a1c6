import type { ThreadEvent } from "../protocol/event.ts";
import type { Thread } from "../protocol/thread.ts";

/** One append of this process, whether it succeeds or not: its events, and the thread they add up to. */
export interface RecentBatch {
  readonly events: readonly ThreadEvent[];
  readonly thread: Thread;
}

/**
 * What this process appends, by batch. Its followers read the same batches out of the store a moment
 * later: the events need not be parsed nor folded a second time, because equal logs fold to equal threads.
 */
export interface RecentBatches {
  add(batch: string, written: RecentBatch): void;
  get(batch: string): RecentBatch | undefined;
}

/** Followers are a few batches behind at most; one that is later reads the store's text. */
const KEPT = 16;

export function createRecentBatches(): RecentBatches {
  const batches = new Map<string, RecentBatch>();
  return {
    add(batch, written) {
      batches.set(batch, written);
      if (batches.size <= KEPT) return;
      const [oldest] = batches.keys(); // in order of insertion
      if (oldest !== undefined) batches.delete(oldest);
    },
    get: (batch) => batches.get(batch),
  };
}
