// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ThreadClient } from "../../src/client/thread-client.ts";
import { createThreadClient } from "../../src/client/thread-client.ts";
import { projectThread } from "../../src/protocol/project.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { seeded } from "../cluster/random.ts";
import type { FakeChannel, FakeChannels } from "./fake-channels.ts";
import { createFakeChannels } from "./fake-channels.ts";
import type { FakeLocks } from "./fake-locks.ts";
import { createFakeLocks } from "./fake-locks.ts";
import type { FakeServer } from "./fake-server.ts";
import { askFor, createFakeServer, endRun, startRun, startTurn, text } from "./fake-server.ts";

let server: FakeServer;
let channels: FakeChannels;
let locks: FakeLocks;
let tabs: ThreadClient[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  channels = createFakeChannels();
  locks = createFakeLocks();
  vi.stubGlobal("BroadcastChannel", channels.BroadcastChannel);
  Object.defineProperty(navigator, "locks", { value: locks, configurable: true });
  server = createFakeServer();
  server.viewer = "mia";
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
});

afterEach(() => {
  for (const tab of tabs) tab.close();
  tabs = [];
  Reflect.deleteProperty(navigator, "locks");
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function openTab(fetch: typeof globalThis.fetch = server.fetch): Promise<ThreadClient> {
  const tab = createThreadClient({ fetch, threadId: "t1" });
  tabs.push(tab);
  tab.subscribe(() => {});
  await vi.dynamicImportSettled();
  await pass(100);
  return tab;
}

async function openTabs(count: number): Promise<ThreadClient[]> {
  const opened: ThreadClient[] = [];
  for (let index = 0; index < count; index++) opened.push(await openTab());
  return opened;
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const asked = (what: RegExp): number => server.requests.filter(({ path }) => what.test(path)).length;
const streams = (): number => asked(/\/events/);
const readings = (): number => asked(/^\/t1$/);
/** The channels that tabs share a stream on, the first tab's first. */
const shared = (): readonly FakeChannel[] => channels.open.filter(({ name }) => name.includes("mia"));

function viewed(tab: ThreadClient | undefined): unknown {
  if (!tab) throw new Error("There is no such tab.");
  const { threadId, connection, error, loading, access, browserSteps, clockOffsetMs, ...view } = tab.getSnapshot();
  return JSON.parse(JSON.stringify(view));
}
const truth = (): unknown => JSON.parse(JSON.stringify(viewThread(projectThread(server.thread))));

describe("tabs of one browser", () => {
  test("[T12] have one stream, however many they are, and none while the run waits", async () => {
    await openTabs(7);
    expect([streams(), server.openStreams]).toEqual([1, 1]);
    for (const word of ["Grüße", " 😀", "!"]) server.append(text("r1", word));
    await pass(300);
    for (const tab of tabs) {
      expect(viewed(tab)).toEqual(truth());
      expect(tab.getSnapshot().connection).toEqual({ status: "live" });
    }
    server.append(...askFor("r1", ["c1"]));
    await pass(1_000);
    for (const tab of tabs) {
      expect(viewed(tab)).toEqual(truth());
      expect(tab.getSnapshot().connection).toEqual({ status: "idle" });
    }
    expect([streams(), readings(), server.openStreams, shared().length, locks.held.size]).toEqual([1, 7, 0, 0, 0]);
  });

  test("that come late get what they miss from the leader", async () => {
    const stale = projectThread(server.thread);
    await openTab();
    for (const word of ["one ", "two ", "three "]) server.append(text("r1", word));
    await pass(300);
    const late = createThreadClient({ fetch: server.fetch, initial: { thread: stale, viewer: "mia" } });
    tabs.push(late);
    late.subscribe(() => {});
    await vi.dynamicImportSettled();
    await pass(300);
    expect(viewed(late)).toEqual(truth());
    expect([streams(), readings()]).toEqual([1, 1]);
  });

  test("that are further behind than the leader knows read the thread again", async () => {
    const stale = projectThread(server.thread);
    server.append(text("r1", "before the leader came "));
    await openTab();
    const late = createThreadClient({ fetch: server.fetch, initial: { thread: stale, viewer: "mia" } });
    tabs.push(late);
    late.subscribe(() => {});
    await vi.dynamicImportSettled();
    await pass(2_000);
    expect(viewed(late)).toEqual(truth());
    expect([streams(), readings()]).toEqual([1, 2]);
  });

  test("go on from where each is when the leader is closed", async () => {
    const [leader, second, third] = await openTabs(3);
    server.append(text("r1", "one "));
    await pass(300);
    leader?.close();
    server.append(text("r1", "two "));
    await pass(300);
    server.append(text("r1", "three "));
    await pass(300);
    for (const tab of [second, third]) expect(viewed(tab)).toEqual(truth());
    expect([streams(), server.openStreams, readings()]).toEqual([2, 1, 3]);
  });

  test("take the place of a leader that is frozen, which leads no more when it is back", async () => {
    const [leader, second, third] = await openTabs(3);
    const [frozen] = shared();
    if (!frozen) throw new Error("Nothing is shared.");
    let thaw = (): void => {};
    locks.thaw = new Promise((resolve) => {
      thaw = resolve;
    });
    frozen.isFrozen = true;
    server.append(text("r1", "one "));
    await pass(60_000);
    server.append(text("r1", "two "));
    await pass(300);
    for (const tab of [second, third]) expect(viewed(tab)).toEqual(truth());
    expect(server.openStreams).toBe(2); // a frozen page keeps its connection
    frozen.isFrozen = false;
    thaw();
    await pass(20_000);
    server.append(text("r1", "three "));
    await pass(300);
    for (const tab of [leader, second, third]) expect(viewed(tab)).toEqual(truth());
    expect(server.openStreams).toBe(1);
    expect(locks.held.size).toBe(1);
  });

  test("that would lead at the same moment agree on one", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    await openTab();
    await Promise.all([openTab(), openTab(), openTab()]);
    const [frozen] = shared();
    if (!frozen) throw new Error("Nothing is shared.");
    locks.thaw = new Promise(() => {});
    frozen.isFrozen = true;
    channels.delayMs = 100; // longer than any of them waits for last words
    for (let beat = 0; beat < 5; beat++) {
      await pass(12_000);
      server.sendRaw(": beat\n\n");
    }
    expect(server.openStreams).toBe(2); // the frozen page's, and one
  });

  test("hear through a quiet leader that the server is there", async () => {
    const [, second] = await openTabs(2);
    const seen = new Set<string>();
    second?.subscribe(() => seen.add(second.getSnapshot().connection.status));
    for (let beat = 0; beat < 8; beat++) {
      await pass(15_000);
      server.sendRaw(": beat\n\n");
    }
    expect([streams(), readings(), second?.getSnapshot().connection.status]).toEqual([1, 2, "live"]);
    await pass(6_000);
    vi.spyOn(document, "visibilityState", "get").mockReturnValue("visible");
    document.dispatchEvent(new Event("visibilitychange"));
    await pass(1_000);
    expect([streams(), second?.getSnapshot().connection.status]).toEqual([1, "live"]);
    expect([...seen].filter((status) => status !== "live")).toEqual([]);
  });

  test("end where they are when the run ends, though its last events come after the lock", async () => {
    await openTabs(4);
    channels.delayMs = 10;
    server.append(endRun("r1", "done"));
    await pass(1_000);
    for (const tab of tabs) expect(viewed(tab)).toEqual(truth());
    expect(streams()).toBe(1);
  });

  test("say so when their leader has lost the server, and are live again with it", async () => {
    const [leader, second] = await openTabs(2);
    server.fault = ({ path }) => (path.includes("/events") ? "lose-request" : undefined);
    server.cut();
    await pass(2_000);
    expect(leader?.getSnapshot().connection.status).toBe("reconnecting");
    expect(second?.getSnapshot().connection.status).toBe("reconnecting");
    server.fault = () => undefined;
    server.append(text("r1", "one "));
    await pass(40_000);
    for (const tab of tabs) expect(viewed(tab)).toEqual(truth());
    expect(second?.getSnapshot().connection.status).toBe("live");
    expect(server.openStreams).toBe(1);
  });

  test("of two users share nothing, and neither do tabs whose user is not known", async () => {
    await openTab();
    server.viewer = "max";
    await openTab();
    server.viewer = undefined;
    await openTabs(2);
    expect([streams(), server.openStreams]).toEqual([4, 4]);
  });

  test("leave the others when somebody else signs in", async () => {
    const [, second] = await openTabs(2);
    expect(server.openStreams).toBe(1);
    server.viewer = "max";
    await second?.refresh();
    await pass(2_000);
    expect(server.openStreams).toBe(2);
    expect(shared()).toHaveLength(1);
  });

  test.each([
    ["a frame that does not join on", { type: "event", data: '{"from":900,"to":901,"at":1,"events":[]}' }],
    ["a frame that is none", { type: "event", data: '{"from":1' }],
    ["a state that is none", { type: "event", event: "reset", data: "{}" }],
  ])("read the thread again after %s from another page", async (_name, note) => {
    const [, second] = await openTabs(2);
    const stranger = new channels.BroadcastChannel(shared()[0]?.name ?? "");
    stranger.postMessage(note);
    await pass(3_000);
    server.append(text("r1", "one "));
    await pass(300);
    expect(viewed(second)).toEqual(truth());
    expect([streams(), readings()]).toEqual([1, 3]);
  });

  test.each([
    ["no object", 7],
    ["no note", { type: "of a newer version", seq: "x" }],
    ["an event without data", { type: "event" }],
    ["a question without a number", { type: "ask" }],
  ])("do not mind %s from another page", async (_name, note) => {
    await openTabs(2);
    new channels.BroadcastChannel(shared()[0]?.name ?? "").postMessage(note);
    server.append(text("r1", "one "));
    await pass(300);
    for (const tab of tabs) expect(viewed(tab)).toEqual(truth());
    expect([streams(), readings()]).toEqual([1, 2]);
  });

  test.each(["locks", "BroadcastChannel"])("without %s stream for themselves", async (what) => {
    if (what === "locks") Reflect.deleteProperty(navigator, "locks");
    else vi.stubGlobal("BroadcastChannel", undefined);
    await openTabs(2);
    expect(server.openStreams).toBe(2);
  });

  test("without an origin of their own stream for themselves", async () => {
    locks.request = () => Promise.reject(new DOMException("No origin.", "SecurityError"));
    await openTabs(2);
    expect(server.openStreams).toBe(2);
  });

  test("leave no lock, channel or timer behind", async () => {
    await openTabs(3);
    for (const tab of tabs) tab.close();
    await pass(0);
    expect([server.openStreams, channels.open.length, locks.held.size, vi.getTimerCount()]).toEqual([0, 0, 0, 0]);
  });
});

const SCHEDULES = process.env.TOOLRUN_LONG === "1" ? 1_000 : 60;

test(`${SCHEDULES} schedules of tabs that come, go and freeze: never two streams for long, and all show the log`, async () => {
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const random = seeded(seed);
    server = createFakeServer();
    server.viewer = "mia";
    server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
    tabs = [];
    await openTab();
    for (let step = 0; step < 25; step++) {
      const does = random.between(0, 9);
      const [channel] = shared();
      if (does <= 1 && tabs.length < 8) await openTab();
      else if (does === 2 && tabs.length > 1) tabs.splice(random.between(0, tabs.length - 1), 1)[0]?.close();
      else if (does === 3) server.cut();
      else if (does === 4) server.end();
      else if (does === 5 && channel) channel.isFrozen = true;
      else if (does === 6) await pass(random.between(10_000, 60_000));
      server.append(text("r1", `${step} `));
      if (random.next() < 0.5) await pass(random.between(0, 400));
      if (does !== 5) for (const each of channels.open) each.isFrozen &&= random.next() < 0.5;
    }
    for (const each of channels.open) each.isFrozen = false;
    await pass(70_000);
    expect(server.openStreams, `seed ${seed}`).toBe(1);
    server.append(endRun("r1", "done"));
    await pass(60_000);
    for (const tab of tabs) {
      expect(viewed(tab), `seed ${seed}`).toEqual(truth());
      expect(tab.getSnapshot().connection, `seed ${seed}`).toEqual({ status: "idle" });
      tab.close();
    }
    await pass(0);
    expect([server.openStreams, shared().length, locks.held.size, vi.getTimerCount()], `seed ${seed}`).toEqual([
      0, 0, 0, 0,
    ]);
  }
}, 600_000);
