import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { ToolRunError } from "../../src/errors.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { FaultyStore } from "../../src/testing/faulty-store.ts";
import { faultyStore } from "../../src/testing/faulty-store.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, say } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint } from "./endpoint.ts";
import { clerk } from "./endpoint.ts";
import { errorOf, shop } from "./shop.ts";
import { foldBlocks, parseBlocks, readStream } from "./sse.ts";

const LEASE_MS = 30_000;
const DOWN = { lostRequest: 1 };

interface Work {
  readonly tool: Tool;
  /** The idempotency keys of the attempts that began, and how many were aborted. */
  readonly keys: string[];
  readonly aborted: string[];
}

/** A tool that takes so long. */
function work(clock: FakeClock, ms: number, options: object = {}): Work {
  const keys: string[] = [];
  const aborted: string[] = [];
  const made = tool({
    description: "Work.",
    inputSchema: z.object({}),
    approval: "allow",
    ...options,
    execute: (_input: unknown, { signal, idempotencyKey }) => {
      keys.push(idempotencyKey);
      return new Promise<string>((resolve, reject) => {
        const cancel = clock.after(ms, () => resolve("worked"));
        signal.addEventListener("abort", () => {
          aborted.push(idempotencyKey);
          cancel();
          reject(signal.reason);
        });
      });
    },
  });
  return { tool: made, keys, aborted };
}

interface Made {
  readonly clock: FakeClock;
  readonly inner: ThreadStore;
  readonly store: FaultyStore;
  readonly server: Endpoint;
  readonly work: Work;
  /** Another server, whose connection is good. */
  readonly other: { readonly server: Endpoint; readonly work: Work };
}

/** A long answer, in pieces. */
const STORY = Array.from({ length: 200 }, (_, index) => [say(`w${index} `), delay(200)]).flat();

function made(script: readonly ScriptEntry[], options: { readonly ms?: number; readonly tool?: object } = {}): Made {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  const store = faultyStore(inner, { clock });
  const worker = work(clock, options.ms ?? 1_000, options.tool);
  const { server } = shop({ clock, store, script, tools: { work: worker.tool } });
  const spare = work(clock, options.ms ?? 1_000, options.tool);
  const other = shop({ clock, store: inner, script: [say("Done.")], tools: { work: spare.tool } });
  return { clock, inner, store, server, work: worker, other: { server: other.server, work: spare } };
}

const message = (text: string, key: string): object => ({ message: { text }, key });

describe("while the store is down", () => {
  it("every request is a 503 that says try again, and the same write sent again happens once", async () => {
    const { server, store, clock } = made([say("Hello."), say("More.")]);
    const first = await server.post("", message("Hi", "a"));
    const { threadId } = await first.json();
    await clock.advance(100);
    store.inject(DOWN);
    const again = [server.post("", message("Hi", "a")), server.post(`/${threadId}/messages`, message("More", "b"))];
    const looks = [server.get(""), server.get(`/${threadId}`), server.get(`/${threadId}/events`)];
    await clock.advance(10_000);
    for (const answer of await Promise.all([...again, ...looks])) {
      expect(await errorOf(answer)).toMatchObject({ status: 503, code: "unavailable" });
    }
    store.heal();
    expect((await server.post("", message("Hi", "a"))).status).toBe(201);
    expect((await server.post(`/${threadId}/messages`, message("More", "b"))).status).toBe(202);
    await clock.advance(100);
    const { messages, runs, anomalies } = await server.thread(threadId);
    expect([messages.length, runs.length, anomalies]).toEqual([2, 2, 0]);
  });

  it("a write whose answer alone is lost is a 503 at worst, and the same write again finds it", async () => {
    const { server, store, clock } = made([say("Hello.")]);
    store.inject({ lostReply: 1 });
    const lost = server.post("", message("Hi", "a"));
    await clock.advance(10_000);
    expect(await errorOf(await lost)).toMatchObject({ status: 503, code: "unavailable" });
    store.heal();
    const { threadId } = await (await server.post("", message("Hi", "a"))).json();
    await clock.advance(LEASE_MS);
    await server.sweep();
    await clock.advance(100);
    expect(await server.thread(threadId)).toMatchObject({ messages: [{}], runs: [{ outcome: "completed" }] });
  });

  it("a run that works keeps what it has, says so, and goes on where it was: nothing is lost, nothing twice", async () => {
    const { server, store, clock, work: worker } = made([call("work", {}), say("Done.")], { ms: 5_000 });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    store.inject(DOWN);
    await clock.advance(12_000); // the tool ends meanwhile
    expect(server.errors.length).toBeGreaterThan(2);
    for (const error of server.errors) expect(error).toMatchObject({ code: "unavailable" });
    store.heal();
    await clock.advance(10_000);
    const thread = await server.thread(threadId);
    expect(thread.runs).toMatchObject([{ outcome: "completed", text: "Done." }]);
    expect([worker.keys.length, worker.aborted.length, thread.anomalies, thread.epoch]).toEqual([1, 0, 0, 1]);
  });

  it("for longer than its lease a driver that has to write stops: it aborts, and writes nothing more", async () => {
    const { server, store, clock, inner } = made([calls(...STORY), say("Whole.")]);
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    const before = await inner.read(threadId);
    store.inject(DOWN);
    await clock.advance(LEASE_MS);
    expect(clock.armed).toBe(0);
    store.heal();
    await clock.advance(60_000);
    expect(await inner.read(threadId)).toEqual(before);
    await server.sweep();
    await clock.advance(1_000);
    expect(await server.thread(threadId)).toMatchObject({
      ...{ epoch: 2, anomalies: 0, runs: [{ outcome: "completed", text: "Whole." }] },
    });
  });

  it("for longer than its lease, what a tool makes meanwhile is kept where nobody took over, and nothing is started", async () => {
    const { server, store, clock, work: worker } = made([call("work", {}), say("Done.")], { ms: 45_000 });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    store.inject(DOWN);
    await clock.advance(LEASE_MS + 1);
    store.heal();
    await clock.advance(20_000);
    const events = await server.events(threadId);
    expect(events.filter(({ type }) => type === "call-settled")).toHaveLength(1);
    expect(clock.armed).toBe(0);
    await server.sweep();
    await clock.advance(1_000);
    expect(await server.thread(threadId)).toMatchObject({ runs: [{ outcome: "completed" }], anomalies: 0 });
    expect([worker.keys.length, worker.aborted.length]).toEqual([1, 0]);
  });

  it.each([
    ["sweep", async (server: Endpoint) => void (await server.sweep())],
    [
      "a reader",
      async (server: Endpoint, threadId: string) => readStream(await server.get(`/${threadId}/events`)).flow(),
    ],
  ])("%s of another server takes the run up: the tool that was cut off is a person's to judge", async (_who, look) => {
    const { server, store, clock, work: worker, other } = made([call("work", {}), say("Done.")], { ms: 600_000 });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    store.inject(DOWN);
    await clock.advance(LEASE_MS + 1);
    await look(other.server, threadId);
    await clock.advance(1_000);
    const asked = await other.server.read({ user: clerk, threadId });
    expect(asked?.pending).toMatchObject([{ tool: "work", ask: { kind: "interrupted" } }]);
    store.heal();
    await clock.advance(2_000);
    expect(worker.aborted).toHaveLength(1); // its renewal is lost: it looks, and is not the owner
    await other.server.skip(asked?.pending ?? [], { user: clerk });
    await clock.advance(1_000);
    expect(await server.thread(threadId)).toMatchObject({ runs: [{ outcome: "completed" }], anomalies: 0 });
    expect([worker.keys.length, other.work.keys.length, clock.armed]).toEqual([1, 0, 0]);
  });

  it("another server runs an idempotent tool again, with the key it had", async () => {
    const idempotent = { idempotent: true, timeoutMs: 100_000 };
    const { server, store, clock, work: worker, other } = made([call("work", {})], { ms: 50_000, tool: idempotent });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    store.inject(DOWN);
    await clock.advance(LEASE_MS + 1);
    await other.server.sweep();
    await clock.advance(1_000);
    store.heal();
    await clock.advance(60_000);
    expect(other.work.keys).toEqual(worker.keys);
    expect(worker.aborted).toHaveLength(1);
    expect(await server.thread(threadId)).toMatchObject({ runs: [{ outcome: "completed" }], anomalies: 0 });
  });

  it("a reader's stream ends, and goes on from its last id: each event once", async () => {
    const { server, store, clock } = made([calls(say("Once upon"), delay(20_000), say(" a time."))]);
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(100);
    store.inject({ disconnect: 1 });
    const stream = readStream(await server.get(`/${threadId}/events`));
    stream.flow();
    await clock.advance(20_000);
    expect(stream.done).toBe(true);
    store.heal();
    const seen = parseBlocks(stream.text);
    const last = seen.findLast(({ id }) => id !== undefined)?.id ?? "0";
    const rest = readStream(await server.get(`/${threadId}/events`, { "last-event-id": last }));
    rest.flow();
    await clock.advance(20_000);
    const folded = foldBlocks([...seen, ...parseBlocks(rest.text)], emptyThread(threadId));
    expect(folded.runs).toMatchObject([{ outcome: "completed", text: "Once upon a time." }]);
  });
});

describe("code that waits for a run", () => {
  it("follows again when its connection breaks, and hears the outcome", async () => {
    const { server, store, clock } = made([calls(say("Once"), delay(5_000), say(" more."))]);
    const sent = await server.send({ user: clerk, message: "Go" });
    store.inject({ disconnect: 0.8, lostRequest: 0.3 });
    const settled = sent.settled();
    await clock.advance(6_000);
    store.heal();
    await clock.advance(10_000);
    expect(await settled).toMatchObject({ status: "ended", text: "Once more." });
    expect(store.struck.disconnect).toBeGreaterThan(0);
  });

  it("gets `unavailable` when the store does not come back, and `not-found` when the thread is removed", async () => {
    const { server, store, clock, inner } = made([delay(Number.POSITIVE_INFINITY)]);
    const sent = await server.send({ user: clerk, message: "Go" });
    const removed = expect(sent.settled()).rejects.toMatchObject({ code: "not-found" });
    await clock.advance(0);
    await inner.remove(sent.threadId);
    await clock.advance(1_000);
    await removed;
    store.inject(DOWN);
    const down = expect(sent.settled()).rejects.toMatchObject({ code: "unavailable" });
    await clock.advance(60_000);
    await down;
  });

  it("hears of a store that is down by a typed error, from every verb", async () => {
    const { server, store, clock } = made([say("Hello.")]);
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(100);
    store.inject(DOWN);
    const who = { user: clerk, threadId };
    const step = { id: "c", threadId, digest: "d" };
    const verbs = [
      () => server.send({ user: clerk, message: "Go" }),
      () => server.read(who),
      () => server.list({ user: clerk }),
      () => server.sweep(),
      () => server.approve(step, { user: clerk }),
      () => server.stop(who),
      () => server.continue(who),
      () => server.rename({ ...who, title: "x" }),
      () => server.revoke({ ...who, grantId: "g" }),
      () => server.remove(who),
    ];
    for (const verb of verbs) {
      const refused = expect(verb()).rejects.toMatchObject({ name: "ToolRunError", code: "unavailable" });
      await clock.advance(10_000);
      await refused;
    }
  });
});

describe("a store that is slow", () => {
  it("so slow that a reader was told to try again: the stream that is ready too late follows nothing", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    let slow = false;
    const read: ThreadStore["read"] = async (...args) => {
      if (slow) await new Promise<void>((resolve) => void clock.after(6_000, resolve));
      return inner.read(...args);
    };
    const script = [delay(Number.POSITIVE_INFINITY)];
    const { server } = shop({ clock, store: { ...inner, read }, script });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(100);
    const armed = clock.armed;
    slow = true;
    const answer = server.get(`/${threadId}/events`, { "last-event-id": "1" });
    await clock.advance(10_000);
    expect(await errorOf(await answer)).toMatchObject({ status: 503, code: "unavailable" });
    slow = false;
    await clock.advance(5_000);
    expect(clock.armed).toBe(armed);
  });

  it("so slow that a driver asks again has each batch once", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    const store = faultyStore(inner, { clock, delayMs: 14_000 });
    const { server } = shop({ clock, store, script: [say("A long story with many words."), say("Done.")] });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    store.inject({ delay: 0.7 });
    await clock.advance(400_000);
    store.heal();
    await server.sweep();
    await clock.advance(60_000);
    const thread = await server.thread(threadId);
    expect(thread.runs).toMatchObject([{ outcome: "completed" }]);
    expect(thread.anomalies).toBe(0);
    const stored = await inner.read(threadId, 0);
    const batches = stored && "events" in stored ? stored.events.map(({ batch }) => batch) : [];
    const begins = batches.filter((batch, index) => batch !== batches[index - 1]);
    expect(new Set(begins).size).toBe(begins.length);
  });
});

/** Refuses what it is told to refuse, as a store that can say what is wrong. */
function refusing(store: ThreadStore): ThreadStore & { refuse: ToolRunError | undefined; reads: boolean } {
  const refuser = { refuse: undefined as ToolRunError | undefined, reads: true };
  const unless = <Result>(work: () => Promise<Result>, isRead = false): Promise<Result> =>
    refuser.refuse && !(isRead && refuser.reads) ? Promise.reject(refuser.refuse) : work();
  return Object.assign(refuser, {
    ...store,
    read: (...args: Parameters<ThreadStore["read"]>) => unless(() => store.read(...args), true),
    append: (...args: Parameters<ThreadStore["append"]>) => unless(() => store.append(...args)),
    lease: (...args: Parameters<ThreadStore["lease"]>) => unless(() => store.lease(...args)),
    list: (...args: Parameters<ThreadStore["list"]>) => unless(() => store.list(...args), true),
    remove: (...args: Parameters<ThreadStore["remove"]>) => unless(() => store.remove(...args)),
  });
}

describe("a store that refuses writes", () => {
  const server = (script: readonly ScriptEntry[] = [call("work", {}), say("Done.")]) => {
    const clock = fakeClock();
    const store = refusing(memoryStore({ clock }));
    const worker = work(clock, 5_000);
    return { clock, store, worker, ...shop({ clock, store, script, tools: { work: worker.tool } }) };
  };

  it.each([
    ["out of memory", new ToolRunError("unavailable", "Redis is out of memory (maxmemory).")],
    ["read-only", new ToolRunError("unavailable", "The database is read-only: connect to the primary.")],
  ])(
    "%s: it is read, a write is a 503 without the store's words, and a run goes on when it takes them",
    async (_, fault) => {
      const { clock, store, server: endpoint, worker } = server();
      const { threadId } = await endpoint.send({ user: clerk, message: "Go" });
      await clock.advance(1_000);
      store.refuse = fault;
      expect((await endpoint.get(`/${threadId}`)).status).toBe(200);
      const refused = endpoint.post(`/${threadId}/messages`, message("More", "b"));
      await clock.advance(10_000);
      const error = await errorOf(await refused);
      expect(error).toMatchObject({ status: 503, code: "unavailable" });
      expect(error.message).not.toContain("Re");
      expect(endpoint.errors).toContain(fault);
      store.refuse = undefined;
      await clock.advance(10_000);
      expect(await endpoint.thread(threadId)).toMatchObject({ runs: [{ outcome: "completed" }], anomalies: 0 });
      expect(worker.keys).toHaveLength(1);
    },
  );

  it.each([
    ["a version that is too old", true],
    ["an evicted key", false],
    ["a right that lacks", true],
  ])(
    "for %s: a 503 at once that names the fix; a run is not ended for it, and taken up when it is mended",
    async (what, reads) => {
      const { clock, store, server: endpoint } = server([calls(...STORY), say("Whole.")]);
      const { threadId } = await endpoint.send({ user: clerk, message: "Go" });
      await clock.advance(1_000);
      store.refuse = new ToolRunError("misconfigured", `${what}: the fix.`);
      store.reads = reads;
      const refused = await endpoint.post(`/${threadId}/messages`, message("More", "b"));
      expect(await errorOf(refused)).toMatchObject({
        status: 503,
        code: "misconfigured",
        message: `${what}: the fix.`,
      });
      await clock.advance(LEASE_MS + 1);
      expect(clock.armed).toBe(0);
      store.refuse = undefined;
      expect((await endpoint.thread(threadId)).active).toMatchObject([{ status: "running" }]);
      await endpoint.sweep();
      await clock.advance(1_000);
      expect((await endpoint.thread(threadId)).runs).toMatchObject([{ outcome: "completed", text: "Whole." }]);
    },
  );

  it("because it is too large: a write is a 413, and a run ends instead of being taken up for ever", async () => {
    const { clock, store, server: endpoint } = server();
    const { threadId } = await endpoint.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    const { append } = store;
    store.append = (id, position, write) =>
      write.events.some(({ data }) => data.includes("worked") || data.includes("Much"))
        ? Promise.reject(new ToolRunError("too-large", "The request is larger than the database takes."))
        : append(id, position, write);
    const refused = await endpoint.post(`/${threadId}/messages`, message("Much", "b"));
    expect(await errorOf(refused)).toMatchObject({ status: 413, code: "too-large" });
    await clock.advance(5_000);
    const { runs, anomalies } = await endpoint.thread(threadId);
    expect(runs).toMatchObject([{ outcome: "failed", code: "internal" }]);
    expect(anomalies).toBe(0);
    expect(endpoint.errors).toContainEqual(expect.objectContaining({ code: "too-large" }));
  });
});

/** A store that can fail over to one that lacks the last events: others may have written in their place. */
function failingOver(clock: FakeClock): ThreadStore & { failOver(id: string, head: number): Promise<void> } {
  let now = memoryStore({ clock });
  return {
    read: (...args) => now.read(...args),
    append: (...args) => now.append(...args),
    lease: (...args) => now.lease(...args),
    list: (...args) => now.list(...args),
    remove: (...args) => now.remove(...args),
    async *follow(id, after, signal) {
      const before = now;
      yield* before.follow(id, after, signal);
    },
    async failOver(id, head) {
      const read = await now.read(id, 0);
      const row = (await now.list(undefined)).rows[0];
      const next = memoryStore({ clock });
      for (const event of read && "events" in read ? read.events.slice(0, head) : []) {
        const { seq, batch, control, data } = event;
        const append = { batch, events: [{ control, data }], row };
        await next.append(id, { at: seq - 1 }, append);
      }
      now = next;
    },
  };
}

describe("a store that lost writes in a failover", () => {
  const orphan = async (head: (all: number) => number) => {
    const clock = fakeClock();
    const store = failingOver(clock);
    const worker = work(clock, 5_000);
    const story = Array.from({ length: 8 }, (_, index) => [say(`w${index} `), delay(100)]).flat();
    const script = [calls(...story, call("work", {})), say("Done.")];
    const { server } = shop({ clock, store, script, tools: { work: worker.tool } });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    expect(worker.keys).toHaveLength(1);
    const all = (await server.events(threadId)).length;
    await store.failOver(threadId, head(all));
    return { clock, store, worker, server, threadId };
  };

  it("is not driven on by who wrote them: it aborts, and nothing of it comes", async () => {
    const { clock, worker, server, threadId } = await orphan((all) => all - 2);
    const before = await server.events(threadId);
    await clock.advance(20_000);
    expect(await server.events(threadId)).toEqual(before);
    expect(clock.armed).toBe(0);
    expect(worker.keys).toHaveLength(1);
  });

  it("is taken up by sweep from what is there", async () => {
    const { clock, server, threadId } = await orphan((all) => all - 2);
    await clock.advance(LEASE_MS + 1);
    await server.sweep();
    await clock.advance(10_000);
    const read = await server.read({ user: clerk, threadId });
    expect(read?.status === "ended" || read?.pending.length === 1).toBe(true);
    expect((await server.thread(threadId)).anomalies).toBe(0);
  });

  it("together with the thread: the driver stops, and the thread is not there", async () => {
    const { clock, server, threadId, worker } = await orphan(() => 0);
    await clock.advance(20_000);
    expect((await server.get(`/${threadId}`)).status).toBe(404);
    expect(clock.armed).toBe(0);
    expect(worker.keys).toHaveLength(1);
  });
});
