import type { Clock } from "../src/loop/clock.ts";

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves time on, fires what falls due on the way, and lets everything that follows from it happen. */
  advance(ms: number): Promise<void>;
  /** Timers that are armed. */
  readonly armed: number;
}

interface Entry {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

export function fakeClock(start = 1_000_000): FakeClock {
  const entries = new Set<Entry>();
  let now = start;
  let count = 0;
  const earliest = (until: number): Entry | undefined => {
    let found: Entry | undefined;
    for (const entry of entries) {
      if (entry.due > until) continue;
      if (!found || entry.due < found.due || (entry.due === found.due && entry.order < found.order)) found = entry;
    }
    return found;
  };
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, callback) {
      const entry = { due: now + Math.max(0, ms), order: count++, callback };
      entries.add(entry);
      return () => entries.delete(entry);
    },
    breath: turnOfTheLoop,
    random: () => 0,
    async advance(ms) {
      const until = now + ms;
      await quiet();
      for (let entry = earliest(until); entry; entry = earliest(until)) {
        now = Math.max(now, entry.due);
        entries.delete(entry);
        entry.callback();
        await quiet();
      }
      now = until;
      await quiet();
    },
    get armed() {
      return entries.size;
    },
  };
}

/** Lets everything happen that needs no timer. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await turnOfTheLoop();
}

/** Waits for something that needs no timer. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) {
    if (condition()) return;
    await turnOfTheLoop();
  }
  throw new Error("It did not happen.");
}

export function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
