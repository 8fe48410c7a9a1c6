import { afterEach, describe, expect, it, vi } from "vitest";
import { newId, systemClock } from "../../src/loop/clock.ts";

function after(clock: ReturnType<typeof systemClock>, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

describe("the system's clock", () => {
  it("calls back in the order of what is due, whatever the order it was asked in", async () => {
    const clock = systemClock();
    const order: number[] = [];
    const all = Promise.all([15, 5, 10].map((ms) => after(clock, ms).then(() => order.push(ms))));
    const until = clock.monotonic() + 20;
    while (clock.monotonic() < until); // a busy server: all are due at once
    await all;
    expect(order).toEqual([5, 10, 15]);
  });

  it("does not call back before its time", async () => {
    const clock = systemClock();
    const before = clock.monotonic();
    await after(clock, 12);
    expect(clock.monotonic() - before).toBeGreaterThanOrEqual(12);
  });

  it("does not call back what was cancelled", async () => {
    const clock = systemClock();
    let called = false;
    clock.after(2, () => {
      called = true;
    })();
    await after(clock, 10);
    expect(called).toBe(false);
  });

  it("does not call back what another one cancelled that was due with it", async () => {
    const clock = systemClock();
    let called = false;
    let cancel: () => void = () => undefined;
    clock.after(2, () => cancel());
    cancel = clock.after(2, () => {
      called = true;
    });
    const until = clock.monotonic() + 5;
    while (clock.monotonic() < until);
    await after(clock, 5);
    expect(called).toBe(false);
  });

  it("calls the others back when one of them throws, and lets the error be seen", async () => {
    const clock = systemClock();
    const seen: unknown[] = [];
    const runners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => seen.push(error));
    try {
      clock.after(2, () => {
        throw new Error("a callback broke");
      });
      await after(clock, 3);
      await after(clock, 3);
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const runner of runners) process.on("uncaughtException", runner);
    }
    expect(seen.map(String)).toEqual(["Error: a callback broke"]);
  });

  it("takes a time further off than a timer can hold", () => {
    expect(() => systemClock().after(10 ** 12, () => undefined)()).not.toThrow();
  });
});

describe("an id", () => {
  it("[S03] has 22 characters that may stand in a path, and does not come twice", () => {
    const ids = Array.from({ length: 5_000 }, newId);
    for (const id of ids) expect(id).toMatch(/^[\w-]{22}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("the system's clock on Cloudflare Workers", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it("sets a timer for each caller, so that none hangs on another request's", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    const ended = new Set<number>();
    let request = 1;
    const real = setTimeout;
    // A request that ended takes its timers along.
    vi.stubGlobal("setTimeout", (callback: () => void, ms: number) => {
      const owner = request;
      return real(() => ended.has(owner) || callback(), ms);
    });
    const clock = systemClock();
    const called: number[] = [];
    clock.after(1, () => called.push(1));
    request = 2;
    const other = after(clock, 3).then(() => called.push(2));
    ended.add(1);
    await other;
    expect(called).toEqual([2]);
  });

  it("does not call back what was cancelled, also where the timer cannot be cleared", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    vi.stubGlobal("clearTimeout", () => undefined);
    const clock = systemClock();
    const called: string[] = [];
    clock.after(1, () => called.push("cancelled"))();
    await after(clock, 5);
    expect(called).toEqual([]);
  });
});
