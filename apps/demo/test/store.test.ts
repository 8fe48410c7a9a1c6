import type { ThreadStore } from "toolrun/server";
import { storeConformance } from "toolrun/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it, test, vi } from "vitest";
import { POST as restart, GET as whoIsThere } from "../app/api/demo/server/route.ts";
import { POST } from "../app/api/store/[method]/route.ts";
import { httpStore } from "../lib/http-store.ts";
import { inMemory } from "../lib/open-pglite.ts";
import { openThreads } from "../lib/open-threads.ts";
import { threadStore } from "../lib/thread-store.ts";
import { type Served, serveRoute } from "./serve-route.ts";

/** The route's own handler behind a socket, over an embedded database in memory. */
const token = crypto.randomUUID();
let served: Served;
let url: string;
/** What becomes of the next answers, before they are sent: taken from the front. */
const faults: ((response: Response) => Response)[] = [];

beforeAll(async () => {
  process.env.PGLITE_DIR = inMemory;
  process.env.STORE_TOKEN = token;
  served = await serveRoute(async (request) => {
    const response = await POST(request);
    return faults.shift()?.(response) ?? response;
  });
  url = `${served.origin}/api/store`;
  await openThreads(); // the database takes some seconds to begin
}, 60_000);

afterAll(async () => {
  await served.close();
  delete process.env.PGLITE_DIR;
  delete process.env.STORE_TOKEN;
});

afterEach(() => {
  vi.unstubAllEnvs();
  faults.length = 0;
});

function open(options: Partial<Parameters<typeof httpStore>[0]> = {}): ThreadStore {
  return httpStore({ url, token, ...options });
}

const one = { batch: "b1", events: [{ control: true, data: "a" }] };

storeConformance("http", async () => ({ store: open(), close: () => {} }), { describe, it });

describe("without the token", () => {
  const methods = ["read", "append", "follow", "lease", "list", "remove", "other", ""];
  const post = (method: string, headers: Record<string, string>): Promise<Response> =>
    POST(
      new Request(`${url}/${method}`, { method: "POST", headers, body: JSON.stringify({ id: "secret", after: 0 }) }),
    );

  test.each([
    ["no token", {}],
    ["an empty one", { authorization: "Bearer " }],
    ["another one", { authorization: `Bearer ${crypto.randomUUID()}` }],
    ["one of the same length", { authorization: `Bearer ${"x".repeat(token.length)}` }],
    ["the token without its scheme", { authorization: token }],
    ["the token in a cookie", { cookie: `token=${token}` }],
    ["a browser that has the token", { authorization: `Bearer ${token}`, "sec-fetch-site": "same-origin" }],
  ])("%s: every method is the 404 of an address that is not there", async (_, headers) => {
    for (const method of methods) {
      const response = await post(method, headers as Record<string, string>);
      expect(response.status).toBe(404);
      expect(await response.text()).toBe('{"error":{"code":"not-found","message":"Not found."}}');
    }
  });

  test("a server that was given no token lets nobody in, not even with an empty one", async () => {
    vi.stubEnv("STORE_TOKEN", "");
    for (const authorization of ["Bearer ", "Bearer undefined", ""]) {
      expect((await post("read", { authorization })).status).toBe(404);
    }
  });

  test("the store says what is wrong, and never that a thread is not there", async () => {
    const store = open({ token: "wrong" });
    await expect(store.read("t")).rejects.toMatchObject({ code: "misconfigured" });
    await expect(store.append("t", { at: 0 }, one)).rejects.toMatchObject({ code: "misconfigured" });
    const next = store.follow("t", 0, new AbortController().signal)[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({ code: "misconfigured" });
  });
});

describe("an unclear answer to an append", () => {
  const cases: readonly (readonly [string, (response: Response) => Response])[] = [
    ["503", () => new Response("", { status: 503 })],
    ["a proxy's page", () => new Response("<html>Bad gateway</html>", { status: 502 })],
    ["a 200 that is no answer of ours", () => Response.json({ hello: "world" })],
    ["an answer that breaks off", () => new Response('{"status":"ok","fi')],
  ];
  test.each(cases)("%s: it throws, and the same batch again finds itself", async (_, fault) => {
    const id = crypto.randomUUID();
    faults.push(fault);
    await expect(open().append(id, { at: 0 }, one)).rejects.toMatchObject({ code: "unavailable" });
    expect(await open().append(id, { at: 0 }, one)).toMatchObject({
      status: "conflict",
      head: 1,
      events: [{ seq: 1, batch: "b1" }],
    });
  });

  test("nobody there: it throws", async () => {
    const gone = await serveRoute(async () => new Response());
    await gone.close();
    await expect(open({ url: gone.origin }).append("t", { at: 0 }, one)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("what the store refuses comes with its own code", async () => {
    await expect(open().list("o", "no cursor of ours")).rejects.toMatchObject({ code: "bad-request" });
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    await expect(open().append("t", { at: 0 }, { batch: "b", events: [] })).rejects.toMatchObject({ code: "internal" });
    vi.restoreAllMocks();
  });
});

describe("following", () => {
  test("goes on at its cursor when connections break, without a hole or a double", async () => {
    const id = crypto.randomUUID();
    const control = new AbortController();
    // Each first connection is answered by its first frames only.
    const cut = (response: Response): Response =>
      new Response(
        response.body?.pipeThrough(
          new TransformStream({
            transform: (chunk, stream) => {
              stream.enqueue(chunk);
              if (chunk.length > 10) stream.terminate();
            },
          }),
        ),
        response,
      );
    const store = open();
    await store.append(id, { at: 0 }, one);
    faults.push(cut, cut, () => new Response("", { status: 500 }));
    const seen: number[] = [];
    const following = (async () => {
      for await (const change of store.follow(id, 0, control.signal)) {
        if (change.type !== "events") throw new Error(change.type);
        seen.push(...change.events.map(({ seq }) => seq));
        if (seen.length === 5) return;
      }
    })();
    await vi.waitFor(() => expect(seen).toEqual([1]));
    const other = httpStore({ url: `${served.origin}/api/store`, token, fetch: directly });
    for (let at = 1; at < 5; at++) await other.append(id, { at }, { ...one, batch: `b${at + 1}` });
    await following;
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    control.abort();
  }, 20_000);

  test("leaves no connection behind: neither while it waits, nor when its reader goes away", async () => {
    await vi.waitFor(() => expect(served.busy()).toBe(0)); // of the tests before
    const store = open();
    const controls = Array.from({ length: 20 }, () => new AbortController());
    const waiting = controls.map(({ signal }) =>
      store.follow(crypto.randomUUID(), 0, signal)[Symbol.asyncIterator]().next(),
    );
    await vi.waitFor(() => expect(served.busy()).toBe(20));
    for (const control of controls) control.abort();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ done: true, value: undefined })));
    const id = crypto.randomUUID();
    await store.append(id, { at: 0 }, one);
    for (const _ of controls) {
      for await (const { type } of store.follow(id, 0, new AbortController().signal)) {
        expect(type).toBe("events");
        break;
      }
    }
    await vi.waitFor(() => expect(served.busy()).toBe(0));
  }, 20_000);

  test("a follower that hears nothing goes on however often its connection gets old", async () => {
    const id = crypto.randomUUID();
    const short = (response: Response): Response => {
      void response.body?.cancel();
      return new Response(":\n\n");
    };
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      const control = new AbortController();
      setTimeout(() => control.abort(), ms === 250 ? 1 : ms).unref(); // its pauses are short here
      return control.signal;
    });
    faults.push(...Array.from({ length: 100 }, () => short));
    const control = new AbortController();
    const next = open().follow(id, 0, control.signal)[Symbol.asyncIterator]().next();
    await vi.waitFor(() => expect(faults).toHaveLength(0), 10_000);
    await httpStore({ url, token, fetch: directly }).append(id, { at: 0 }, one);
    expect(await next).toMatchObject({ value: { type: "events", events: [{ seq: 1 }] } });
    control.abort();
    timeout.mockRestore();
  }, 20_000);

  /** Past the faults, which are for the follower. */
  const directly = (address: string, init: RequestInit): Promise<Response> => POST(new Request(address, init));
});

test("TOOLRUN_STORE names the store: the demo's own, or memory, or a mistake that says so", () => {
  expect(threadStore()).toHaveProperty("append");
  vi.stubEnv("TOOLRUN_STORE", "memory");
  expect(threadStore()).toHaveProperty("append");
  vi.stubEnv("TOOLRUN_STORE", "mongodb");
  expect(threadStore).toThrow('TOOLRUN_STORE is "mongodb": use "http", "redis", "upstash" or "memory".');
});

describe("restarting the server", () => {
  const page = { host: "localhost:3000", origin: "http://localhost:3000", "sec-fetch-site": "same-origin" };
  const ask = (headers: Record<string, string>): Promise<Response> =>
    restart(new Request("http://localhost:3000/api/demo/server", { method: "POST", headers }));

  test("without a supervisor there is nothing to ask, whoever asks", async () => {
    expect((await ask(page)).status).toBe(404);
    expect(whoIsThere(new Request("http://localhost:3000/", { headers: page })).status).toBe(404);
  });

  test("with one, only a page of this server on this machine is heard", async () => {
    const pids: string[] = [];
    const supervisor = await serveRoute(async (request) => {
      pids.push(await request.text());
      return new Response(null, { status: 202 });
    });
    vi.stubEnv("DEMO_SUPERVISOR", `${supervisor.origin}/secret`);
    for (const headers of [
      { ...page, "sec-fetch-site": "cross-site" },
      { ...page, "sec-fetch-site": "same-site" },
      { ...page, origin: "http://evil.example" },
      { ...page, origin: "http://localhost:4000" },
      { ...page, origin: "null" },
      { ...page, host: "rebound.example:3000", origin: "http://rebound.example:3000" },
      { host: page.host },
    ]) {
      expect((await ask(headers)).status, JSON.stringify(headers)).toBe(404);
    }
    expect(pids).toEqual([]);
    const response = await ask(page);
    expect(response.status).toBe(202);
    expect(pids).toEqual([String(process.pid)]);
    expect(await response.json()).toEqual(await whoIsThere(new Request("http://x/", { headers: page })).json());
    await supervisor.close();
  });
});
