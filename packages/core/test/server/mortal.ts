import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { FakeClock } from "../fake-clock.ts";

/** A server's view of clock and store until it dies: after that no timer of it fires and no store answers. */
export interface Mortal {
  /** `armed` counts this server's timers. */
  readonly clock: FakeClock;
  readonly store: ThreadStore;
  kill(): void;
}

export function mortal(clock: FakeClock, store: ThreadStore): Mortal {
  let dead = false;
  let armed = 0;
  const never = new Promise<never>(() => undefined);
  const alive = <Result>(work: () => Promise<Result>): Promise<Result> =>
    dead ? never : work().then((result) => (dead ? never : result));
  return {
    clock: {
      ...clock,
      after(ms, callback) {
        armed++;
        let isArmed = true;
        const disarm = (): void => {
          if (isArmed) armed--;
          isArmed = false;
        };
        const cancel = clock.after(ms, () => {
          disarm();
          if (!dead) callback();
        });
        return () => {
          disarm();
          cancel();
        };
      },
      get armed() {
        return armed;
      },
    },
    store: {
      read: (...args) => alive(() => store.read(...args)),
      append: (...args) => alive(() => store.append(...args)),
      follow: (...args) => store.follow(...args),
      lease: (...args) => alive(() => store.lease(...args)),
      list: (...args) => alive(() => store.list(...args)),
      remove: (...args) => alive(() => store.remove(...args)),
    },
    kill() {
      dead = true;
    },
  };
}
