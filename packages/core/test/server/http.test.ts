import { describe, expect, it } from "vitest";
import * as z from "zod";
import { tool } from "../../src/agent/tool.ts";
import { createToolRun } from "../../src/server/create-tool-run.ts";
import { MAX_BODY_BYTES } from "../../src/server/guard-request.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { call, calls, delay, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { BASE, clerk, jsonRequest } from "./endpoint.ts";
import type { WaitingShop } from "./shop.ts";
import { errorOf, REFUND, shop, waitingShop } from "./shop.ts";

type Body = Readonly<Record<string, unknown>>;

interface Write {
  readonly name: string;
  readonly path: string;
  /** A body that would be accepted, but for its thread's state. */
  body(shop: WaitingShop): Body;
}

const WRITES: readonly Write[] = [
  { name: "POST /threads", path: "", body: () => ({ message: { text: "Hi" }, key: "k1" }) },
  { name: "POST messages", path: "/messages", body: () => ({ message: { text: "Hi" }, key: "k1" }) },
  { name: "POST decisions", path: "/decisions", body: ({ step }) => ({ decisions: [approval(step)], key: "k1" }) },
  { name: "POST stop", path: "/stop", body: ({ runId }) => ({ runId, key: "k1" }) },
  { name: "POST continue", path: "/continue", body: ({ runId }) => ({ runId, key: "k1" }) },
  { name: "POST title", path: "/title", body: () => ({ title: "Mine", key: "k1" }) },
  { name: "POST revoke", path: "/revoke", body: () => ({ grantId: "g-1", key: "k1" }) },
];
const OF_A_THREAD = WRITES.filter(({ path }) => path !== "");

function approval({ id, digest }: { readonly id: string; readonly digest: string }): Body {
  return { callId: id, digest, action: "approve" };
}

function pathOf({ path }: Write, threadId: string): string {
  return path === "" ? "" : `/${threadId}${path}`;
}

const each = <Row extends { readonly name: string }>(rows: readonly Row[]): (readonly [string, Row])[] =>
  rows.map((row) => [row.name, row] as const);

/** Sends, and checks that it is refused so and that the log is as it was. */
async function refused(shop: WaitingShop, request: Request, status: number, code: string) {
  const before = await shop.server.events(shop.threadId);
  const rows = await shop.server.store.list(undefined);
  const error = await errorOf(await shop.server.handle(request));
  expect({ status: error.status, code: error.code }).toEqual({ status, code });
  expect(await shop.server.events(shop.threadId)).toEqual(before);
  expect(await shop.server.store.list(undefined)).toEqual(rows);
  expect(shop.ran).toEqual([]);
  return error;
}

/** Every way to spoil one value: another type, or nothing in it. */
function* spoiled(value: unknown, path: readonly (string | number)[] = []): Generator<readonly [string, unknown]> {
  for (const wrong of [null, true, 12_345, "", [], {}, [[]]]) {
    if (typeof wrong === "string" ? typeof value === "string" : typeof wrong !== typeof value || wrong === null) {
      yield [`${path.join(".") || "the body"} = ${JSON.stringify(wrong)}`, wrong];
    } else if (Array.isArray(wrong) !== Array.isArray(value)) {
      yield [`${path.join(".") || "the body"} = ${JSON.stringify(wrong)}`, wrong];
    }
  }
  if (Array.isArray(value)) {
    for (const [title, item] of spoiled(value[0], [...path, 0])) yield [title, [item]];
  } else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      const { [name]: _left, ...without } = value as Body;
      yield [`${[...path, name].join(".")} is missing`, without];
      for (const [title, spoilt] of spoiled(inner, [...path, name])) yield [title, { ...value, [name]: spoilt }];
    }
    yield [`${path.join(".") || "the body"} has an unknown field`, { ...value, surprise: 1 }];
    yield [
      `${path.join(".") || "the body"} has a field __proto__`,
      JSON.parse(`{"__proto__":1,${JSON.stringify(value).slice(1)}`),
    ];
  }
}

describe("a write that is not what the endpoint takes", () => {
  it.each(each(WRITES))(
    "%s: every field of another type, missing or unknown is a 400 that says where",
    async (_name, write) => {
      const made = await waitingShop();
      let count = 0;
      for (const [title, body] of spoiled(write.body(made))) {
        count++;
        const error = await refused(made, jsonRequest(pathOf(write, made.threadId), body), 400, "bad-request");
        expect(error.issues?.length, title).toBeGreaterThan(0);
      }
      expect(count).toBeGreaterThan(15);
    },
  );

  it.each(each(WRITES))("%s: text that is no JSON is a 400", async (_name, write) => {
    const made = await waitingShop();
    for (const text of ["", "{", '{"key":', "undefined", "\u0000", "key=k1", "{'key':'k'}"]) {
      await refused(made, jsonRequest(pathOf(write, made.threadId), text), 400, "bad-request");
    }
  });

  it.each(each(WRITES))("%s: no body at all is a 400", async (_name, write) => {
    const made = await waitingShop();
    const headers = { "content-type": "application/json" };
    const request = new Request(BASE + pathOf(write, made.threadId), { method: "POST", headers });
    await refused(made, request, 400, "bad-request");
  });

  it.each(each(WRITES))("%s: nesting without end is a 400", async (_name, write) => {
    const made = await waitingShop();
    for (const nested of [
      "[".repeat(200_000) + "]".repeat(200_000),
      `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
    ]) {
      await refused(made, jsonRequest(pathOf(write, made.threadId), nested), 400, "bad-request");
    }
  });

  it("nesting without end inside an input is a 400", async () => {
    const made = await waitingShop();
    const input = "[".repeat(100_000) + "]".repeat(100_000);
    const decision = JSON.stringify({ ...approval(made.step), input: "HERE" }).replace('"HERE"', input);
    await refused(
      made,
      jsonRequest(`/${made.threadId}/decisions`, `{"decisions":[${decision}],"key":"k"}`),
      400,
      "bad-request",
    );
  });

  it("a text that is half a character is a 400", async () => {
    const made = await waitingShop();
    const body = '{"message":{"text":"\\ud800"},"key":"k1"}';
    await refused(made, jsonRequest(`/${made.threadId}/messages`, body), 400, "invalid-input");
  });

  it.each(each(WRITES))("%s: a body too large by its length is a 413, and is not read", async (_name, write) => {
    const made = await waitingShop();
    let pulled = 0;
    const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 });
    const headers = { "content-type": "application/json", "content-length": String(MAX_BODY_BYTES + 1) };
    const init = { method: "POST", headers, body, duplex: "half" };
    await refused(made, new Request(BASE + pathOf(write, made.threadId), init), 413, "too-large");
    expect(pulled).toBe(0);
  });

  it.each(each(WRITES))("%s: a body too large on the way is a 413, and the rest is not read", async (_name, write) => {
    const made = await waitingShop();
    let sent = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 64 * 1024;
        controller.enqueue(new Uint8Array(64 * 1024).fill(32));
      },
      cancel() {
        cancelled = true;
      },
    });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body, duplex: "half" };
    await refused(made, new Request(BASE + pathOf(write, made.threadId), init), 413, "too-large");
    expect(cancelled).toBe(true);
    expect(sent).toBeLessThan(MAX_BODY_BYTES * 1.5);
  });

  it.each(each(WRITES))("%s: another content type is a 415", async (_name, write) => {
    const made = await waitingShop();
    const types = [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "text/json",
      "application/jsonp",
      "",
    ];
    for (const type of types) {
      const request = jsonRequest(pathOf(write, made.threadId), write.body(made), { "content-type": type });
      await refused(made, request, 415, "unsupported-media-type");
    }
  });

  it("JSON with a charset is JSON", async () => {
    const made = await waitingShop();
    const headers = { "content-type": "Application/JSON; charset=utf-8" };
    const response = await made.server.post(`/${made.threadId}/title`, { title: "Mine", key: "k" }, headers);
    expect(response.status).toBe(200);
  });

  it.each([
    [
      "101 decisions",
      (made: WaitingShop) => ({ decisions: Array.from({ length: 101 }, () => approval(made.step)), key: "k" }),
    ],
    ["no decision", () => ({ decisions: [], key: "k" })],
    [
      "an action there is none of",
      (made: WaitingShop) => ({ decisions: [{ ...approval(made.step), action: "run" }], key: "k" }),
    ],
    [
      "a scope there is none of",
      (made: WaitingShop) => ({ decisions: [{ ...approval(made.step), scope: "all" }], key: "k" }),
    ],
    ["a key of 201 characters", (made: WaitingShop) => ({ decisions: [approval(made.step)], key: "k".repeat(201) })],
  ])("%s is a 400", async (_title, body) => {
    const made = await waitingShop();
    await refused(made, jsonRequest(`/${made.threadId}/decisions`, body(made)), 400, "bad-request");
  });

  it.each([
    ["more than 64 KB of text", { text: "x".repeat(65_537) }],
    ["text of few characters and many bytes", { text: "€".repeat(21_846) }],
    ["a file by a script URL", { text: "x", files: [{ url: "javascript:alert(1)", mediaType: "image/png" }] }],
    ["a file by a file URL", { text: "x", files: [{ url: "file:///etc/passwd", mediaType: "image/png" }] }],
    ["21 files", { text: "x", files: Array.from({ length: 21 }, () => ({ url: "https://a.test", mediaType: "a/b" })) }],
  ])("%s is a 400", async (_title, message) => {
    const made = await waitingShop();
    await refused(made, jsonRequest(`/${made.threadId}/messages`, { message, key: "k" }), 400, "bad-request");
  });
});

describe("[S05] a write from another site", () => {
  const FOREIGN: readonly (readonly [string, Record<string, string>])[] = [
    ["Sec-Fetch-Site: cross-site", { "sec-fetch-site": "cross-site" }],
    ["Sec-Fetch-Site: same-site", { "sec-fetch-site": "same-site" }],
    ["another Origin", { origin: "https://evil.test" }],
    ["the Origin of another port", { origin: "https://shop.test:8443" }],
    ["the Origin null", { origin: "null" }],
    ["an Origin that is no URL", { origin: "shop.test" }],
    ["an Origin that begins like ours", { origin: "https://shop.test.evil.test" }],
    [
      "Sec-Fetch-Site: cross-site and our own host over http",
      { "sec-fetch-site": "cross-site", origin: "http://shop.test" },
    ],
    ["Sec-Fetch-Site: none and another Origin", { "sec-fetch-site": "none", origin: "https://evil.test" }],
  ];

  it.each(FOREIGN)("with %s is a 403 on every endpoint", async (_title, headers) => {
    const made = await waitingShop();
    for (const write of WRITES) {
      await refused(made, jsonRequest(pathOf(write, made.threadId), write.body(made), headers), 403, "forbidden");
    }
    await refused(made, new Request(`${BASE}/${made.threadId}`, { method: "DELETE", headers }), 403, "forbidden");
  });

  it.each([
    ["our own Origin", { origin: "https://shop.test" }],
    ["Sec-Fetch-Site: same-origin", { "sec-fetch-site": "same-origin", origin: "https://shop.test" }],
    ["neither header, as a program", {}],
    ["an allowed Origin", { origin: "https://app.test", "sec-fetch-site": "cross-site" }],
    [
      "the Host header of our Origin, where the server knows itself by another name",
      { origin: "https://www.shop.test", host: "www.shop.test" },
    ],
  ])("[S+] positive control: with %s is let in", async (_title, headers) => {
    const made = await waitingShop({ allowedOrigins: ["https://app.test"] });
    const response = await made.server.post(
      `/${made.threadId}/title`,
      { title: "Mine", key: "k" },
      headers as Record<string, string>,
    );
    expect(response.status).toBe(200);
  });
});

describe("who asks", () => {
  const ALL: readonly {
    readonly name: string;
    request(made: WaitingShop, headers: Record<string, string>, id?: string): Request;
  }[] = [
    ...OF_A_THREAD.map((write) => ({
      name: write.name,
      request: (made: WaitingShop, headers: Record<string, string>, id = made.threadId) =>
        jsonRequest(pathOf(write, id), write.body(made), headers),
    })),
    { name: "GET", request: (made, headers, id = made.threadId) => new Request(`${BASE}/${id}`, { headers }) },
    {
      name: "GET events",
      request: (made, headers, id = made.threadId) => new Request(`${BASE}/${id}/events`, { headers }),
    },
    {
      name: "DELETE",
      request: (made, headers, id = made.threadId) => new Request(`${BASE}/${id}`, { method: "DELETE", headers }),
    },
  ];

  it.each(each(ALL))(
    "[S03] %s: nobody gets a 401, whether or not there is such a thread",
    async (_name, { request }) => {
      const made = await waitingShop();
      const headers = { "x-user": "nobody" };
      const known = await refused(made, request(made, headers), 401, "unauthenticated");
      expect(await refused(made, request(made, headers, "unknown"), 401, "unauthenticated")).toEqual(known);
    },
  );

  it.each(each(ALL))(
    "[S03] %s: another user's thread is a 404 that looks like an unknown one",
    async (_name, { request }) => {
      const made = await waitingShop();
      const foreign = await refused(made, request(made, { "x-user": "mallory" }), 404, "not-found");
      const unknown = await refused(made, request(made, { "x-user": "mallory" }, "nO-such_thread"), 404, "not-found");
      expect(foreign).toEqual(unknown);
    },
  );

  it.each(each(ALL))("%s: an id that can be none is a 404", async (_name, { request }) => {
    const made = await waitingShop();
    for (const id of ["..%2f..", "a%20b", "x".repeat(65), "%00", "<script>", "ä"]) {
      await refused(made, request(made, {}, id), 404, "not-found");
    }
  });

  it.each(each(ALL.filter(({ name }) => !name.startsWith("GET"))))(
    "%s: a viewer gets a 403",
    async (name, { request }) => {
      const made = await waitingShop({
        authorize: ({ user, action, owner }) => user.id === owner || action === "read",
      });
      await refused(made, request(made, { "x-user": "viewer" }), 403, "forbidden");
      expect((await made.server.get(`/${made.threadId}`, { "x-user": "viewer" })).status, name).toBe(200);
    },
  );

  it("the list shows one's own threads only", async () => {
    const made = await waitingShop();
    const listOf = async (user: string): Promise<{ rows: unknown[] }> =>
      (await made.server.get("", { "x-user": user })).json();
    expect((await listOf("clerk")).rows).toHaveLength(1);
    expect((await listOf("mallory")).rows).toEqual([]);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("session db at 10.0.0.7 is down"))],
    ["hangs", () => new Promise<never>(() => undefined)],
  ])("an identify that %s is a 503", async (_title, identify) => {
    const made = await waitingShop();
    const broken = shop({ store: made.server.store, http: { identify } });
    const answer = broken.server.get(`/${made.threadId}`);
    await broken.server.clock.advance(10_000);
    const error = await errorOf(await answer);
    expect(error).toMatchObject({ status: 503, code: "unavailable" });
    expect(error.message).not.toContain("10.0.0.7");
    expect(broken.server.clock.armed).toBe(0);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("role db at 10.0.0.7 is down")), 500, "internal"],
    ["hangs", () => new Promise<never>(() => undefined), 503, "unavailable"],
  ] as const)("an authorize that %s opens nothing", async (_title, authorize, status, code) => {
    const made = await waitingShop();
    const broken = shop({ store: made.server.store, authorize });
    for (const { request } of ALL) {
      const answer = broken.server.handle(request(made, {}));
      await broken.server.clock.advance(10_000);
      const error = await errorOf(await answer);
      expect(error).toMatchObject({ status, code });
      expect(error.message).not.toContain("10.0.0.7");
    }
    expect(made.ran).toEqual([]);
  });
});

describe("an address there is nothing at", () => {
  it.each([
    ["PUT", "/threads"],
    ["PATCH", "/threads/a"],
    ["DELETE", "/threads"],
    ["DELETE", "/threads/a/messages"],
    ["POST", "/threads/a"],
    ["POST", "/threads/a/events"],
    ["GET", "/threads/a/messages"],
    ["GET", "/threads/a/events/b"],
    ["POST", "/threads/a/decisions/b"],
    ["GET", "/other"],
    ["GET", "/"],
    ["POST", "/threads/a/__proto__"],
    ["GET", "/threads/a/constructor"],
  ])("%s %s is a 404", async (method, path) => {
    const made = await waitingShop();
    const headers = { "content-type": "application/json" };
    const init = method === "POST" ? { method, headers, body: "{}" } : { method, headers };
    await refused(made, new Request(`https://shop.test/api/toolrun${path}`, init), 404, "not-found");
  });

  it("is found under any mount", async () => {
    const made = await waitingShop();
    for (const mount of ["", "/api/toolrun", "/de/threads/chat", "/a/b/c"]) {
      const response = await made.server.handle(new Request(`https://shop.test${mount}/threads/${made.threadId}`));
      expect(response.status).toBe(200);
    }
  });

  it("a list cursor that is none of ours is a 400", async () => {
    const made = await waitingShop();
    await refused(made, new Request(`${BASE}?cursor=%27%20or%201%3D1`), 400, "bad-request");
  });

  it.each(["", "x", "-1", "1.5", "1e3", "0x10", " 1 2", "9999999999999999", "NaN", "1;drop"])(
    "the cursor %j of an event stream is a 400",
    async (cursor) => {
      const made = await waitingShop();
      const url = `${BASE}/${made.threadId}/events`;
      await refused(made, new Request(url, { headers: { "last-event-id": cursor } }), 400, "bad-request");
      await refused(made, new Request(`${url}?after=${encodeURIComponent(cursor)}`), 400, "bad-request");
    },
  );
});

describe("a decision the step does not take", () => {
  const decide = (made: WaitingShop, decision: Body, key = "k9") =>
    made.server.post(`/${made.threadId}/decisions`, { decisions: [decision], key });

  it("for another digest is a 409 with the step as it is", async () => {
    const made = await waitingShop();
    const body = { decisions: [{ ...approval(made.step), digest: "other" }], key: "k" };
    const error = await refused(made, jsonRequest(`/${made.threadId}/decisions`, body), 409, "stale");
    expect(error.step).toMatchObject({ id: made.step.id, status: "waiting", input: REFUND, digest: made.step.digest });
  });

  it("for an unknown call is a 404", async () => {
    const made = await waitingShop();
    const body = { decisions: [{ ...approval(made.step), callId: "nope" }], key: "k" };
    await refused(made, jsonRequest(`/${made.threadId}/decisions`, body), 404, "not-found");
  });

  it("after somebody decided is a 409 that says what, by whom and when", async () => {
    const made = await waitingShop();
    expect((await decide(made, { ...approval(made.step), action: "deny", reason: "no" }, "k1")).status).toBe(200);
    await made.server.clock.advance(0);
    const before = await made.server.events(made.threadId);
    const error = await errorOf(await decide(made, approval(made.step), "k2"));
    expect(error).toMatchObject({ status: 409, code: "decided" });
    expect(error.step?.decision).toMatchObject({ action: "deny", by: clerk, reason: "no", at: expect.any(Number) });
    expect(await made.server.events(made.threadId)).toEqual(before);
    expect(made.ran).toEqual([]);
  });

  it("after its time is a 410, and says so again", async () => {
    const made = await waitingShop({ refund: { approval: { ask: { expiresInMs: 1_000 } } } });
    await made.server.clock.advance(1_000);
    expect(await errorOf(await decide(made, approval(made.step), "k1"))).toMatchObject({
      status: 410,
      code: "expired",
    });
    await made.server.clock.advance(0);
    const before = await made.server.events(made.threadId);
    expect(await errorOf(await decide(made, approval(made.step), "k2"))).toMatchObject({
      status: 410,
      code: "expired",
    });
    expect(await made.server.events(made.threadId)).toEqual(before);
    expect(made.ran).toEqual([]);
  });

  it("after the run was stopped is a 410", async () => {
    const made = await waitingShop();
    await made.server.post(`/${made.threadId}/stop`, { runId: made.runId, key: "s" });
    const body = { decisions: [approval(made.step)], key: "k" };
    await refused(made, jsonRequest(`/${made.threadId}/decisions`, body), 410, "stopped");
  });

  it("while a stop waits for a tool that ignores it is a 410, and nothing starts any more", async () => {
    const inputSchema = z.object({});
    const slow = tool({ description: "x", inputSchema, readOnly: true, execute: () => new Promise(() => undefined) });
    const made = shop({ tools: { slow }, script: [calls(call("slow", {}), call("refund", REFUND))] });
    const { threadId, runId } = await made.server.send({ user: clerk, message: "Go" });
    await made.server.clock.advance(0);
    const [step] = (await made.server.read({ user: clerk, threadId }))?.pending ?? [];
    if (!step) throw new Error("nothing waits");
    await made.server.post(`/${threadId}/stop`, { runId, key: "s" });
    const body = { decisions: [approval(step)], key: "k" };
    const error = await errorOf(await made.server.post(`/${threadId}/decisions`, body));
    expect(error).toMatchObject({ status: 410, code: "stopped", step: { status: "waiting" } });
    await made.server.clock.advance(2_000);
    expect((await made.server.thread(threadId)).runs[0]?.outcome).toBe("stopped");
    expect(made.ran).toEqual([]);
  });

  it("after the tool changed is a 409", async () => {
    const made = await waitingShop();
    const deployed = shop({ store: made.server.store, refund: { destructive: true } });
    const error = await errorOf(
      await deployed.server.post(`/${made.threadId}/decisions`, { decisions: [approval(made.step)], key: "k" }),
    );
    expect(error).toMatchObject({ status: 409, code: "tool-changed" });
    expect(deployed.ran).toEqual([]);
  });

  it("after a deploy that fixed a description is taken", async () => {
    const made = await waitingShop();
    const deployed = shop({
      store: made.server.store,
      refund: { description: "Refunds an order." },
      script: [say("Done.")],
    });
    const body = { decisions: [approval(made.step)], key: "k" };
    expect((await deployed.server.post(`/${made.threadId}/decisions`, body)).status).toBe(200);
    await deployed.server.clock.advance(0);
    expect(deployed.ran).toEqual([REFUND]);
  });

  it.each(["answer", "retry", "skip"])("of the kind %s is a 409: it waits for an approval", async (action) => {
    const made = await waitingShop();
    const body = { decisions: [{ ...approval(made.step), action }], key: "k" };
    await refused(made, jsonRequest(`/${made.threadId}/decisions`, body), 409, "not-waiting");
  });

  it("among others is refused alone: the answer has one result for each", async () => {
    const made = await waitingShop();
    const body = { decisions: [approval(made.step), { ...approval(made.step), callId: "nope" }], key: "k" };
    const response = await made.server.post(`/${made.threadId}/decisions`, body);
    expect(response.status).toBe(200);
    const answer: { results: unknown[] } = await response.json();
    expect(answer.results).toMatchObject([
      { callId: made.step.id, ok: true },
      { callId: "nope", ok: false, error: { code: "not-found" } },
    ]);
    await made.server.clock.advance(0);
    expect(made.ran).toEqual([REFUND]);
  });

  it("for a run there is none of: stop is a 404, continue a 409", async () => {
    const made = await waitingShop();
    await refused(made, jsonRequest(`/${made.threadId}/stop`, { runId: "nope", key: "k" }), 404, "not-found");
    await refused(made, jsonRequest(`/${made.threadId}/continue`, { runId: "nope", key: "k" }), 409, "not-waiting");
    await refused(made, jsonRequest(`/${made.threadId}/continue`, { runId: made.runId, key: "k" }), 409, "not-waiting");
    await refused(made, jsonRequest(`/${made.threadId}/revoke`, { grantId: "nope", key: "k" }), 404, "not-found");
  });
});

describe("[A8] the same key", () => {
  it.each(each(WRITES.filter(({ path }) => path !== "/continue" && path !== "/revoke")))(
    "%s: with the same body gets the same answer and adds nothing",
    async (_name, write) => {
      const made = await waitingShop();
      const path = pathOf(write, made.threadId);
      const body = write.body(made);
      const first = await made.server.post(path, body);
      expect(first.status).toBeLessThan(300);
      const answer = await first.json();
      await made.server.clock.advance(0);
      const { rows } = await made.server.store.list(undefined);
      const before = await Promise.all(rows.map(({ id }) => made.server.events(id)));
      const second = await made.server.post(path, body);
      expect(second.status).toBe(first.status);
      expect(await second.json()).toEqual(answer);
      await made.server.clock.advance(0);
      expect(await Promise.all(rows.map(({ id }) => made.server.events(id)))).toEqual(before);
      expect(made.ran.length).toBeLessThanOrEqual(1);
    },
  );

  it.each([
    ["POST /threads", "", { message: { text: "Other" } }],
    ["POST messages", "/messages", { message: { text: "Other" } }],
    ["POST decisions", "/decisions", undefined],
    ["POST title", "/title", { title: "Other" }],
    ["POST stop", "/stop", { reason: "other" }],
  ])("%s: with another body is a 422", async (name, path, change) => {
    const made = await waitingShop();
    const write = WRITES.find((candidate) => candidate.name === name);
    const body = write?.body(made) ?? {};
    const changed = change ?? { decisions: [{ ...approval(made.step), action: "deny" }] };
    const address = path === "" ? "" : `/${made.threadId}${path}`;
    await made.server.post(address, body);
    await made.server.clock.advance(0);
    const before = await made.server.events(made.threadId);
    const error = await errorOf(await made.server.post(address, { ...body, ...changed }));
    expect(error).toMatchObject({ status: 422, code: "key-reused" });
    expect(await made.server.events(made.threadId)).toEqual(before);
  });

  it("of two users is two keys", async () => {
    const { server } = shop({ script: [say("Hi"), say("Hi")] });
    const body = { message: { text: "Hi" }, key: "k" };
    const ids = await Promise.all(
      ["ada", "bob"].map(async (id) => (await (await server.post("", body, { "x-user": id })).json()).threadId),
    );
    expect(new Set(ids).size).toBe(2);
  });

  it("[A20] of a thread that was removed is a 404, and nothing comes back", async () => {
    const { server } = shop({ script: [say("Hi"), say("Hi")] });
    const body = { message: { text: "Hi" }, key: "k" };
    const { threadId }: { threadId: string } = await (await server.post("", body)).json();
    await server.clock.advance(0);
    expect((await server.handle(new Request(`${BASE}/${threadId}`, { method: "DELETE" }))).status).toBe(204);
    expect(await errorOf(await server.post("", body))).toMatchObject({ status: 404 });
    expect(await errorOf(await server.get(`/${threadId}`))).toMatchObject({ status: 404 });
  });
});

describe("too many active runs", () => {
  it("is a 429, and a message to a running one still steers", async () => {
    const { server } = shop({ maxActiveRuns: 1, script: [delay(Number.POSITIVE_INFINITY)] });
    const first: { threadId: string } = await (await server.post("", { message: { text: "Hi" }, key: "a" })).json();
    await server.clock.advance(0);
    const error = await errorOf(await server.post("", { message: { text: "Hi" }, key: "b" }));
    expect(error).toMatchObject({ status: 429, code: "too-many" });
    expect((await server.store.list(undefined)).rows).toHaveLength(1);
    expect((await server.post(`/${first.threadId}/messages`, { message: { text: "More" }, key: "c" })).status).toBe(
      202,
    );
    expect((await server.post("", { message: { text: "Hi" }, key: "a" })).status).toBe(201);
  });

  it("is never more than allowed, however many are posted at once", async () => {
    const forever = delay(Number.POSITIVE_INFINITY);
    const { server } = shop({ maxActiveRuns: 5, script: Array.from({ length: 30 }, () => forever) });
    const posts = Array.from({ length: 30 }, (_, index) =>
      server.post("", { message: { text: "Hi" }, key: `k${index}` }),
    );
    const statuses = (await Promise.all(posts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
    await server.clock.advance(0);
    expect((await server.post("", { message: { text: "Hi" }, key: "later" })).status).toBe(429);
  });

  it("does not count what waits for a person", async () => {
    const made = await waitingShop({ maxActiveRuns: 1, script: [call("refund", REFUND), say("Hi")] });
    expect((await made.server.post("", { message: { text: "Hi" }, key: "b" })).status).toBe(201);
  });
});

describe("a store that", () => {
  const METHODS = ["read", "append", "list", "remove"] as const;
  const REQUESTS: readonly {
    readonly name: string;
    readonly uses: readonly string[];
    request(made: WaitingShop): Request;
  }[] = [
    { name: "GET /threads", uses: ["list"], request: () => new Request(BASE) },
    { name: "GET", uses: ["read"], request: ({ threadId }) => new Request(`${BASE}/${threadId}`) },
    { name: "GET events", uses: ["read"], request: ({ threadId }) => new Request(`${BASE}/${threadId}/events`) },
    {
      name: "DELETE",
      uses: ["read", "remove"],
      request: ({ threadId }) => new Request(`${BASE}/${threadId}`, { method: "DELETE" }),
    },
    {
      name: "POST /threads",
      uses: ["read", "append", "list"],
      request: () => jsonRequest("", { message: { text: "Hi" }, key: "n" }),
    },
    ...OF_A_THREAD.filter(({ path }) => path !== "/continue" && path !== "/revoke").map((write) => ({
      name: write.name,
      uses: ["read", "append"],
      request: (made: WaitingShop) => jsonRequest(pathOf(write, made.threadId), write.body(made)),
    })),
  ];
  const CASES = METHODS.flatMap((method) =>
    REQUESTS.filter(({ uses }) => uses.includes(method)).map(({ name, request }) => ({
      name: `${method} for ${name}`,
      method,
      request,
    })),
  );
  const SECRET = "ECONNREFUSED redis://admin:hunter2@10.0.0.7";

  const broken = async (method: keyof ThreadStore, fault: () => Promise<never>) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const made = await waitingShop({ store, clock });
    const { server } = shop({ store: { ...store, [method]: fault }, clock });
    return { made, server };
  };

  it.each(each(CASES))(
    "hangs in %s: a 503 after ten seconds, and no timer stays",
    async (_name, { method, request }) => {
      const { made, server } = await broken(method, () => new Promise<never>(() => undefined));
      let answered = false;
      const answer = server.handle(request(made)).finally(() => {
        answered = true;
      });
      await server.clock.advance(9_999);
      expect(answered).toBe(false);
      await server.clock.advance(1);
      expect(answered).toBe(true);
      expect(await errorOf(await answer)).toMatchObject({ status: 503, code: "unavailable" });
      expect(server.clock.armed).toBe(0);
    },
  );

  it.each(each(CASES))("throws in %s: a 503 whose reference finds the error", async (_name, { method, request }) => {
    const { made, server } = await broken(method, () => Promise.reject(new Error(SECRET)));
    const answer = server.handle(request(made));
    await server.clock.advance(10_000);
    const response = await answer;
    const text = await response.clone().text();
    expect(await errorOf(response)).toMatchObject({ status: 503, code: "unavailable", reference: expect.any(String) });
    expect(text).not.toContain("hunter2");
    expect(server.errors.map(String).join()).toContain(SECRET);
  });
});

describe("production", () => {
  const model = { stream: () => (async function* () {})() };
  const production = async (options: object, work: (toolrun: ReturnType<typeof createToolRun>) => Promise<void>) => {
    const before = process.env.NODE_ENV;
    process.env.NODE_ENV = "production";
    try {
      const { defineAgent } = await import("../../src/agent/define-agent.ts");
      await work(createToolRun({ agent: defineAgent({ model }), ...options }));
    } finally {
      process.env.NODE_ENV = before;
    }
  };

  it.each([
    ["identify", { store: memoryStore() }, "identify: async (request)"],
    ["store", { identify: () => ({ id: "u" }) }, "store: memoryStore()"],
  ])("without %s is a 503 that says what to write", async (_name, options, fix) => {
    await production(options, async (toolrun) => {
      for (const handler of [toolrun.GET, toolrun.POST, toolrun.DELETE]) {
        const error = await errorOf(await handler(new Request(BASE)));
        expect(error).toMatchObject({ status: 503, code: "misconfigured" });
        expect(error.message).toContain(fix);
      }
    });
  });

  it("with both answers", async () => {
    await production({ store: memoryStore(), identify: () => ({ id: "u" }) }, async (toolrun) => {
      expect((await toolrun.GET(new Request(BASE))).status).toBe(200);
    });
  });

  it("with an identify that knows nobody is a 401", async () => {
    await production({ store: memoryStore(), identify: () => undefined }, async (toolrun) => {
      expect(await errorOf(await toolrun.GET(new Request(BASE)))).toMatchObject({ status: 401 });
    });
  });
});
