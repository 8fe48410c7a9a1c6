import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BrowserFunction } from "../../src/client/browser-tools.ts";
import type { ThreadClient, ThreadClientOptions } from "../../src/client/thread-client.ts";
import { createThreadClient } from "../../src/client/thread-client.ts";
import type { FakeLocks } from "./fake-locks.ts";
import { createFakeLocks } from "./fake-locks.ts";
import type { FakeServer } from "./fake-server.ts";
import { askBrowserFor, createFakeServer, snapshotOf, startRun, startTurn } from "./fake-server.ts";

const open = new Set<ThreadClient>();
let locks: FakeLocks;

beforeEach(() => {
  vi.useFakeTimers();
  locks = createFakeLocks();
  vi.stubGlobal("navigator", { locks });
});

afterEach(async () => {
  for (const client of open) client.close();
  open.clear();
  await vi.runAllTimersAsync();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A tab that looks at the thread and does `tools`. */
function tab(
  server: FakeServer,
  tools: Record<string, BrowserFunction>,
  given: ThreadClientOptions = {},
): ThreadClient {
  const client = createThreadClient({ fetch: server.fetch, threadId: "t1", tools, ...given });
  client.subscribe(() => {});
  open.add(client);
  return client;
}

/** A thread whose run waits for a browser. */
function waitingServer(callIds: readonly string[] = ["c1"], about: Parameters<typeof askBrowserFor>[2] = {}) {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "Where" }, startRun("r1"));
  server.append(startTurn("r1"), ...askBrowserFor("r1", callIds, about));
  return server;
}

/** Lets replies, frames and answers that are on their way arrive. */
const settle = (ms = 1_000): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
/** What the browser tells the server, one list for each request. */
const posted = (server: FakeServer): unknown[] =>
  server.requests.filter(({ path }) => path === "/t1/decisions").map(({ body }) => body.decisions);
const place = { latitude: 53.5, longitude: 10 };

describe("one question", () => {
  test("is answered by the page's function with what the server asked for", async () => {
    const server = waitingServer();
    const pickLocation = vi.fn<BrowserFunction>(async () => place);
    const client = tab(server, { pickLocation });
    await settle();
    expect(posted(server)).toEqual([[{ callId: "c1", digest: "d-c1", action: "answer", value: place }]]);
    expect(client.getSnapshot()).toMatchObject({ status: "running", steps: [{ status: "succeeded", output: place }] });
    const [input, context] = pickLocation.mock.calls[0] ?? [];
    expect(input).toEqual({ precise: true });
    expect(context).toMatchObject({ step: { id: "c1" }, signal: { aborted: false } });
  });

  test("[P24] is run once, however often somebody subscribes, is notified or offers anew", async () => {
    const server = waitingServer();
    let finish: (value: unknown) => void = () => {};
    const slow = new Promise((resolve) => {
      finish = resolve;
    });
    const pickLocation = vi.fn(() => slow);
    const client = tab(server, { pickLocation });
    for (let time = 0; time < 24; time++) {
      client.subscribe(() => {})();
      client.offerTools(() => ({ pickLocation }))();
      server.append({ type: "thread-renamed", title: `${time}`, by: { id: "u1" }, key: `k${time}`, bodyHash: "h" });
      await client.refresh();
      await settle(100);
    }
    expect(client.getSnapshot().browserSteps).toEqual({ c1: "here" });
    finish(place);
    await settle();
    expect(pickLocation).toHaveBeenCalledOnce();
    expect(posted(server)).toHaveLength(1);
    expect(client.getSnapshot().browserSteps).toEqual({});
  });

  test.each([[false], [0], [""], [null], [[]], [{}]])("[M07] is answered by %j, which is an answer", async (value) => {
    const server = waitingServer();
    tab(server, { pickLocation: () => value });
    await settle();
    expect(posted(server)).toEqual([[expect.objectContaining({ action: "answer", value })]]);
  });

  test("[M08] that gets nothing is answered by null, which the server's schema judges", async () => {
    const server = waitingServer();
    tab(server, { pickLocation: () => undefined });
    await settle();
    expect(posted(server)).toEqual([[expect.objectContaining({ action: "answer", value: null })]]);
  });

  test.each<[string, () => unknown, string]>([
    ["an error", () => Promise.reject(new Error("No permission.")), "No permission."],
    ["a text", () => Promise.reject("No permission."), "No permission."],
    ["something like an error", () => Promise.reject({ code: 1, message: "Denied." }), "Denied."],
    ["nothing", () => Promise.reject(), "The browser could not do this."],
    ["a long message", () => Promise.reject(new Error("x".repeat(9_000))), `${"x".repeat(499)}…`],
    ["an error that cannot be read", throwsUnreadable, "The browser could not do this."],
  ])("[L10] whose function throws %s is answered by its message alone", async (_, fails, message) => {
    const server = waitingServer();
    tab(server, { pickLocation: fails });
    await settle();
    expect(posted(server)).toEqual([[{ callId: "c1", digest: "d-c1", action: "answer", error: message }]]);
  });

  test("[L10] whose function never returns is answered by an error before its time is over", async () => {
    const server = waitingServer(["c1"], { expiresAt: Date.now() + 20_000 });
    let signal: AbortSignal | undefined;
    const hang: BrowserFunction = (_, context) => {
      signal = context.signal;
      return new Promise(() => {});
    };
    tab(server, { pickLocation: hang });
    await settle(18_500);
    expect(posted(server)).toEqual([]);
    await settle(1_000);
    expect(posted(server)).toEqual([[expect.objectContaining({ error: "The browser did not answer in time." })]]);
    expect(signal?.aborted).toBe(true);
  });

  test("[L10] has ten minutes where the server gave it no time", async () => {
    const server = waitingServer();
    tab(server, { pickLocation: () => new Promise(() => {}) });
    await settle(590_000);
    expect(posted(server)).toEqual([]);
    await settle(10_000);
    expect(posted(server)).toHaveLength(1);
  });

  test("that is skipped meanwhile aborts the function, and its late result goes nowhere", async () => {
    const server = waitingServer();
    let signal: AbortSignal | undefined;
    const late: BrowserFunction = async (_, context) => {
      signal = context.signal;
      await new Promise((resolve) => setTimeout(resolve, 9_000));
      return place;
    };
    const client = tab(server, { pickLocation: late });
    await settle();
    const [step] = client.getSnapshot().pending;
    if (!step) throw new Error("nothing is pending");
    expect(await client.skip(step)).toEqual({ ok: true });
    await settle(20_000);
    expect(signal?.aborted).toBe(true);
    expect(posted(server)).toEqual([[{ callId: "c1", digest: "d-c1", action: "skip" }]]);
  });

  test("is answered when the network is back, without running the function again", async () => {
    const server = waitingServer();
    const pickLocation = vi.fn(() => place);
    let isDown = true;
    server.fault = ({ method }) => (isDown && method === "POST" ? "lose-request" : undefined);
    const client = tab(server, { pickLocation });
    await settle(30_000);
    expect(client.getSnapshot().status).toBe("waiting");
    isDown = false;
    await settle(30_000);
    expect(client.getSnapshot().steps).toMatchObject([{ status: "succeeded", output: place }]);
    expect(pickLocation).toHaveBeenCalledOnce();
  });

  test("whose answer does not fit the schema fails with the reason, instead of waiting for ever", async () => {
    const server = waitingServer();
    const error = {
      code: "invalid-input",
      message: "This does not fit.",
      issues: [{ path: ["a", 0], message: "wrong" }],
    };
    server.fault = ({ path, body }) =>
      path === "/t1/decisions" && JSON.stringify(body).includes("value")
        ? Response.json({ error, results: [{ callId: "c1", ok: false, error }] }, { status: 422 })
        : undefined;
    const client = tab(server, { pickLocation: () => "Hamburg" });
    await settle();
    expect(posted(server).at(-1)).toEqual([expect.objectContaining({ error: "This does not fit. a.0: wrong." })]);
    expect(client.getSnapshot().steps).toMatchObject([{ status: "failed" }]);
  });

  test("whose answer is no JSON fails with the reason", async () => {
    const server = waitingServer();
    const client = tab(server, { pickLocation: () => 1n });
    await settle();
    expect(client.getSnapshot().steps).toMatchObject([
      { status: "failed", error: { message: "This cannot be sent: it is not plain JSON." } },
    ]);
  });
});

describe("who runs it", () => {
  test("nobody, while nobody looks on: creating a client starts nothing", async () => {
    const server = waitingServer();
    const pickLocation = vi.fn();
    const initial = server.thread;
    const client = createThreadClient({ fetch: server.fetch, initial, tools: { pickLocation } });
    open.add(client);
    client.offerTools(() => ({ pickLocation }));
    await client.refresh();
    await settle();
    expect(pickLocation).not.toHaveBeenCalled();
  });

  test("nobody who may only read", async () => {
    const server = waitingServer();
    const body = { ...snapshotOf(server.thread), access: { send: false, decide: false, remove: false } };
    server.fault = ({ path }) => (path === "/t1" ? Response.json(body) : undefined);
    const pickLocation = vi.fn();
    tab(server, { pickLocation });
    await settle();
    expect(pickLocation).not.toHaveBeenCalled();
  });

  test("no page without the function, not even by a name that every object has", async () => {
    const server = waitingServer(["c1"], { tool: "toString" });
    const client = tab(server, { pickLocation: vi.fn() });
    await settle();
    expect(posted(server)).toEqual([]);
    expect(client.getSnapshot()).toMatchObject({ browserSteps: {}, pending: [{ id: "c1" }] });
  });

  test("a part of the page that comes later, with the function it has at that time", async () => {
    const server = waitingServer();
    const client = tab(server, {});
    await settle();
    let current: BrowserFunction = () => "old";
    const withdraw = client.offerTools(() => ({ otherTool: current }));
    withdraw();
    client.offerTools(() => ({ pickLocation: (...given) => current(...given) }));
    current = () => "new";
    await settle();
    expect(posted(server)).toEqual([[expect.objectContaining({ value: "new" })]]);
  });

  test("one of two tabs; the other one says so, and does not run it when the lock is free again", async () => {
    const server = waitingServer();
    const runs: string[] = [];
    let finish: (value: unknown) => void = () => {};
    const slow = new Promise((resolve) => {
      finish = resolve;
    });
    const run = (name: string) => () => {
      runs.push(name);
      return slow;
    };
    const first = tab(server, { pickLocation: run("first") });
    const second = tab(server, { pickLocation: run("second") });
    await settle();
    expect(first.getSnapshot().browserSteps).toEqual({ c1: "here" });
    expect(second.getSnapshot().browserSteps).toEqual({ c1: "elsewhere" });
    finish(place);
    await settle();
    expect(runs).toEqual(["first"]);
    expect(posted(server)).toHaveLength(1);
    expect(second.getSnapshot()).toMatchObject({ browserSteps: {}, steps: [{ status: "succeeded", output: place }] });
    expect(locks.held.size).toBe(0);
  });

  test("the next tab, when the one that ran it is closed", async () => {
    const server = waitingServer();
    const first = tab(server, { pickLocation: () => new Promise(() => {}) });
    const second = tab(server, { pickLocation: () => place });
    await settle();
    first.close();
    await settle();
    expect(second.getSnapshot().steps).toMatchObject([{ status: "succeeded", output: place }]);
    expect(posted(server)).toHaveLength(1);
  });

  test("a tab that is behind looks again before it begins, and finds the answer there", async () => {
    const server = waitingServer();
    const behind = tab(server, {});
    await settle();
    tab(server, { pickLocation: () => place });
    await settle();
    const pickLocation = vi.fn();
    behind.offerTools(() => ({ pickLocation }));
    await settle();
    expect(pickLocation).not.toHaveBeenCalled();
    expect(posted(server)).toHaveLength(1);
  });

  test("every tab where the page has no locks; the first answer counts and the other is no error on screen", async () => {
    for (const none of [{}, { locks: { request: () => Promise.reject(new DOMException("no", "SecurityError")) } }]) {
      vi.stubGlobal("navigator", none);
      const server = waitingServer();
      const tabs = [tab(server, { pickLocation: () => 1 }), tab(server, { pickLocation: () => 2 })];
      await settle();
      expect(posted(server)).toHaveLength(2);
      for (const client of tabs) {
        expect(client.getSnapshot()).toMatchObject({ error: null, steps: [{ status: "succeeded", output: 1 }] });
      }
    }
  });
});

describe("[M-23] [L17] all calls of a turn", () => {
  const ids = ["c1", "c2", "c3"];

  test.each<[string, BrowserFunction]>([
    ["at once", () => place],
    ["after some microtasks", async () => place],
    ["a moment later", () => new Promise((resolve) => setTimeout(resolve, 10, place))],
  ])("that are answered %s ride one request", async (_, pickLocation) => {
    const server = waitingServer(ids);
    const client = tab(server, { pickLocation });
    await settle();
    expect(posted(server)).toEqual([ids.map((callId) => expect.objectContaining({ callId, value: place }))]);
    expect(client.getSnapshot()).toMatchObject({ status: "running", pending: [] });
  });

  test("do not wait for the slowest", async () => {
    const server = waitingServer(ids);
    tab(server, {
      pickLocation: (_, { step }) => (step.id === "c2" ? new Promise((resolve) => setTimeout(resolve, 9_000)) : 1),
    });
    await settle();
    expect(posted(server)).toEqual([
      [expect.objectContaining({ callId: "c1" }), expect.objectContaining({ callId: "c3" })],
    ]);
    await settle(10_000);
    expect(posted(server)).toHaveLength(2);
  });

  test("are read anew once, not once for each", async () => {
    const server = waitingServer(ids);
    tab(server, { pickLocation: () => place });
    await settle();
    expect(server.requests.map(({ method, path }) => `${method} ${path}`).slice(0, 3)).toEqual([
      "GET /t1",
      "GET /t1",
      "POST /t1/decisions",
    ]);
  });

  test("are answered although one of them cannot be sent", async () => {
    const server = waitingServer(ids);
    const client = tab(server, { pickLocation: (_, { step }) => (step.id === "c2" ? 1n : place) });
    await settle();
    expect(client.getSnapshot().steps.map(({ status }) => status)).toEqual(["succeeded", "failed", "succeeded"]);
  });
});

function throwsUnreadable(): never {
  throw new Proxy(
    {},
    {
      get: () => {
        throw new Error("hidden");
      },
    },
  );
}
