import { describe, expect, it, test } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Append } from "../../src/store/thread-store.ts";
import { storeConformance } from "../../src/testing/store-conformance.ts";
import { clockedMemoryStore } from "./clocked-memory-store.ts";

storeConformance("memory", () => clockedMemoryStore(), { describe, it });

const one = (data: string, rest: Partial<Append> = {}): Append => ({
  batch: `batch of ${data}`,
  events: [{ control: true, data }],
  ...rest,
});

describe("the memory store", () => {
  test("each store has its own threads, shared ones are one", async () => {
    await memoryStore().append("t", { at: 0 }, one("a"));
    expect(await memoryStore().read("t")).toBeNull();
    const id = crypto.randomUUID();
    await memoryStore({ shared: true }).append(id, { at: 0 }, one("a"));
    expect(await memoryStore({ shared: true }).read(id)).toMatchObject({ head: 1 });
    expect(await memoryStore().read(id)).toBeNull();
  });

  test("a follower of one shared store hears an append of another", async () => {
    const id = crypto.randomUUID();
    const control = new AbortController();
    const changes = memoryStore({ shared: true }).follow(id, 0, control.signal)[Symbol.asyncIterator]();
    const next = changes.next();
    await memoryStore({ shared: true }).append(id, { at: 0 }, one("a"));
    expect(await next).toMatchObject({ value: { type: "events", events: [{ data: "a" }] } });
    control.abort();
  });

  test.each(["__proto__", "constructor", "toString", ""])("a thread and its owner may be called %j", async (name) => {
    const store = memoryStore();
    expect(await store.read(name)).toBeNull();
    const row = { id: name, owner: name, title: "", status: "ended", pending: 0, updatedAt: 1 } as const;
    await store.append(name, { at: 0 }, one("a", { row }));
    expect(await store.read(name)).toMatchObject({ head: 1 });
    expect((await store.list(name)).rows).toEqual([row]);
    await store.remove(name);
    expect(await store.read(name)).toEqual({ gone: true });
  });

  test("what a caller keeps of its arguments and answers does not reach the store", async () => {
    const store = memoryStore();
    const row = { id: "t", owner: "o", title: "before", status: "ended" as const, pending: 0, updatedAt: 1 };
    const events = [{ control: true, data: "a" }];
    await store.append("t", { at: 0 }, { batch: "b", events, row });
    events[0] = { control: true, data: "changed" };
    row.title = "changed";
    const before = await store.read("t");
    const listed = (await store.list("o")).rows;
    await store.append("t", { at: 1 }, one("b"));
    expect(before).toEqual({ head: 1, control: 1, events: [{ seq: 1, batch: "b", control: true, data: "a" }] });
    expect(listed[0]?.title).toBe("before");
  });

  test("a follower that is returned while it waits ends, and leaves nothing behind", async () => {
    const store = memoryStore();
    const control = new AbortController();
    const changes = store.follow("t", 0, control.signal)[Symbol.asyncIterator]();
    const next = changes.next();
    await changes.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await changes.next()).toEqual({ done: true, value: undefined });
  });

  test("ten thousand followers that wait and are aborted leave no entry in the shared data", async () => {
    const store = memoryStore({ shared: true });
    const controls = Array.from({ length: 10_000 }, () => new AbortController());
    const waiting = controls.map(({ signal }, index) =>
      store
        .follow(`waiting-${index % 100}`, 0, signal)
        [Symbol.asyncIterator]()
        .next(),
    );
    await Promise.resolve();
    const { waiters } = Reflect.get(globalThis, Symbol.for("toolrun.memory"));
    expect(waiters.size).toBe(100);
    for (const control of controls) control.abort();
    expect(await Promise.all(waiting)).toEqual(Array(10_000).fill({ done: true, value: undefined }));
    expect(waiters.size).toBe(0);
  });

  test("a tombstone is forgotten after its time, and the id begins anew", async () => {
    let now = 0;
    const store = memoryStore({ clock: { now: () => now }, tombstoneMs: 1000 });
    await store.append("t", { at: 0 }, one("a"));
    await store.remove("t");
    now = 999;
    expect(await store.append("t", { at: 0 }, one("b"))).toEqual({ status: "gone" });
    now = 1000;
    expect(await store.append("t", { at: 0 }, one("b"))).toEqual({ status: "ok", first: 1, head: 1 });
  });

  test("an append without events and a cursor of somebody else's are refused with the reason", async () => {
    const store = memoryStore();
    await expect(store.append("t", { at: 0 }, { batch: "b", events: [] })).rejects.toThrow("at least one");
    await expect(store.list("o", "nonsense")).rejects.toMatchObject({ code: "bad-request" });
    expect(await store.read("t")).toBeNull();
  });
});
