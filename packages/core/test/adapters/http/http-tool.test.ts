import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { HttpToolOptions } from "../../../src/adapters/http-tool.ts";
import { httpToolVia } from "../../../src/adapters/http-tool.ts";
import type { Tool } from "../../../src/agent/agent.ts";
import type { StandardSchema } from "../../../src/agent/schema.ts";
import { httpTool } from "../../../src/http.ts";
import { callTool, failureOf } from "./call-tool.ts";
import type { Answer } from "./open-server.ts";
import { json, openServer, redirect, wayOut } from "./open-server.ts";

const PUBLIC = { "api.example.com": ["93.184.216.34"] };

const order = z.object({ id: z.string(), part: z.string().optional(), tags: z.array(z.string()).optional() });

type Options = Partial<HttpToolOptions<StandardSchema<never, never>, never>>;

/** A tool that asks a public-looking name, behind which is a server of the test. */
async function asking(answer: Answer, options: object = {}, names: Parameters<typeof wayOut>[0] = PUBLIC) {
  const server = await openServer(answer);
  const way = wayOut(names);
  const { path = "/orders/{id}", ...rest } = options as Options & { readonly path?: string };
  const url = `http://api.example.com:${server.port}${path}`;
  const settings = {
    description: "x",
    method: "GET",
    readOnly: true,
    inputSchema: order,
    allowHttp: true,
    url,
    ...rest,
  };
  const made: Tool = httpToolVia(way.transport, settings as HttpToolOptions<typeof order, never>);
  return { made, server, way, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("a request", () => {
  test("puts fields into the path and the rest of them into the query", async () => {
    await using to = await asking((_, response) => json(response, { total: 49.9 }));
    const output = await callTool(to.made, { id: "a b/c?d#e%", part: "1&2", tags: ["x", "y"] });
    expect(output).toEqual({ total: 49.9 });
    expect(to.server.heard[0]).toMatchObject({
      method: "GET",
      url: "/orders/a%20b%2Fc%3Fd%23e%25?part=1%262&tags=x&tags=y",
      body: "",
    });
    expect(to.way).toMatchObject({ resolved: ["api.example.com"], dialled: ["93.184.216.34"] });
    expect(to.server.heard[0]?.headers.host).toBe(`api.example.com:${to.server.port}`);
  });

  test("puts a field into the query that the address names there", async () => {
    await using to = await asking((_, response) => json(response, 1), { path: "/orders/{id}?view=full&part={part}" });
    await callTool(to.made, { id: "7", part: "a&b=c" });
    expect(to.server.heard[0]?.url).toBe("/orders/7?view=full&part=a%26b%3Dc");
  });

  test("that changes something has a JSON body, its length and the call's idempotency key", async () => {
    await using to = await asking((_, response) => json(response, "ok"), {
      method: "POST",
      readOnly: false,
      query: ["part"],
    });
    await callTool(to.made, { id: "7", part: "p", tags: ["ä"] }, { idempotencyKey: "c9.1" });
    expect(to.server.heard[0]).toMatchObject({ method: "POST", url: "/orders/7?part=p", body: '{"tags":["ä"]}' });
    expect(to.server.heard[0]?.headers).toMatchObject({
      "content-type": "application/json",
      "content-length": "15",
      "idempotency-key": "c9.1",
    });
  });

  test.each(["PUT", "PATCH", "DELETE"])("%s has the key too", async (method) => {
    await using to = await asking((_, response) => json(response, "ok"), { method, readOnly: false });
    await callTool(to.made, { id: "7" });
    expect(to.server.heard[0]).toMatchObject({ method, headers: { "idempotency-key": "c1.0" } });
  });

  test("of GET has neither key nor body", async () => {
    await using to = await asking((_, response) => json(response, "ok"));
    await callTool(to.made, { id: "7" });
    expect(to.server.heard[0]?.headers).not.toHaveProperty("idempotency-key");
    expect(to.server.heard[0]?.headers).not.toHaveProperty("content-length");
  });

  test("of DELETE with a body says where it ends", async () => {
    const body = (input: { readonly id: string }) => [input.id];
    await using to = await asking((_, response) => json(response, "ok"), { method: "DELETE", readOnly: false, body });
    await callTool(to.made, { id: "7" });
    expect(to.server.heard[0]).toMatchObject({ body: '["7"]', headers: { "content-length": "5" } });
  });

  test("has headers made of the user", async () => {
    const headers = async ({ user }: { readonly user: { readonly id: string } }) => ({
      authorization: `Bearer ${user.id}`,
    });
    await using to = await asking((_, response) => json(response, "ok"), { headers });
    await callTool(to.made, { id: "7" });
    expect(to.server.heard[0]?.headers.authorization).toBe("Bearer mia");
  });

  test.each([
    ["a line break", { "x-a": "secret\r\nx-admin: 1" }],
    ["a line break at the end", { "x-a": "secret\n" }],
    ["a name that is none", { "x a": "secret" }],
    ["the host", { host: "secret.example.com" }],
    ["the length of the body", { "Content-Length": "3" }],
    ["a value that is no text", { "x-a": undefined as unknown as string }],
  ])("whose headers hold %s is not sent, and the error does not say them", async (_what, headers) => {
    await using to = await asking((_, response) => json(response, "ok"), { headers: () => headers });
    const error = await failureOf(to.made, { id: "7" });
    expect(error).toMatchObject({ name: "DefiniteFailure", retry: false });
    expect(String(error)).not.toContain("secret");
    expect(to.server.heard).toEqual([]);
    expect(() => httpTool({ ...minimal, headers })).toThrow(/headers cannot be sent as they are/);
  });

  test("whose headers cannot be made is not sent, and the reason is not for the model", async () => {
    const headers = (): never => {
      throw new Error("refresh token secret-1");
    };
    await using to = await asking((_, response) => json(response, "ok"), { headers });
    expect((await failureOf(to.made, { id: "7" })).message).toBe(
      "The request was not sent: its headers could not be made.",
    );
  });
});

const minimal = {
  description: "x",
  method: "GET",
  url: "https://api.example.com/orders",
  inputSchema: order,
  readOnly: true,
} as const;

describe("a value in the path", () => {
  test.each([
    "..",
    ".",
    "../admin",
    "a/../../b",
    "..\\admin",
    "%2e%2e",
    "%2e%2e%2fadmin",
    "%252e%252e",
    "a/%2E./b",
    "",
  ])("that is %j is refused before anything is sent", async (id) => {
    await using to = await asking((_, response) => json(response, "ok"));
    expect(await failureOf(to.made, { id })).toMatchObject({ name: "DefiniteFailure", retry: false });
    expect(to.server.heard).toEqual([]);
  });

  test.each([undefined, null, {}, ["a"], "\ud800"])("that is no text or number is refused: %j", async (id) => {
    await using to = await asking((_, response) => json(response, "ok"));
    expect((await failureOf(to.made, { id })).message).toMatch(/does not fit into the address/);
  });

  test("two places beside each other cannot make a way up together", async () => {
    await using to = await asking((_, response) => json(response, "ok"), { path: "/a/{id}{part}/b" });
    expect(await failureOf(to.made, { id: "%", part: "2e." })).toMatchObject({ message: expect.any(String) });
    await callTool(to.made, { id: "x", part: "y" });
    expect(to.server.heard.map(({ url }) => url)).toEqual(["/a/xy/b"]);
  });

  test.each([
    ["@evil.example.com", "/orders/%40evil.example.com"],
    ["//evil.example.com", "/orders/%2F%2Fevil.example.com"],
    ["a\r\nHost: evil", "/orders/a%0D%0AHost%3A%20evil"],
    ["...", "/orders/..."],
    ["..hidden", "/orders/..hidden"],
    ["10%", "/orders/10%25"],
    ["日本", "/orders/%E6%97%A5%E6%9C%AC"],
  ])("that is %j stays in its place", async (id, url) => {
    await using to = await asking((_, response) => json(response, "ok"));
    await callTool(to.made, { id });
    expect(to.server.heard[0]?.url).toBe(url);
  });
});

describe("an answer", () => {
  const answering =
    (type: string | undefined, body: string | Buffer, headers: object = {}): Answer =>
    (_, response) => {
      response.writeHead(200, { ...(type !== undefined && { "content-type": type }), ...headers });
      response.end(body);
    };

  test.each([
    ["application/json", '{"a":[1,null]}', { a: [1, null] }],
    ["application/problem+json; charset=utf-8", '"x"', "x"],
    ["text/plain; charset=utf-8", "häh", "häh"],
    ["text/csv", "a,b", "a,b"],
    ["application/xml", "<a/>", "<a/>"],
    [undefined, "plain", "plain"],
    ["application/json", "", null],
    ["image/png", "", null],
  ])("of type %s saying %j is %j", async (type, body, expected) => {
    await using to = await asking(answering(type, body));
    expect(await callTool(to.made, { id: "7" })).toEqual(expected);
  });

  test("of 204 is nothing", async () => {
    await using to = await asking((_, response) => response.writeHead(204).end());
    expect(await callTool(to.made, { id: "7" })).toBeNull();
  });

  test("to HEAD is its headers, by way of result", async () => {
    await using to = await asking(answering("text/plain", "x", { etag: '"1"' }), {
      method: "HEAD",
      result: ({
        status,
        headers,
        body,
      }: {
        readonly status: number;
        readonly headers: Headers;
        readonly body: unknown;
      }) => [status, headers.get("etag"), body],
    });
    expect(await callTool(to.made, { id: "7" })).toEqual([200, '"1"', null]);
  });

  test.each([
    ["HEAD", 200],
    ["GET", 200],
    ["GET", 204],
    ["GET", 404],
    ["GET", 500],
  ])("to %s of %i leaves no connection open", async (method, status) => {
    await using to = await asking(
      (_, response) => {
        response.writeHead(status, { "content-type": "text/plain" });
        response.end(status === 204 ? undefined : "x");
      },
      { method },
    );
    await callTool(to.made, { id: "7" }).catch(() => undefined);
    await expect.poll(() => to.server.connections()).toBe(0);
  });

  test("keeps an id that has more digits than a number holds", async () => {
    await using to = await asking(answering("application/json", '{"id":12345678901234567890}'));
    expect(await callTool(to.made, { id: "7" })).toEqual({ id: "12345678901234567890" });
  });

  test.each([
    ["binary data", "image/png", "\u0001", /image\/png, which is neither JSON nor text/],
    ["JSON that is none", "application/json", "<html>", /says that it is JSON, and is none/],
  ])("of %s is a failed call, not tried again", async (_what, type, body, message) => {
    await using to = await asking(answering(type, body));
    const error = await failureOf(to.made, { id: "7" });
    expect(error).toMatchObject({ name: "DefiniteFailure", retry: false, message: expect.stringMatching(message) });
  });

  test("packed although nobody asked for it is unpacked", async () => {
    await using to = await asking(answering("application/json", gzipSync('{"a":1}'), { "content-encoding": "gzip" }));
    expect(await callTool(to.made, { id: "7" })).toEqual({ a: 1 });
    expect(to.server.heard[0]?.headers["accept-encoding"]).toBe("identity");
  });

  test("packed in another way is a failed call", async () => {
    await using to = await asking(answering("text/plain", "x", { "content-encoding": "br" }));
    expect((await failureOf(to.made, { id: "7" })).message).toMatch(/gave no whole answer/);
  });

  test.each([
    [404, "DefiniteFailure", false],
    [401, "DefiniteFailure", false],
    [409, "DefiniteFailure", false],
    [429, "DefiniteFailure", true],
    [500, "Error", undefined],
    [503, "Error", undefined],
    [304, "DefiniteFailure", false],
  ])("of %i is a failed call that says the status, and no more", async (status, name, retry) => {
    await using to = await asking((_, response) => json(response, { secret: "stack" }, status));
    const error = await failureOf(to.made, { id: "7" });
    expect(error.message).toBe(`GET api.example.com:${to.server.port} answered ${status}.`);
    expect([error.name, "retry" in error ? error.retry : undefined]).toEqual([name, retry]);
  });

  test("that is an error says its first 1,000 characters where the tool shows them", async () => {
    await using to = await asking((_, response) => json(response, { why: "x".repeat(5_000) }, 422), {
      showErrors: true,
    });
    const { message } = await failureOf(to.made, { id: "7" });
    expect(message).toContain('answered 422. {"why":"xxx');
    expect(message.length).toBeLessThan(1_100);
  });

  test("goes through result, which sees good ones only", async () => {
    const seen: number[] = [];
    const result = ({ status, body }: { readonly status: number; readonly body: unknown }) => {
      seen.push(status);
      return { only: (body as { readonly a: number }).a };
    };
    await using to = await asking(
      ({ url }, response) => json(response, { a: 1, b: 2 }, url === "/orders/7" ? 201 : 404),
      { result },
    );
    expect(await callTool(to.made, { id: "7" })).toEqual({ only: 1 });
    await failureOf(to.made, { id: "8" });
    expect(seen).toEqual([201]);
  });
});

describe("a request that changes something", () => {
  const post = { method: "POST", readOnly: false };

  test.each([500, 502, 408])("and is answered %i leaves the effect unknown", async (status) => {
    await using to = await asking((_, response) => json(response, {}, status), post);
    expect((await failureOf(to.made, { id: "7" })).name).toBe("UnknownEffect");
  });

  test("and is refused with 422 had none", async () => {
    await using to = await asking((_, response) => json(response, {}, 422), post);
    expect(await failureOf(to.made, { id: "7" })).toMatchObject({ name: "DefiniteFailure", retry: false });
  });

  test("and whose connection breaks leaves the effect unknown", async () => {
    await using to = await asking((_, response) => response.socket?.destroy(), post);
    expect((await failureOf(to.made, { id: "7" })).name).toBe("UnknownEffect");
  });

  test("and whose answer cannot be read leaves the effect unknown: it was done", async () => {
    await using to = await asking((_, response) => {
      response.writeHead(200, { "content-type": "image/png" });
      response.end("x");
    }, post);
    expect((await failureOf(to.made, { id: "7" })).name).toBe("UnknownEffect");
  });

  test("and is sent on to an answer that is not there leaves the effect unknown", async () => {
    await using to = await asking(
      ({ method }, response) => (method === "POST" ? redirect(response, "/gone", 303) : json(response, {}, 404)),
      post,
    );
    expect((await failureOf(to.made, { id: "7" })).name).toBe("UnknownEffect");
  });

  test("and finds nobody to hear it had none", async () => {
    const server = await openServer(() => undefined);
    await server[Symbol.asyncDispose]();
    const url = `http://api.example.com:${server.port}/`;
    const made = httpToolVia(wayOut(PUBLIC).transport, { ...minimal, ...post, method: "POST", url, allowHttp: true });
    const error = await failureOf(made, { id: "7" });
    expect(error).toMatchObject({ name: "DefiniteFailure", retry: true });
    expect(error.message).not.toContain("127.0.0.1");
  });
});

describe("the settings", () => {
  test.each([
    ["no address", { url: "orders" }, /url must be a whole, encoded address/],
    ["another scheme", { url: "ftp://api.example.com/" }, /url must be/],
    ["a place in the host", { url: "https://{id}.example.com/" }, /url must be/],
    ["a place in the port", { url: "https://api.example.com:{id}/" }, /url must be/],
    ["a place without a name", { url: "https://api.example.com/{}" }, /url must be/],
    ["half a place", { url: "https://api.example.com/{id" }, /url must be/],
    ["a password", { url: "https://me:secret@api.example.com/" }, /url must be/],
    ["a fragment", { url: "https://api.example.com/#x" }, /url must be/],
    ["dots that climb", { url: "https://api.example.com/a/../b" }, /url must be/],
    ["what should be encoded", { url: "https://api.example.com/a b" }, /url must be/],
    ["plain http", { url: "http://api.example.com/" }, /url is plain http/],
    ["a field the input does not have", { url: "https://api.example.com/{ghost}" }, /names "ghost", which inputSchema/],
    ["a query field the input does not have", { query: ["ghost"] }, /names "ghost"/],
    ["a method", { method: "TRACE" }, /method must be one of/],
    ["no word on what it changes", { readOnly: undefined }, /readOnly must be true or false/],
    ["no bytes", { maxBytes: 0 }, /maxBytes must be greater than 0/],
    ["a body for GET", { body: () => 1 }, /GET has no body/],
    ["both read-only and destructive", { destructive: true }, /cannot be both/],
  ])("that hold %s are refused when the tool is made", (_what, wrong, message) => {
    const make = (): unknown => httpTool({ ...minimal, ...(wrong as object) });
    expect(make).toThrow(expect.objectContaining({ code: "invalid-config", message: expect.stringMatching(message) }));
  });

  test("read-only is what the developer says, and such a tool is safe to try again", () => {
    expect(httpTool(minimal)).toMatchObject({ readOnly: true, idempotent: true, maxRetries: 2 });
    expect(httpTool({ ...minimal, readOnly: false })).toMatchObject({
      readOnly: false,
      idempotent: false,
      maxRetries: 0,
    });
    expect(httpTool({ ...minimal, method: "POST" })).toMatchObject({ readOnly: true });
  });
});
