import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ThreadClient, ThreadClientOptions } from "../../src/client/thread-client.ts";
import { createThreadClient } from "../../src/client/thread-client.ts";
import { projectThread } from "../../src/protocol/project.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import type { FakeServer } from "./fake-server.ts";
import { askFor, createFakeServer, endRun, startRun, startTurn, text } from "./fake-server.ts";

let server: FakeServer;
let clients: ThreadClient[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
});

afterEach(() => {
  for (const client of clients) client.close();
  clients = [];
  vi.useRealTimers();
});

/** A tab, a moment after it was opened. */
async function open(options: Partial<ThreadClientOptions> = {}): Promise<ThreadClient> {
  const client = createThreadClient({ fetch: server.fetch, threadId: "t1", ...options });
  clients.push(client);
  client.subscribe(() => {});
  await pass(100);
  return client;
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const asked = (what: RegExp): string[] => server.requests.map(({ path }) => path).filter((path) => what.test(path));
const posted = (): readonly string[] =>
  server.requests.filter(({ method }) => method === "POST").map(({ path }) => path);

function viewed(client: ThreadClient): unknown {
  const { threadId, connection, error, loading, access, browserSteps, clockOffsetMs, ...view } = client.getSnapshot();
  return JSON.parse(JSON.stringify(view));
}
const truth = (): unknown => JSON.parse(JSON.stringify(viewThread(projectThread(server.thread))));

/** A call that was approved and runs. */
function startCall(): void {
  server.append(...askFor("r1", ["c1"]));
  const by = { id: "u1" };
  const decided = {
    callId: "c1",
    digest: "d-c1",
    action: "approve",
    by,
    via: "browser",
    key: "k",
    bodyHash: "h",
  } as const;
  server.append(
    { type: "decision-recorded", runId: "r1", ...decided },
    { type: "run-resumed", runId: "r1", why: "decision", driverId: "d" },
    { type: "call-started", runId: "r1", callId: "c1", attempt: 1, digest: "d-c1", key: "c1.0" },
  );
}

describe("a connection", () => {
  test.each(["Load failed", "Failed to fetch", "network error", "The operation was aborted.", "anything"])(
    "[T13] that breaks with “%s” is neither an end nor a stop",
    async (message) => {
      const client = await open();
      server.fault = ({ path }) => {
        if (path.includes("/events")) throw Object.assign(new TypeError(message), { name: "AbortError" });
        return undefined;
      };
      server.cut();
      await pass(100);
      expect(client.getSnapshot()).toMatchObject({ status: "running", error: null, stopping: false });
      expect(client.getSnapshot().connection.status).toBe("reconnecting");
      server.fault = () => undefined;
      server.append(text("r1", "on"));
      await pass(20_000);
      expect(viewed(client)).toEqual(truth());
      expect(posted()).toEqual([]);
    },
  );

  test("[T17] that was made again says nothing about the run: its status is that of its events", async () => {
    const client = await open();
    server.cut();
    server.append(endRun("r1", "done"));
    await pass(5_000);
    expect(client.getSnapshot()).toMatchObject({ status: "ended", connection: { status: "idle" } });
    server.append(startRun("r2"), startTurn("r2"));
    await client.refresh();
    await pass(100);
    server.fault = () => "lose-request";
    server.cut();
    await pass(5_000);
    expect(client.getSnapshot()).toMatchObject({ status: "running", connection: { status: "reconnecting" } });
  });

  test("[T18] to a run that is quiet shows at once what came before", async () => {
    server.append(text("r1", "so far"));
    const client = await open();
    expect(viewed(client)).toEqual(truth());
    server.cut();
    server.append(text("r1", " and more"));
    await pass(1_000);
    expect(viewed(client)).toEqual(truth());
  });

  test("[T20] that was not there when the run ended brings its end later", async () => {
    const client = await open();
    server.fault = () => "lose-request";
    server.cut();
    server.append(text("r1", "the answer"), endRun("r1", "the answer"));
    await pass(60_000);
    expect(client.getSnapshot().status).toBe("running");
    server.fault = () => undefined;
    await pass(20_000);
    expect(client.getSnapshot()).toMatchObject({ status: "ended", text: "the answer" });
  });
});

describe("a message", () => {
  test.each(["lose-reply", "page", "cut short"] as const)(
    "[T21] whose answer is lost (%s) and that the person sends again starts no second run",
    async (how) => {
      server = createFakeServer();
      const client = createThreadClient({ fetch: server.fetch });
      clients.push(client);
      client.subscribe(() => {});
      const lost: typeof globalThis.fetch = async (input, init) => {
        const response = await server.fetch(input, init);
        if (how === "page") return new Response("<h1>Error</h1>", { status: 500 });
        return new Response((await response.text()).slice(0, 9), { status: response.status });
      };
      const again = createThreadClient({ fetch: (input, init) => (isBad ? lost : server.fetch)(input, init) });
      clients.push(again);
      let isBad = how !== "lose-reply";
      if (!isBad) server.fault = ({ method }) => (method === "POST" ? "lose-reply" : undefined);
      const first = again.send("Refund 1042");
      await pass(60_000);
      expect((await first).ok).toBe(false);
      isBad = false;
      server.fault = () => undefined;
      const second = again.send("Refund 1042");
      await pass(1_000);
      expect(await second).toEqual({ ok: true });
      expect(server.thread.messages).toHaveLength(1);
      expect(server.thread.active).toHaveLength(1);
    },
  );

  test("[T22] whose tab leaves before the first word is answered, and the answer is there later", async () => {
    const client = await open();
    client.close();
    server.append(text("r1", "for nobody"), endRun("r1", "for nobody"));
    const later = await open();
    expect(viewed(later)).toEqual(truth());
    expect(later.getSnapshot().text).toBe("for nobody");
  });

  test("an answer without content is no answer", async () => {
    const client = await open({
      fetch: (input, init) =>
        init?.method === "POST" ? Promise.resolve(new Response("", { status: 200 })) : server.fetch(input, init),
    });
    const sent = client.send("Hello");
    await pass(60_000);
    expect(await sent).toMatchObject({ ok: false, code: "unavailable" });
  });
});

describe("what a tab shows", () => {
  test("[T11] after a reload in the middle of a tool is how far it is", async () => {
    startCall();
    server.append({ type: "call-progressed", runId: "r1", callId: "c1", attempt: 1, value: 5, max: 10 });
    const client = await open();
    expect(client.getSnapshot().steps[0]).toMatchObject({ status: "running", progress: { value: 5, max: 10 } });
  });

  test("[C05] is asked for with the headers of now", async () => {
    const seen: (string | null)[] = [];
    let token = "old";
    const client = await open({
      headers: () => ({ authorization: token }),
      fetch: (input, init) => {
        seen.push(new Headers(init?.headers).get("authorization"));
        return server.fetch(input, init);
      },
    });
    token = "new";
    server.cut();
    await pass(2_000);
    expect(seen.at(-1)).toBe("new");
    await client.send("Hello");
    expect(seen.at(-1)).toBe("new");
    expect(seen[0]).toBe("old");
  });

  test("[C06] of a call is one row, before and after its approval", async () => {
    server.append(...askFor("r1", ["c1"]));
    const client = await open();
    const rows = (): number =>
      client.getSnapshot().messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "step")).length;
    expect(rows()).toBe(1);
    const [step] = client.getSnapshot().pending;
    if (!step) throw new Error("Nothing is pending.");
    await client.approve(step);
    await pass(500);
    expect(rows()).toBe(1);
    expect(client.getSnapshot().steps).toHaveLength(1);
  });

  test("[C08] of a run that was stopped in the middle of a tool is not busy", async () => {
    startCall();
    const client = await open();
    server.append(
      { type: "call-settled", runId: "r1", callId: "c1", outcome: "failed", error: { code: "stopped", message: "x" } },
      { type: "run-ended", runId: "r1", outcome: "stopped", text: "", usage: {} },
    );
    await pass(1_000);
    expect(client.getSnapshot()).toMatchObject({ status: "ended", connection: { status: "idle" } });
    expect(client.getSnapshot().steps.filter(({ status }) => status === "running")).toEqual([]);
  });

  test("[C13] keeps its messages when the run begins to wait", async () => {
    server.append(text("r1", "I would refund it."));
    const client = await open();
    const before = client.getSnapshot().messages;
    server.append(...askFor("r1", ["c1"]));
    await pass(500);
    expect(client.getSnapshot().status).toBe("waiting");
    expect(client.getSnapshot().messages).toHaveLength(before.length);
    expect(JSON.stringify(client.getSnapshot().messages)).toContain("I would refund it.");
  });

  test("[C14] of a history that was read twice is there once", async () => {
    server.append(text("r1", "once"), endRun("r1", "once"));
    const client = await open({ initial: projectThread(server.thread) });
    await Promise.all([client.refresh(), client.refresh(), pass(100)]);
    await Promise.all([client.refresh(), pass(100)]);
    expect(viewed(client)).toEqual(truth());
  });

  test("[C15] of a tool whose server died is what the next server recorded", async () => {
    startCall();
    const client = await open();
    expect(client.getSnapshot().steps[0]?.status).toBe("running");
    server.cut();
    server.append(
      { type: "call-interrupted", runId: "r1", callId: "c1", attempt: 1 },
      { type: "run-waiting", runId: "r1", for: ["c1"] },
    );
    await pass(5_000);
    expect(client.getSnapshot().steps[0]).toMatchObject({ status: "waiting", ask: { kind: "interrupted" } });
  });

  test("[T09 C17] changes by a stop on the server, also after an approval: closing a stream stops nothing", async () => {
    startCall();
    const client = await open();
    const { runId } = client.getSnapshot();
    await client.stop();
    expect(posted()).toEqual(["/t1/stop"]);
    expect(server.requests.find(({ path }) => path === "/t1/stop")?.body).toMatchObject({ runId });
    client.close();
    await pass(1_000);
    expect(posted()).toEqual(["/t1/stop"]);
    expect(asked(/events/)).toHaveLength(1);
  });
});

describe("a reset", () => {
  const event = (seq: number, title: string): string => {
    const thread = { ...projectThread(server.thread), seq, title };
    return `event: reset\nid: ${seq}\ndata: ${JSON.stringify({ seq, thread })}\n\n`;
  };

  test("that a newer reading has overtaken changes nothing", async () => {
    const client = await open();
    const reset = event(server.thread.seq, "overtaken");
    server.cut();
    server.append(text("r1", "newer"));
    await pass(2_000);
    server.append(text("r1", " still"));
    await client.refresh();
    server.sendRaw(reset);
    await pass(500);
    expect(client.getSnapshot().title).not.toBe("overtaken");
  });

  test("to before where the stream began is taken: the log is another one now", async () => {
    const client = await open();
    server.sendRaw(event(1, "restored"));
    await pass(500);
    expect(client.getSnapshot()).toMatchObject({ title: "restored", seq: 1 });
  });
});
