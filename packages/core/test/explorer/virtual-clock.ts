import type { Clock } from "../../src/loop/clock.ts";

/** Time of a whole world. Moves only when the scheduler says so. */
export interface WorldTime {
  now: number;
  /** How far the store's clock is ahead of everybody else's. */
  storeAhead: number;
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/** The clock of one server: a timer that is due fires when the scheduler runs it, as in a process that is paused. */
export interface VirtualClock extends Clock {
  /** When the earliest timer is due, Infinity without one. */
  nextDue(): number;
  /** Runs every timer that is due, in order. */
  fire(): void;
  /** Forgets all timers: the process died. */
  clear(): void;
}

export function createVirtualClock(time: WorldTime, wallAhead: number): VirtualClock {
  const timers = new Set<Timer>();
  const nextDue = (): number => {
    let next = Number.POSITIVE_INFINITY;
    for (const timer of timers) next = Math.min(next, timer.due);
    return next;
  };
  return {
    now: () => time.now + wallAhead,
    monotonic: () => time.now,
    after(ms, callback) {
      const timer = { due: time.now + Math.max(0, ms), callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    breath: () => Promise.resolve(),
    random: () => 0,
    nextDue,
    fire() {
      const due = [...timers].filter((timer) => timer.due <= time.now).sort((left, right) => left.due - right.due);
      for (const timer of due) if (timers.delete(timer)) timer.callback();
    },
    clear: () => timers.clear(),
  };
}
