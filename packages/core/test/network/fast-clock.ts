/** The clock of one client: runs faster than the world, and knows which timers are armed. */
export interface FastClock {
  readonly setTimeout: (callback: () => void, ms?: number) => Timer;
  readonly clearTimeout: (timer: Timer | undefined) => void;
  readonly setInterval: (callback: () => void, ms?: number) => Timer;
  readonly clearInterval: (timer: Timer | undefined) => void;
  readonly Date: DateConstructor;
  readonly armed: number;
}

type Timer = ReturnType<typeof setTimeout>;

/** A second of the world is `factor` seconds of the client. */
export function fastClock(factor: number): FastClock {
  const armed = new Set<Timer>();
  const began = Date.now();
  const clear = (timer: Timer | undefined): void => {
    clearTimeout(timer);
    if (timer) armed.delete(timer);
  };
  class FastDate extends Date {
    static override now(): number {
      return began + (Date.now() - began) * factor;
    }
  }
  return {
    setTimeout(callback, ms = 0) {
      const timer = setTimeout(() => {
        armed.delete(timer);
        callback();
      }, ms / factor);
      armed.add(timer);
      return timer;
    },
    setInterval(callback, ms = 0) {
      const timer = setInterval(callback, ms / factor);
      armed.add(timer);
      return timer;
    },
    clearTimeout: clear,
    clearInterval: clear,
    Date: FastDate as DateConstructor, // the client constructs none
    get armed() {
      return armed.size;
    },
  };
}
