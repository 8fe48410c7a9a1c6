// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ThreadClient } from "../../src/client/thread-client.ts";
import { createThreadClient } from "../../src/client/thread-client.ts";
import { projectThread } from "../../src/protocol/project.ts";
import type { FakeServer } from "./fake-server.ts";
import { askFor, createFakeServer, startRun, startTurn, text } from "./fake-server.ts";

const clients: ThreadClient[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
});

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function startRunning(): Promise<{ server: FakeServer; client: ThreadClient }> {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
  const client = startClient(server);
  await vi.advanceTimersByTimeAsync(300);
  expect(client.getSnapshot().connection.status).toBe("live");
  return { server, client };
}

function startClient(server: FakeServer): ThreadClient {
  const client = createThreadClient({ fetch: server.fetch, initial: projectThread(server.thread) });
  clients.push(client);
  client.subscribe(() => {});
  return client;
}

const streams = (server: FakeServer): number => server.requests.filter(({ path }) => path.includes("/events")).length;

const pageShown = (persisted: boolean): Event => Object.assign(new Event("pageshow"), { persisted });

describe("the browser's signals", () => {
  test("online tries at once instead of at the end of the delay", async () => {
    const { server, client } = await startRunning();
    server.fault = () => "lose-request";
    server.cut();
    await vi.advanceTimersByTimeAsync(30_000);
    const before = streams(server);
    server.fault = () => undefined;
    window.dispatchEvent(new Event("online"));
    await vi.advanceTimersByTimeAsync(0);
    expect(streams(server)).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(300);
    expect(client.getSnapshot().connection).toEqual({ status: "live", attempt: expect.any(Number) });
    server.append(text("r1", "on"));
    await vi.advanceTimersByTimeAsync(300);
    expect(client.getSnapshot().connection).toEqual({ status: "live" });
  });

  test("offline is said, and goes on by itself", async () => {
    const { server, client } = await startRunning();
    const onLine = vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    server.fault = () => "lose-request";
    window.dispatchEvent(new Event("offline"));
    await vi.advanceTimersByTimeAsync(300);
    expect(client.getSnapshot().connection.status).toBe("offline");
    onLine.mockReturnValue(true);
    server.fault = () => undefined;
    window.dispatchEvent(new Event("online"));
    await vi.advanceTimersByTimeAsync(300);
    expect(client.getSnapshot().connection.status).toBe("live");
  });

  test("[T14] a page that comes back from the bfcache drops the dead connection and reconnects at once", async () => {
    const { server } = await startRunning();
    window.dispatchEvent(pageShown(false));
    await vi.advanceTimersByTimeAsync(0);
    expect(streams(server)).toBe(1);
    window.dispatchEvent(pageShown(true));
    await vi.advanceTimersByTimeAsync(0);
    expect(streams(server)).toBe(2);
  });

  test("a page that is shown again keeps a connection that lives and drops one that has gone silent", async () => {
    const { server } = await startRunning();
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(0);
    expect(streams(server)).toBe(1);
    await vi.advanceTimersByTimeAsync(25_000);
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(0);
    expect(streams(server)).toBe(2);
    expect(server.openStreams).toBe(1);
  });

  test("a closed client leaves no listener, timer or channel behind", async () => {
    const { server, client } = await startRunning();
    client.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    for (const event of [new Event("online"), pageShown(true)]) window.dispatchEvent(event);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(streams(server)).toBe(1);
  });
});

test("tabs tell each other: what one decides, the other fetches", async () => {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"));
  server.append(startTurn("r1"), ...askFor("r1", ["c1"]));
  const [one, two] = [startClient(server), startClient(server)];
  const [step] = one.getSnapshot().pending;
  if (!step) throw new Error("nothing is pending");
  await one.approve(step);
  vi.useRealTimers();
  await vi.waitFor(() => expect(two.getSnapshot().status).toBe("running"));
  expect(two.getSnapshot().steps[0]?.decision).toMatchObject({ action: "approve" });
  await one.remove();
  await vi.waitFor(() => expect(two.getSnapshot().connection.status).toBe("removed"));
});
