import { afterEach, describe, expect, test, vi } from "vitest";
import type { ThreadClient, ThreadClientOptions } from "../../src/client/thread-client.ts";
import { createThreadClient } from "../../src/client/thread-client.ts";
import { projectThread } from "../../src/protocol/project.ts";
import type { AnyStep } from "../../src/protocol/step.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import type { FakeServer } from "./fake-server.ts";
import { askFor, createFakeServer, endRun, startRun, startTurn, text } from "./fake-server.ts";

const open = new Set<ThreadClient>();

afterEach(() => {
  for (const client of open) client.close();
  open.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function start(server: FakeServer, options: ThreadClientOptions = {}): { client: ThreadClient; notices: () => number } {
  const client = createThreadClient({ fetch: server.fetch, ...options });
  let count = 0;
  client.subscribe(() => {
    count++;
  });
  open.add(client);
  return { client, notices: () => count };
}

/** A thread whose run waits for approval of the given calls. */
function waitingServer(callIds: readonly string[] = ["c1"]): FakeServer {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "Refund" }, startRun("r1"));
  server.append(startTurn("r1"), ...askFor("r1", callIds));
  return server;
}

async function until(client: ThreadClient, test: () => boolean): Promise<void> {
  if (test()) return;
  await new Promise<void>((resolve) => {
    const stop = client.subscribe(() => {
      if (!test()) return;
      stop();
      resolve();
    });
  });
}

/** Lets replies, frames and notifications that are on their way arrive. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));

const posts = (server: FakeServer): string[] =>
  server.requests.filter(({ method }) => method !== "GET").map(({ path }) => path);
const gets = (server: FakeServer): string[] =>
  server.requests.filter(({ method }) => method === "GET").map(({ path }) => path);

function firstPending(client: ThreadClient): AnyStep {
  const [step] = client.getSnapshot().pending;
  if (!step) throw new Error("nothing is pending");
  return step;
}

/** The client's view without what only this tab adds. */
function viewed(client: ThreadClient): unknown {
  const { threadId, connection, error, loading, access, browserSteps, clockOffsetMs, ...view } = client.getSnapshot();
  return JSON.parse(JSON.stringify(view));
}

const truth = (server: FakeServer): unknown => JSON.parse(JSON.stringify(viewThread(projectThread(server.thread))));

describe("reading", () => {
  test("nothing is requested before somebody subscribes", async () => {
    const server = waitingServer();
    const client = createThreadClient({ fetch: server.fetch, threadId: "t1" });
    await Promise.resolve();
    expect(server.requests).toEqual([]);
    expect(client.getSnapshot()).toMatchObject({ loading: true, status: "idle", threadId: "t1" });
  });

  test("a waiting thread is read once and holds no stream open", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => !client.getSnapshot().loading);
    expect(gets(server)).toEqual(["/t1"]);
    expect(client.getSnapshot()).toMatchObject({ status: "waiting", connection: { status: "idle" } });
    expect(viewed(client)).toEqual(truth(server));
  });

  test("an initial thread is shown without a request, also as the server snapshot", () => {
    const server = waitingServer();
    const { client } = start(server, { initial: projectThread(server.thread) });
    expect(client.threadId).toBe("t1");
    expect(client.getSnapshot().pending).toHaveLength(1);
    expect(client.getServerSnapshot().pending).toHaveLength(1);
    expect(server.requests).toEqual([]);
  });

  test("the first message makes the thread, is shown at once as sending, and is replaced by the log's", async () => {
    const server = createFakeServer();
    const onThread = vi.fn();
    const { client } = start(server, { onThread });
    server.fault = () => settle().then(() => undefined);
    const sent = client.send("Refund 1042");
    await until(client, () => client.getSnapshot().queued.length > 0);
    expect(client.getSnapshot()).toMatchObject({ status: "idle", queued: [{ sending: true, role: "user" }] });
    expect(await sent).toEqual({ ok: true });
    expect(onThread).toHaveBeenCalledExactlyOnceWith("t1");
    await until(client, () => client.getSnapshot().status === "running");
    expect(client.getSnapshot().messages).toMatchObject([{ id: "m1", parts: [{ text: "Refund 1042" }] }]);
    expect(viewed(client)).toEqual(truth(server));
  });

  test("messages are posted in the order they were written and make one thread", async () => {
    const server = createFakeServer();
    const { client } = start(server);
    const results = await Promise.all([client.send("one"), client.send("two"), client.send("one")]);
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(posts(server)).toEqual(["", "/t1/messages", "/t1/messages"]);
    await settle();
    expect(viewed(client)).toEqual(truth(server));
  });

  test("an onThread that throws breaks nothing that is sent later", async () => {
    const thrown: unknown[] = [];
    vi.stubGlobal("queueMicrotask", (task: () => void) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    });
    const server = createFakeServer();
    const failure = new Error("of the app");
    const { client } = start(server, {
      onThread: () => {
        throw failure;
      },
    });
    expect(await client.send("one")).toEqual({ ok: true });
    expect(await client.send("two")).toEqual({ ok: true });
    expect(thrown).toEqual([failure]);
  });

  test("an empty message is refused without a request", async () => {
    const server = createFakeServer();
    const { client } = start(server);
    expect(await client.send("  ")).toMatchObject({ ok: false, code: "bad-request" });
    expect(server.requests).toEqual([]);
  });

  test("a text stream notifies at most once per frame", async () => {
    vi.useFakeTimers();
    const server = createFakeServer();
    server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
    const { client, notices } = start(server, { initial: projectThread(server.thread) });
    await vi.advanceTimersByTimeAsync(100);
    const before = notices();
    for (let index = 0; index < 50; index++) server.append(text("r1", "x"));
    await vi.advanceTimersByTimeAsync(16);
    expect(notices() - before).toBeLessThanOrEqual(2);
    expect(client.getSnapshot().messages.at(-1)?.parts).toEqual([{ type: "text", text: "x".repeat(50) }]);
  });

  test("a snapshot keeps its identity until the next notification", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => !client.getSnapshot().loading);
    expect(client.getSnapshot()).toBe(client.getSnapshot());
    const before = client.getSnapshot();
    await client.refresh();
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(client.getSnapshot()).toBe(before);
  });

  test("an unknown thread is removed, with the reason", async () => {
    const server = createFakeServer();
    const { client } = start(server, { threadId: "other" });
    await until(client, () => client.getSnapshot().connection.status === "removed");
    expect(client.getSnapshot()).toMatchObject({ loading: false, error: { code: "not-found" } });
  });
});

describe("the stream", () => {
  /** A run that streams, then asks, is approved, and ends. */
  function runningServer(): FakeServer {
    const server = createFakeServer();
    server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
    for (const word of ["Grüße", ", ", "wörld"]) server.append(text("r1", word));
    return server;
  }

  /** The thread as it was before the words: all of them come over the stream. */
  function atStart(): ThreadClientOptions {
    const server = createFakeServer();
    server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"));
    return { initial: projectThread(server.thread) };
  }

  test.each(["cut", "split"] as const)(
    "%s at every byte, it loses and doubles nothing",
    async (how) => {
      vi.useFakeTimers();
      let length = 1;
      for (let at = 0; at < length; at++) {
        const server = runningServer();
        let connections = 0;
        server.backlog = (bytes) => {
          length = Math.max(length, bytes.length);
          const [head, tail] = [bytes.slice(0, at), bytes.slice(at)];
          if (how === "split") return { chunks: [head, tail] };
          return connections++ === 0 ? { chunks: [head], cut: true } : { chunks: [bytes] };
        };
        const { client } = start(server, atStart());
        await vi.advanceTimersByTimeAsync(1_000);
        server.append(text("r1", "!"));
        server.append(endRun("r1", "done"));
        await vi.advanceTimersByTimeAsync(1_000);
        expect(viewed(client)).toEqual(truth(server));
        expect(gets(server)).toHaveLength(how === "cut" ? 2 : 1);
        expect(server.openStreams).toBe(0);
        client.close();
      }
      expect(length).toBeGreaterThan(200);
    },
    30_000,
  );

  test("frames that came already change nothing", async () => {
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().connection.status === "live");
    const [, frame] = /data: (.*)\n/.exec(`data: ${JSON.stringify({ from: 1, to: 3, at: 1, events: [] })}\n`) ?? [];
    server.sendRaw(`data: ${frame}\n\n`);
    server.append(text("r1", "!"));
    await until(client, () => JSON.stringify(client.getSnapshot().messages).includes("!"));
    expect(viewed(client)).toEqual(truth(server));
    expect(gets(server)).toEqual(["/t1", "/t1/events?after=6"]);
  });

  test.each([
    ["a gap", `data: ${JSON.stringify({ from: 99, to: 99, at: 1, events: [] })}\n\n`],
    ["a frame that is none", "data: {broken\n\n"],
  ])("%s reads the thread again", async (_name, bytes) => {
    vi.useFakeTimers();
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await vi.advanceTimersByTimeAsync(50);
    server.sendRaw(bytes);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(gets(server)).toEqual(["/t1", "/t1/events?after=6", "/t1", "/t1/events?after=6"]);
    expect(client.getSnapshot().connection.status).toBe("live");
  });

  test("a handover reconnects at once from the last seq", async () => {
    vi.useFakeTimers();
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await vi.advanceTimersByTimeAsync(50);
    server.append(text("r1", "!"));
    server.sendRaw("event: handover\ndata: {}\n\n");
    await vi.advanceTimersByTimeAsync(1);
    expect(gets(server).at(-1)).toBe("/t1/events?after=7");
    expect(client.getSnapshot().connection.status).not.toBe("reconnecting");
  });

  test("[T10] a clean close while the run goes on is no end", async () => {
    vi.useFakeTimers();
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await vi.advanceTimersByTimeAsync(50);
    server.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.openStreams).toBe(1);
    expect(client.getSnapshot()).toMatchObject({ status: "running", connection: { status: "live" } });
  });

  test("a reset replaces the thread", async () => {
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().connection.status === "live");
    const read = projectThread(server.thread);
    const thread = { ...read, seq: read.seq + 1, title: "After reset" };
    server.sendRaw(`event: reset\ndata: ${JSON.stringify({ seq: thread.seq, thread })}\n\n`);
    await until(client, () => client.getSnapshot().title === "After reset");
  });

  test("40 s without a byte drop the connection", async () => {
    vi.useFakeTimers();
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await vi.advanceTimersByTimeAsync(35_000);
    server.sendRaw(": still here\n\n");
    await vi.advanceTimersByTimeAsync(35_000);
    expect(gets(server)).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(gets(server)).toHaveLength(3);
    expect(client.getSnapshot().connection.status).toBe("live");
  });

  test("a server that is gone is tried again, ever more rarely, and says when", async () => {
    vi.useFakeTimers();
    const server = runningServer();
    const { client } = start(server, { threadId: "t1" });
    await vi.advanceTimersByTimeAsync(50);
    server.fault = () => "lose-request";
    server.cut();
    await vi.advanceTimersByTimeAsync(60_000);
    const { connection } = client.getSnapshot();
    expect(connection.status).toBe("reconnecting");
    expect(connection.nextAt).toBeGreaterThan(Date.now() - 15_000);
    expect(server.requests.length).toBeLessThan(16);
    server.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(client.getSnapshot().connection.status).toBe("live");
  });

  test("no notification and no request after close", async () => {
    vi.useFakeTimers();
    const server = runningServer();
    const { client, notices } = start(server, { threadId: "t1" });
    await vi.advanceTimersByTimeAsync(50);
    const before = [notices(), server.requests.length];
    client.close();
    server.append(text("r1", "late"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect([notices(), server.requests.length]).toEqual(before);
    expect(server.openStreams).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("when the last subscriber leaves, nothing stays open; the next one goes on from there", async () => {
    vi.useFakeTimers();
    const server = runningServer();
    const client = createThreadClient({ fetch: server.fetch, threadId: "t1" });
    open.add(client);
    const stop = client.subscribe(() => {});
    stop();
    client.subscribe(() => {});
    await vi.advanceTimersByTimeAsync(50);
    expect(gets(server)).toEqual(["/t1", "/t1/events?after=6"]);
  });
});

describe("decisions", () => {
  test("twenty presses of Approve are one post and one promise", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    const step = firstPending(client);
    const presses = Array.from({ length: 20 }, () => client.approve(step));
    expect(new Set(presses).size).toBe(1);
    expect(await presses[0]).toEqual({ ok: true });
    expect(await client.approve(step)).toEqual({ ok: true });
    expect(posts(server)).toEqual(["/t1/decisions"]);
    await until(client, () => client.getSnapshot().status === "running");
    expect(viewed(client)).toEqual(truth(server));
  });

  test("only the step that is being decided changes its reference", async () => {
    const server = waitingServer(["c1", "c2"]);
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    const [first, second] = client.getSnapshot().pending;
    server.fault = () => settle().then(() => undefined);
    void client.deny(firstPending(client), "Not now");
    await until(client, () => client.getSnapshot().pending[0]?.sending === true);
    const { pending, steps, messages } = client.getSnapshot();
    expect(pending[0]).not.toBe(first);
    expect(pending[1]).toBe(second);
    expect(steps).toEqual(pending);
    expect(messages.at(-1)?.parts).toEqual(pending.map((step) => ({ type: "step", step })));
    expect(server.requests.at(-1)?.body).toMatchObject({
      decisions: [{ callId: "c1", digest: "d-c1", action: "deny", reason: "Not now" }],
    });
  });

  test("several steps are decided in one post, each with its own digest", async () => {
    const server = waitingServer(["c1", "c2"]);
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    expect(await client.approve(client.getSnapshot().pending)).toEqual({ ok: true });
    expect(posts(server)).toHaveLength(1);
    expect(server.thread.active[0]?.turn?.calls.map(({ status }) => status)).toEqual(["queued", "queued"]);
  });

  test("a lost reply is asked for again with the same key", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    let lost = 0;
    server.fault = ({ path }) => (path.endsWith("/decisions") && lost++ < 2 ? "lose-reply" : undefined);
    expect(await client.approve(firstPending(client))).toEqual({ ok: true });
    const keys = server.requests.filter(({ path }) => path === "/t1/decisions").map(({ body }) => body.key);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  test("without a network the answer is `network` after three tries, and the button works again", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    server.fault = () => "lose-request";
    expect(await client.approve(firstPending(client))).toMatchObject({ ok: false, code: "network" });
    expect(posts(server)).toHaveLength(3);
    await until(client, () => client.getSnapshot().pending[0]?.sending === false);
    server.fault = () => undefined;
    expect(await client.approve(firstPending(client))).toEqual({ ok: true });
  });

  test("what is not plain JSON is refused, not thrown", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    const input: Record<string, unknown> = {};
    input.self = input;
    expect(await client.approve(firstPending(client), { input })).toMatchObject({ ok: false, code: "bad-request" });
    expect(await client.approve(firstPending(client))).toEqual({ ok: true });
  });

  test("after a refusal the card shows the real state", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().pending.length > 0);
    const step = firstPending(client);
    const other = createThreadClient({ fetch: server.fetch, threadId: "t1" });
    expect(await other.deny(step, "wrong order")).toEqual({ ok: true });
    const refused = await client.approve(step);
    expect(refused).toMatchObject({ ok: false, code: "decided", step: { id: "c1", decision: { action: "deny" } } });
    await until(client, () => client.getSnapshot().pending.length === 0);
    expect(client.getSnapshot().steps[0]).toMatchObject({ decision: { action: "deny" }, sending: false });
    expect(client.getSnapshot().error).toBeNull();
  });
});

describe("other actions", () => {
  test("stop shows at once, and twice is one post", async () => {
    const server = createFakeServer();
    server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => client.getSnapshot().status === "running");
    const stopped = Promise.all([client.stop(), client.stop()]);
    await until(client, () => client.getSnapshot().stopping);
    expect(await stopped).toEqual([{ ok: true }, { ok: true }]);
    expect(posts(server)).toEqual(["/t1/stop"]);
    server.append({ type: "run-ended", runId: "r1", outcome: "stopped", text: "", usage: {} });
    await until(client, () => client.getSnapshot().status === "ended");
    expect(client.getSnapshot().stopping).toBe(false);
  });

  test("a failure that is about no step is the snapshot's error until an action works", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => !client.getSnapshot().loading);
    server.fault = ({ path }) =>
      path.endsWith("/title")
        ? Response.json({ error: { code: "forbidden", message: "No." } }, { status: 403 })
        : undefined;
    expect(await client.rename("x")).toMatchObject({ ok: false, code: "forbidden", message: "No." });
    await until(client, () => client.getSnapshot().error !== null);
    expect(client.getSnapshot().error).toMatchObject({ code: "forbidden" });
    server.fault = () => undefined;
    expect(await client.rename("New title")).toEqual({ ok: true });
    await until(client, () => client.getSnapshot().title === "New title");
    expect(client.getSnapshot().error).toBeNull();
  });

  test("a message that is refused leaves the screen and says why", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => !client.getSnapshot().loading);
    server.fault = ({ method }) => (method === "POST" ? new Response("<html>", { status: 413 }) : undefined);
    expect(await client.send("long")).toMatchObject({ ok: false, code: "too-large" });
    await settle();
    expect(client.getSnapshot()).toMatchObject({ queued: [], error: { code: "too-large" } });
  });

  test("removing ends everything", async () => {
    const server = waitingServer();
    const { client } = start(server, { threadId: "t1" });
    await until(client, () => !client.getSnapshot().loading);
    expect(await client.remove()).toEqual({ ok: true });
    await until(client, () => client.getSnapshot().connection.status === "removed");
  });
});
