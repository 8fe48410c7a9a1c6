import type { StoredEvent } from "../store/thread-store.ts";
import { after } from "./timer.ts";

/** What a store answers to somebody who has everything up to a cursor. */
export type LogPage =
  /** The events that come next, not necessarily all. None: the cursor is the head. */
  | {
      readonly type: "events";
      readonly events: readonly StoredEvent[];
      readonly head: number;
      /** The one that ends at the head. */
      readonly batch: string;
    }
  | { readonly type: "none" | "reset" | "removed" };

export interface Listening {
  /** True while a notification would arrive. */
  isLive(): boolean;
  stop(): void;
}

/** Where logs are read, and how one hears of changes. */
export interface LogSource {
  /** `batch` is the one that ends at the cursor, where that is known: with another one there, it is a reset. */
  page(id: string, after: number, batch: string | undefined): Promise<LogPage>;
  /** Calls `look` with the head that was announced, or without one when anything may have happened. */
  readonly listen?: ((id: string, look: (head?: number) => void) => Listening) | undefined;
}

/** Time, handed in so that tests decide it. */
export interface WatchClock {
  monotonic(): number;
  after(ms: number, callback: () => void): () => void;
}

/** A log as everybody in this process who follows it sees it. */
export interface Watch {
  /** Moves whenever there may be something new. */
  readonly turn: number;
  /** The events after a cursor that are at hand; undefined when the store has to be asked. */
  after(cursor: number): readonly StoredEvent[] | undefined;
  /** Somebody asked the store: it has nothing after this cursor, where this batch ends. */
  arm(cursor: number, batch: string | undefined): void;
  /** Resolves when `turn` is another one, or when `stop` is called, which it gets handed. */
  moved(turn: number, onWait: (stop: () => void) => void): Promise<void>;
  leave(): void;
}

export interface Watches {
  join(id: string): Watch;
  /** Events this process wrote: its followers need not ask for them. */
  feed(id: string, events: readonly StoredEvent[]): void;
}

/** Where notifications arrive, in case one does not. */
const BACKSTOP_MS = 5000;
const FIRST_POLL_MS = 150;
const LAST_POLL_MS = 1000;
const KEPT_EVENTS = 1000;
const KEPT_CHARS = 1_000_000;

/**
 * One look at the store for all who follow a thread in this process: on a notification, or by the clock where none
 * arrive, ever more rarely while nothing happens. A thread in which something came without a notification is looked at
 * often until one comes: its writer may have no way to notify. Nobody waiting, nobody looking.
 */
export function createWatches(
  source: LogSource,
  clock: WatchClock = { monotonic: () => performance.now(), after },
): Watches {
  const logs = new Map<string, WatchedLog>();
  return {
    join(id) {
      let log = logs.get(id);
      if (!log) {
        log = watchLog(source, id, clock, () => logs.delete(id));
        logs.set(id, log);
      }
      return log.join();
    },
    feed(id, events) {
      logs.get(id)?.feed(events);
    },
  };
}

interface WatchedLog {
  join(): Watch;
  feed(events: readonly StoredEvent[]): void;
}

function watchLog(source: LogSource, id: string, clock: WatchClock, onEnd: () => void): WatchedLog {
  const waiting = new Set<() => void>();
  let turn = 0;
  let followers = 0;
  let head: number | undefined; // undefined until somebody asked the store
  let events: StoredEvent[] = []; // the last ones up to the head
  let chars = 0;
  let batch: string | undefined; // of the event at the head
  let heardAt = clock.monotonic();
  let interval = FIRST_POLL_MS;
  let polling = false;
  let stale = false;
  let unheard = false; // something came that nobody announced
  let cancelPoll: (() => void) | undefined;

  const wake = (): void => {
    turn++;
    for (const stop of [...waiting]) stop();
  };
  const keep = (more: readonly StoredEvent[]): void => {
    const known = head ?? 0;
    const fresh = more.filter(({ seq }) => seq > known);
    if (fresh.length === 0) return;
    head = known + fresh.length;
    batch = fresh.at(-1)?.batch;
    const size = sizeOf(fresh);
    chars += size;
    if (events.length + fresh.length > KEPT_EVENTS || chars > KEPT_CHARS) [events, chars] = [fresh, size];
    else events.push(...fresh);
    heardAt = clock.monotonic();
    interval = FIRST_POLL_MS;
    wake();
  };
  const restart = (at?: number, last?: string): void => {
    [head, batch, events, chars] = [at, last, [], 0];
    wake();
  };

  const poll = async (byClock = false): Promise<void> => {
    stale = true;
    if (polling || head === undefined) return;
    polling = true;
    while (stale && head !== undefined && waiting.size > 0) {
      stale = false;
      try {
        const page = await source.page(id, head, batch);
        heardAt = clock.monotonic();
        if (page.type === "events") {
          if (page.events.length === 0) interval = Math.min(LAST_POLL_MS, interval * 1.5);
          else unheard ||= byClock;
          const before = head;
          keep(page.events);
          if (head > before && page.head > head) stale = true;
        } else if (page.type !== "none" || head > 0)
          restart(); // each asks: the answer depends on his cursor
        else interval = Math.min(LAST_POLL_MS, interval * 1.5);
      } catch {
        restart(); // whoever follows asks, and gets the error
      }
    }
    polling = false;
    schedule();
  };
  const schedule = (): void => {
    if (cancelPoll || waiting.size === 0) return;
    const due = (): number => heardAt + (listening?.isLive() && !unheard ? BACKSTOP_MS : interval) - clock.monotonic();
    cancelPoll = clock.after(due(), () => {
      cancelPoll = undefined;
      if (waiting.size === 0) return;
      if (due() < 1) void poll(true);
      else schedule();
    });
  };
  const listening = source.listen?.(id, (announced) => {
    if (announced !== undefined) unheard = false;
    if (announced !== undefined && announced >= 0 && head !== undefined && announced <= head) return;
    if (waiting.size > 0 && head !== undefined) void poll();
    else {
      stale = true;
      turn++;
    }
  });

  const join = (): Watch => {
    followers++;
    let left = false;
    return {
      get turn() {
        return turn;
      },
      after(cursor) {
        if (head === undefined || cursor > head || cursor < head - events.length) return undefined;
        return events.slice(events.length - (head - cursor));
      },
      arm(cursor, last) {
        if (head !== undefined && head >= cursor) return;
        heardAt = clock.monotonic();
        restart(cursor, last);
      },
      moved(seen, onWait) {
        if (seen !== turn || left) return Promise.resolve();
        return new Promise((resolve) => {
          const stop = (): void => {
            waiting.delete(stop);
            resolve();
          };
          waiting.add(stop);
          onWait(stop);
          if (stale) void poll();
          else schedule();
        });
      },
      leave() {
        if (left) return;
        left = true;
        if (--followers > 0) return;
        cancelPoll?.();
        listening?.stop();
        onEnd();
      },
    };
  };
  return {
    join,
    feed(more) {
      const [first] = more;
      if (head === undefined || !first) return;
      if (first.seq > head + 1) void poll();
      else if (first.seq > head || events.at(first.seq - head - 1)?.batch === first.batch) keep(more);
      else restart(); // the store went back and on without what we know, or we no longer know
    },
  };
}

function sizeOf(events: readonly StoredEvent[]): number {
  return events.reduce((sum, { data }) => sum + data.length, 0);
}
