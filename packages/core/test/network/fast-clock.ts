/** The clock of the clients of one schedule: faster than the world, and it knows which timers are armed. */
export interface FastClock {
  readonly setTimeout: (callback: () => void, ms?: number) => Entry;
  readonly clearTimeout: (entry: Entry | undefined) => void;
  readonly setInterval: (callback: () => void, ms?: number) => Entry;
  readonly clearInterval: (entry: Entry | undefined) => void;
  readonly Date: DateConstructor;
  readonly armed: number;
  stop(): void;
}

interface Entry {
  due: number;
  readonly callback: () => void;
  readonly everyMs: number | undefined;
}

const TICK_MS = 2;
/** Where the machine is too busy for more turns of the loop, less time goes by: nobody is late because of it. */
const MOST_MS = 5;

/** A second of the world is at most `factor` seconds of the client. */
export function fastClock(factor: number): FastClock {
  const entries = new Set<Entry>();
  let now = Date.now();
  let last = performance.now();
  const tick = setInterval(() => {
    const real = performance.now();
    now += Math.min(real - last, MOST_MS) * factor;
    last = real;
    const due = [...entries].filter((entry) => entry.due <= now).sort((one, two) => one.due - two.due);
    for (const entry of due) {
      if (!entries.has(entry)) continue; // one before it cleared it
      if (entry.everyMs === undefined) entries.delete(entry);
      else entry.due = now + entry.everyMs;
      entry.callback();
    }
  }, TICK_MS);
  const add = (callback: () => void, ms: number, everyMs?: number): Entry => {
    const entry = { due: now + ms, callback, everyMs };
    entries.add(entry);
    return entry;
  };
  const clear = (entry: Entry | undefined): void => {
    if (entry) entries.delete(entry);
  };
  class FastDate extends Date {
    static override now(): number {
      return now;
    }
  }
  return {
    setTimeout: (callback, ms = 0) => add(callback, ms),
    setInterval: (callback, ms = 0) => add(callback, ms, ms),
    clearTimeout: clear,
    clearInterval: clear,
    Date: FastDate as DateConstructor, // the client constructs none
    get armed() {
      return entries.size;
    },
    stop: () => clearInterval(tick),
  };
}
