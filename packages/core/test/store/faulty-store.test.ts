import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { FollowChange } from "../../src/store/thread-store.ts";
import type { StoreFaultName, StoreFaults } from "../../src/testing/faulty-store.ts";
import { faultyStore } from "../../src/testing/faulty-store.ts";
import { storeConformance } from "../../src/testing/store-conformance.ts";
import { fakeClock, quiet } from "../fake-clock.ts";
import { clockedMemoryStore } from "./clocked-memory-store.ts";

const a = { batch: "a", events: [{ control: true, data: "a" }] };
const b = { batch: "b", events: [{ control: true, data: "b" }] };
const unavailable = { code: "unavailable", message: expect.stringContaining("on purpose") };

function made(faults: StoreFaults, seed = 1) {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  return { clock, inner, store: faultyStore(inner, { faults, seed, clock, delayMs: 1_000, lateMs: 1_000 }) };
}

/** What a follower gets, and how it ends. */
async function followed(changes: AsyncIterable<FollowChange>, count: number): Promise<string[]> {
  const seen: string[] = [];
  try {
    for await (const change of changes) {
      seen.push(change.type === "events" ? change.events.map(({ data }) => data).join("") : change.type);
      if (seen.length === count) break;
    }
  } catch (error) {
    seen.push(String(error));
  }
  return seen;
}

storeConformance("a faulty one that is healed", () => clockedMemoryStore((store) => faultyStore(store)), {
  describe,
  it,
});

describe("a faulty store", () => {
  it("loses an answer: it is written, and the caller does not know", async () => {
    const { store, inner } = made({ lostReply: 1 });
    await expect(store.append("t", { at: 0 }, a)).rejects.toMatchObject(unavailable);
    expect(await inner.read("t")).toMatchObject({ head: 1 });
    expect(store.struck).toMatchObject({ lostReply: 1, lostRequest: 0 });
  });

  it("loses a request, of every method: the store is down", async () => {
    const { store, inner } = made({ lostRequest: 1 });
    await inner.append("t", { at: 0 }, a);
    const calls = [
      store.read("t"),
      store.append("t", { at: 1 }, b),
      store.lease("t", "d", 1_000),
      store.list("o"),
      store.remove("t"),
      store.follow("t", 0, new AbortController().signal)[Symbol.asyncIterator]().next(),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject(unavailable);
    expect(await inner.read("t")).toMatchObject({ head: 1 });
    expect(store.struck.lostRequest).toBe(calls.length);
  });

  it("lets a write arrive after its caller gave up, also when it is healed by then", async () => {
    const { store, inner, clock } = made({ lateWrite: 1 });
    await expect(store.append("t", { at: 0 }, a)).rejects.toMatchObject(unavailable);
    expect(await inner.read("t")).toBeNull();
    store.heal();
    await clock.advance(1_000);
    expect(await inner.read("t")).toMatchObject({ head: 1 });
    expect(clock.armed).toBe(0);
  });

  it("lets what is too late be refused, and nobody hears of it", async () => {
    const { store, inner, clock } = made({ lateWrite: 1 });
    await expect(store.append("t", { at: 0 }, a)).rejects.toMatchObject(unavailable);
    await inner.append("t", { at: 0 }, b);
    await clock.advance(1_000);
    expect(await inner.read("t")).toMatchObject({ head: 1, events: [{ data: "b" }] });
  });

  it("sends a write twice: the answer is the second one's", async () => {
    const { store, inner } = made({ duplicate: 1 });
    expect(await store.append("t", { at: 0 }, a)).toMatchObject({ status: "conflict", events: [{ batch: "a" }] });
    expect(await inner.read("t")).toMatchObject({ head: 1 });
  });

  it("takes its time, on the way there and back", async () => {
    const { store, inner, clock } = made({ delay: 1 });
    let answered = false;
    const appended = store.append("t", { at: 0 }, a).finally(() => {
      answered = true;
    });
    await quiet();
    expect([answered, await inner.read("t")]).toEqual([false, null]);
    await clock.advance(2_000);
    expect(await appended).toMatchObject({ status: "ok" });
    expect(store.struck.delay).toBe(2);
  });

  it("breaks a follower's connection before a change reaches it", async () => {
    const { store, inner } = made({ disconnect: 1 });
    await inner.append("t", { at: 0 }, a);
    const seen = await followed(store.follow("t", 0, new AbortController().signal), 1);
    expect(seen).toEqual([expect.stringContaining("broken")]);
    store.heal();
    expect(await followed(store.follow("t", 0, new AbortController().signal), 1)).toEqual(["a"]);
  });

  it("does not notify a follower, which looks by itself after 5 s or ends with its signal", async () => {
    const { store, inner, clock } = made({ droppedNotification: 1, duplicate: 1 });
    await inner.append("t", { at: 0 }, a);
    const control = new AbortController();
    const seen = followed(store.follow("t", 0, control.signal), 3);
    await clock.advance(4_999);
    expect(store.struck).toMatchObject({ droppedNotification: 1, duplicate: 0 });
    await clock.advance(1);
    await inner.append("t", { at: 1 }, b);
    await quiet();
    control.abort();
    expect(await seen).toEqual(["a", "a"]);
    expect(clock.armed).toBe(0);
  });

  it.each([
    [0.5, 20_000],
    [-0.5, 60_000],
  ])("with a clock skew of %d a lease of 30 s lasts %i ms", async (clockSkew, ms) => {
    const { store, inner, clock } = made({ clockSkew });
    await store.append("t", { at: 0 }, { ...a, lease: { driverId: "d", ttlMs: 30_000 } });
    await clock.advance(ms - 1);
    expect(await store.lease("t", "d", 30_000)).toMatchObject({ status: "ok" });
    await clock.advance(ms);
    expect(await inner.lease("t", "d", 1)).toEqual({ status: "lost" });
  });

  it("does the same for the same seed, something else for another, and about as often as it is told", async () => {
    const play = async (seed: number): Promise<string> => {
      const { store } = made({ lostRequest: 0.3 }, seed);
      const read = (): Promise<string> =>
        store.read("t").then(
          () => ".",
          () => "x",
        );
      let outcome = "";
      for (let index = 0; index < 500; index++) outcome += await read();
      expect(store.struck.lostRequest).toBe(outcome.split("x").length - 1);
      return outcome;
    };
    const [once, again, other] = [await play(7), await play(7), await play(8)];
    expect(again).toBe(once);
    expect(other).not.toBe(once);
    for (const outcome of [once, other]) {
      expect(outcome.split("x").length).toBeGreaterThan(110);
      expect(outcome.split("x").length).toBeLessThan(190);
    }
  });

  it("is healed of everything, and takes other faults", async () => {
    const names: readonly StoreFaultName[] = [
      "lostReply",
      "lostRequest",
      "lateWrite",
      "duplicate",
      "delay",
      "disconnect",
    ];
    const { store } = made(Object.fromEntries(names.map((name) => [name, 1])));
    store.heal();
    expect(await store.append("t", { at: 0 }, a)).toMatchObject({ status: "ok" });
    expect(Object.values(store.struck).every((count) => count === 0)).toBe(true);
    store.inject({ lostReply: 1 });
    await expect(store.read("t")).rejects.toMatchObject(unavailable);
  });
});
