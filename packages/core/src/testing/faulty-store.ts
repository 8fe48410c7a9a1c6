import { ToolRunError } from "../errors.ts";
import type { Clock } from "../loop/clock.ts";
import { systemClock } from "../loop/clock.ts";
import type { Append, FollowChange, ThreadStore } from "../store/thread-store.ts";

/** What goes wrong between a server and its store: how often each, from 0 (never, the default) to 1 (always). */
export interface StoreFaults {
  /** It was done, and the answer is lost: the caller gets an error. */
  readonly lostReply?: number | undefined;
  /** The store never hears of it: the caller gets an error. With 1 the store is down. */
  readonly lostRequest?: number | undefined;
  /** The caller gets an error, and the write arrives after that, up to `lateMs` later. */
  readonly lateWrite?: number | undefined;
  /** A write arrives twice and the second answer comes back; a follower gets the same change twice. */
  readonly duplicate?: number | undefined;
  /** A request or an answer takes up to `delayMs` longer. */
  readonly delay?: number | undefined;
  /** A follower's connection breaks where the next change would have come: `follow` throws. */
  readonly disconnect?: number | undefined;
  /** A follower is not told of a change, and finds it when it looks by itself, 5 s later. */
  readonly droppedNotification?: number | undefined;
  /**
   * By how much the store's clock is faster where it counts leases: with 0.5 one of 30 s lasts 20 s, with −0.5 a
   * minute. Not a rate, and not counted.
   */
  readonly clockSkew?: number | undefined;
}

/** The faults that strike at a rate. */
export type StoreFaultName = Exclude<keyof StoreFaults, "clockSkew">;

export interface FaultyStoreOptions {
  /** From the beginning. @defaultValue none */
  readonly faults?: StoreFaults | undefined;
  /** The same seed and the same calls in the same order: the same faults. @defaultValue 1 */
  readonly seed?: number | undefined;
  /** For delays. @defaultValue the system's clock */
  readonly clock?: Pick<Clock, "after"> | undefined;
  /** @defaultValue 100 */
  readonly delayMs?: number | undefined;
  /** @defaultValue 1,000 */
  readonly lateMs?: number | undefined;
}

/** A store that fails as it is told. */
export interface FaultyStore extends ThreadStore {
  /** How often each fault struck. */
  readonly struck: Readonly<Record<StoreFaultName, number>>;
  /** These faults from now on, and no others. */
  inject(faults: StoreFaults): void;
  /** No faults from now on. What is under way still arrives late. */
  heal(): void;
}

/** A follower that is not notified looks by itself: docs/protocol.md 5.2. */
const LOOK_MS = 5_000;

/**
 * A store that loses, delays and repeats on purpose, in front of a real one: for tests of an app against an unreliable
 * store, and of a store against callers that send a batch again. What reaches the store inside is always a whole call.
 *
 * Its errors are `unavailable`, as those of a store that did not answer.
 */
export function faultyStore(store: ThreadStore, options: FaultyStoreOptions = {}): FaultyStore {
  const { seed = 1, clock = systemClock(), delayMs = 100, lateMs = 1_000 } = options;
  const random = seeded(seed);
  const struck: Record<StoreFaultName, number> = {
    ...{ lostReply: 0, lostRequest: 0, lateWrite: 0, duplicate: 0, delay: 0, disconnect: 0, droppedNotification: 0 },
  };
  let faults = options.faults ?? {};

  const strikes = (name: StoreFaultName): boolean => {
    const rate = faults[name] ?? 0;
    if (rate <= 0 || random() >= rate) return false;
    struck[name]++;
    return true;
  };
  const travel = async (): Promise<void> => {
    if (strikes("delay")) await pause(clock, random() * delayMs);
  };
  const call = async <Result>(what: string, apply: () => Promise<Result>, writes: boolean): Promise<Result> => {
    await travel();
    if (strikes("lostRequest")) throw lost(`${what} did not arrive`);
    if (writes && strikes("lateWrite")) {
      void pause(clock, random() * lateMs).then(() => apply().catch(() => undefined)); // nobody hears of it
      throw lost(`${what} is late`);
    }
    if (writes && strikes("duplicate")) await apply();
    const result = await apply();
    if (strikes("lostReply")) throw lost(`the answer to ${what} is lost`);
    await travel();
    return result;
  };
  const skewed = (ttlMs: number): number => Math.round(ttlMs / (1 + (faults.clockSkew ?? 0)));

  async function* follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<FollowChange> {
    if (strikes("lostRequest")) throw lost("follow did not arrive");
    for await (const change of store.follow(id, after, signal)) {
      if (strikes("disconnect")) throw lost("the connection of a follower is broken");
      if (strikes("droppedNotification")) await pause(clock, LOOK_MS, signal);
      if (signal.aborted) return;
      yield change;
      if (change.type === "events" && strikes("duplicate")) yield change;
    }
  }

  return {
    struck,
    inject(next) {
      faults = next;
    },
    heal() {
      faults = {};
    },
    read: (id, after) => call("read", () => store.read(id, after), false),
    append: (id, position, append) => call("append", () => store.append(id, position, withLease(append, skewed)), true),
    follow,
    lease: (id, driverId, ttlMs) => call("lease", () => store.lease(id, driverId, skewed(ttlMs)), true),
    list: (owner, cursor, filter) => call("list", () => store.list(owner, cursor, filter), false),
    remove: (id) => call("remove", () => store.remove(id), true),
  };
}

function withLease(append: Append, skewed: (ttlMs: number) => number): Append {
  const { lease } = append;
  return lease && "driverId" in lease ? { ...append, lease: { ...lease, ttlMs: skewed(lease.ttlMs) } } : append;
}

function lost(what: string): ToolRunError {
  return new ToolRunError("unavailable", `A fault on purpose: ${what}.`);
}

/** Ends with the signal, too. */
function pause(clock: Pick<Clock, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}

/** From 0 to 1, the same numbers for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
