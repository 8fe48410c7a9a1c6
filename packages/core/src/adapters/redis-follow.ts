import type { FollowChange } from "../store/thread-store.ts";
import { oneByOne } from "./one-by-one.ts";
import type { LogSource, Watch, Watches } from "./redis-watch.ts";

/**
 * Follows a log by a cursor. What is at hand in this process is taken from there, everything else is read from the
 * store, so nothing is queued for anybody. Ends with its signal and leaves nothing behind.
 * @throws what the store throws when it is asked
 */
export function followLog(
  source: LogSource,
  watches: Watches,
  id: string,
  after: number,
  signal: AbortSignal,
): AsyncIterableIterator<FollowChange> {
  let cursor = after;
  let batch: string | undefined; // of the event at the cursor
  let ended = false;
  let watch: Watch | undefined;
  let stopWaiting = (): void => undefined;

  const end = (): void => {
    ended = true;
    signal.removeEventListener("abort", end);
    watch?.leave();
    stopWaiting();
  };
  const begin = (): Watch => {
    signal.addEventListener("abort", end);
    return watches.join(id);
  };

  const look = async (from: Watch): Promise<FollowChange | undefined> => {
    const ready = from.after(cursor);
    if (ready) return ready.length > 0 ? { type: "events", events: ready } : undefined;
    const page = await source.page(id, cursor, batch);
    if (page.type === "none" && cursor === 0) {
      from.arm(0, undefined);
      return undefined;
    }
    if (page.type !== "events") return { type: page.type === "removed" ? "removed" : "reset" };
    if (page.events.length > 0) return { type: "events", events: page.events };
    batch = page.batch; // no events: the cursor is the head
    from.arm(cursor, batch);
    return undefined;
  };

  const step = async (): Promise<IteratorResult<FollowChange>> => {
    while (!ended && !signal.aborted) {
      watch ??= begin();
      const { turn } = watch;
      const change = await look(watch).catch((error: unknown) => {
        end();
        throw error;
      });
      if (ended) break;
      if (change) {
        if (change.type === "events") {
          cursor += change.events.length;
          batch = change.events.at(-1)?.batch;
        } else end();
        return { done: false, value: change };
      }
      await watch.moved(turn, (stop) => {
        stopWaiting = stop;
      });
    }
    end();
    return { done: true, value: undefined };
  };
  return oneByOne(step, end);
}
