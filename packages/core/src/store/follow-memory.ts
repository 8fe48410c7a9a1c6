import type { MemoryData } from "./memory-log.ts";
import type { FollowChange } from "./thread-store.ts";

/** So that one slow reader never gets a whole log in one piece. */
const EVENTS_PER_CHANGE = 1000;

/**
 * Follows a log by a cursor: nothing is queued for anybody, and a follower is registered only while it waits,
 * so one that is dropped between two changes leaves nothing behind. Looking and registering are one
 * synchronous step: no append can fall between them.
 */
export function followMemory(
  data: MemoryData,
  id: string,
  after: number,
  signal: AbortSignal,
): AsyncIterableIterator<FollowChange> {
  let cursor = after;
  let ended = false;
  const waiting = new Set<() => void>();

  const end = (): { done: true; value: undefined } => {
    ended = true;
    for (const stop of waiting) stop();
    return { done: true, value: undefined };
  };

  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      const waiters = data.waiters.get(id) ?? new Set();
      const stop = (): void => {
        waiting.delete(stop);
        waiters.delete(stop);
        if (waiters.size === 0 && data.waiters.get(id) === waiters) data.waiters.delete(id);
        signal.removeEventListener("abort", stop);
        resolve();
      };
      waiting.add(stop);
      data.waiters.set(id, waiters.add(stop));
      signal.addEventListener("abort", stop);
    });

  return {
    async next() {
      while (!ended && !signal.aborted) {
        const change = changeAfter(data, id, cursor);
        if (!change) {
          await changed();
          continue;
        }
        if (change.type === "events") cursor += change.events.length;
        else ended = true;
        return { done: false, value: change };
      }
      return end();
    },
    async return() {
      return end();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function changeAfter(data: MemoryData, id: string, cursor: number): FollowChange | undefined {
  if (data.tombstones.has(id)) return { type: "removed" };
  const log = data.logs.get(id);
  if (!log) return cursor > 0 ? { type: "reset" } : undefined;
  if (cursor === log.head) return undefined;
  if (cursor < log.base || cursor > log.head) return { type: "reset" };
  const from = cursor - log.base;
  return { type: "events", events: log.events.slice(from, from + EVENTS_PER_CHANGE) };
}
