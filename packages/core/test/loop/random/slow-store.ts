import type { Clock } from "../../../src/loop/clock.ts";
import type { Append, ThreadStore } from "../../../src/store/thread-store.ts";
import { hang, pass } from "./waiting.ts";

export interface StorePlace {
  readonly clock: Pick<Clock, "after">;
  /** What the next part of a call takes. */
  latency(): number;
  isDead(): boolean;
  /** An append is in the log. */
  onAppended(append: Append, first: number): void;
}

/** A store as one server reaches it: calls take time, before and after they are applied; the dead hear nothing. */
export function slowStore(inner: ThreadStore, place: StorePlace): ThreadStore {
  const call = async <Result>(apply: () => Promise<Result>): Promise<Result> => {
    await wait();
    const result = await apply();
    await wait();
    return result;
  };
  const wait = async (): Promise<void> => {
    if (place.isDead()) return hang();
    const ms = place.latency();
    if (ms === 0) return;
    await pass(place.clock, ms);
    if (place.isDead()) return hang();
  };
  return {
    read: (id, after) => call(() => inner.read(id, after)),
    append: (id, position, append) =>
      call(async () => {
        const result = await inner.append(id, position, append);
        if (result.status === "ok") place.onAppended(append, result.first);
        return result;
      }),
    follow: (id, after, signal) => inner.follow(id, after, signal),
    lease: (id, driverId, ttlMs) => call(() => inner.lease(id, driverId, ttlMs)),
    list: (owner, cursor, filter) => call(() => inner.list(owner, cursor, filter)),
    remove: (id) => call(() => inner.remove(id)),
  };
}
