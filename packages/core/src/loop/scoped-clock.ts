import type { Clock } from "./clock.ts";

/** The same clock; closing it takes back every timer that was set by it and has not fired, and no other is set. */
export function scopedClock(clock: Clock): { readonly clock: Clock; close(): void } {
  const armed = new Set<() => void>();
  let closed = false;
  return {
    clock: {
      now: clock.now,
      monotonic: clock.monotonic,
      random: clock.random,
      breath: clock.breath,
      after(ms, callback) {
        if (closed) return () => undefined; // what goes on behind the end goes nowhere
        const cancel = clock.after(ms, () => {
          armed.delete(cancel);
          callback();
        });
        armed.add(cancel);
        return () => {
          armed.delete(cancel);
          cancel();
        };
      },
    },
    close() {
      closed = true;
      for (const cancel of armed) cancel();
      armed.clear();
    },
  };
}
