import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Reach } from "../../../src/adapters/http-address.ts";
import { checkAddress } from "../../../src/adapters/http-address.ts";
import type { HttpToolOptions } from "../../../src/adapters/http-tool.ts";
import { httpToolVia } from "../../../src/adapters/http-tool.ts";
import type { Tool } from "../../../src/agent/agent.ts";
import { httpTool } from "../../../src/http.ts";
import { callTool, failureOf } from "./call-tool.ts";
import type { Answer, OpenServer, Way } from "./open-server.ts";
import { json, openServer, redirect, wayOut } from "./open-server.ts";

const PUBLIC_ADDRESS = "93.184.216.34";
const NAMES = {
  "api.example.com": [PUBLIC_ADDRESS],
  "other.example.com": ["2606:4700::1111"],
  "inside.example.com": ["10.0.0.7"],
  "half.example.com": [PUBLIC_ADDRESS, "127.0.0.1"],
};

interface Asking extends AsyncDisposable {
  readonly made: Tool;
  readonly server: OpenServer;
  readonly way: Way;
}

/** A tool for a public name; its server sends it wherever the test says. */
async function asking(
  answer: Answer,
  options: object = {},
  names: Parameters<typeof wayOut>[0] = NAMES,
): Promise<Asking> {
  const server = await openServer(answer);
  const way = wayOut(names);
  const url = `http://api.example.com:${server.port}/start`;
  const settings = { description: "x", method: "GET", readOnly: true, inputSchema: z.object({}), allowHttp: true, url };
  const made = httpToolVia(way.transport, { ...settings, ...options } as HttpToolOptions<z.ZodObject, never>);
  return { made, server, way, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Sends the first request on; everything else is told that it got in. */
const sendingTo =
  (location: (port: number) => string, status = 302): Answer =>
  ({ url, headers }, response) =>
    url === "/start" ? redirect(response, location(Number(headers.host?.split(":")[1])), status) : json(response, "in");

/** Every way we know to write an address that is not a public one. */
const INNER: readonly string[] = [
  "127.0.0.1",
  "127.1",
  "0x7f.1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "①②⑦.0.0.1",
  "127.0.0.1.",
  "0.0.0.0",
  "0",
  "10.0.0.7",
  "172.16.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "0xa9fea9fe",
  "168.63.129.16",
  "192.0.0.192",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:7f00:1]",
  "[::ffff:127.0.0.1]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fec0::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "metadata.google.internal",
  "metadata.google.internal.",
  "printer.local",
  "db.corp",
  "kubernetes.default.svc.cluster.local",
  "metadata",
];

describe("a tool's own address", () => {
  test.each(INNER)("[S15] %s is refused before anything is looked up or sent", async (host) => {
    const way = wayOut(() => {
      throw new Error("it was looked up");
    });
    const made = httpToolVia(way.transport, {
      ...{ description: "x", method: "GET", readOnly: true, inputSchema: z.object({}), url: `https://${host}/` },
    });
    expect((await failureOf(made, {})).message).toMatch(
      /^The request was not sent: the (address|host) is not public\.$/,
    );
    expect(way).toMatchObject({ resolved: [], dialled: [] });
  });

  test.each([
    ["one address", "inside.example.com"],
    ["one of several", "half.example.com"],
  ])("[S15] a public name with %s inside is refused before it is connected to", async (_what, host) => {
    await using to = await asking(
      sendingTo(() => "/"),
      { url: `https://${host}/` },
    );
    expect(await failureOf(to.made, {})).toMatchObject({
      name: "DefiniteFailure",
      retry: false,
      message: "The request was not sent: the address is not public.",
    });
    expect(to.way).toMatchObject({ resolved: [host], dialled: [] });
  });

  test("[S15] a public name and a public number are asked", async () => {
    await using to = await asking((_, response) => json(response, "ok"));
    expect(await callTool(to.made, {})).toBe("ok");
    const url = `http://${PUBLIC_ADDRESS}:${to.server.port}/`;
    const made = httpToolVia(to.way.transport, {
      ...{ description: "x", method: "GET", readOnly: true, inputSchema: z.object({}), url, allowHttp: true },
    });
    // A number needs no look-up, and nobody is behind it here: the test's dialling stands in for the way there.
    expect(to.way.dialled).toEqual([PUBLIC_ADDRESS]);
    expect(made.readOnly).toBe(true);
    expect(() => checkAddress(new URL(url), reach({ allowHttp: true }))).not.toThrow();
  });

  test("[S15] a name that means another address at the next look is connected to at the one that was checked", async () => {
    let looks = 0;
    await using to = await asking(
      (_, response) => json(response, "ok"),
      {},
      async () => (++looks === 1 ? [PUBLIC_ADDRESS] : ["127.0.0.1"]),
    );
    expect(await callTool(to.made, {})).toBe("ok");
    expect(to.way).toMatchObject({ resolved: ["api.example.com"], dialled: [PUBLIC_ADDRESS] });
    // And at the next request it is checked anew.
    expect((await failureOf(to.made, {})).message).toMatch(/the address is not public/);
    expect(to.server.heard).toHaveLength(1);
  });

  test("[S15] of the app's own network works where it says so", async () => {
    await using server = await openServer((_, response) => json(response, "mine"));
    for (const host of ["127.0.0.1", "localhost"]) {
      const url = `http://${host}:${server.port}/`;
      const made = httpTool({
        ...{ description: "x", method: "GET", readOnly: true, inputSchema: z.object({}), privateNetwork: true, url },
      });
      expect(await callTool(made, {})).toBe("mine"); // over Node's own way out
    }
  });
});

describe("a redirect", () => {
  test.each(INNER)("[S15] to %s is not followed", async (host) => {
    // A header holds no such digits as they are; whoever reads the address makes the same of it.
    await using to = await asking(
      sendingTo((port) => `http://${encodeURI(host).replace(/%5[BD]/g, decodeURI)}:${port}/inside`),
    );
    expect(await failureOf(to.made, {})).toMatchObject({ name: "DefiniteFailure", retry: false });
    expect(to.server.heard.map(({ url }) => url)).toEqual(["/start"]);
    expect(to.way.dialled).toEqual([PUBLIC_ADDRESS]);
  });

  test.each([
    ["a name that is inside", (port: number) => `http://inside.example.com:${port}/`],
    ["a name that is inside by half", (port: number) => `http://half.example.com:${port}/`],
    ["a name without an address", (port: number) => `http://ghost.example.com:${port}/`],
    ["another scheme", () => "file:///etc/passwd"],
    ["data", () => "data:text/plain,in"],
    ["a password", (port: number) => `http://me:you@other.example.com:${port}/`],
    ["no address", () => "http://"],
    ["an address without a scheme of a host inside", (port: number) => `//127.0.0.1:${port}/`],
  ])("[S15] to %s is not followed", async (_what, location) => {
    await using to = await asking(sendingTo(location));
    await failureOf(to.made, {});
    expect(to.server.heard.map(({ url }) => url)).toEqual(["/start"]);
  });

  test.each([301, 302, 303, 307, 308])(
    "[S15] of %i to a public name is followed, its address checked too",
    async (status) => {
      await using to = await asking(sendingTo((port) => `http://other.example.com:${port}/end?x=1#part`, status));
      expect(await callTool(to.made, {})).toBe("in");
      expect(to.way).toMatchObject({
        resolved: ["api.example.com", "other.example.com"],
        dialled: [PUBLIC_ADDRESS, "2606:4700::1111"],
      });
      expect(to.server.heard[1]?.url).toBe("/end?x=1");
    },
  );

  test("[S15] that is relative is followed on the same site", async () => {
    await using to = await asking(
      sendingTo(() => "../end"),
      { headers: { "x-key": "k" } },
    );
    expect(await callTool(to.made, {})).toBe("in");
    expect(to.server.heard[1]).toMatchObject({ url: "/end", headers: { "x-key": "k" } });
  });

  test("[S15] from one public name over another to the inside is not followed to its end", async () => {
    const hops: Record<string, string> = {
      "/start": "other.example.com",
      "/2": "api.example.com",
      "/3": "169.254.169.254",
    };
    await using to = await asking(({ url = "", headers }, response) => {
      const port = headers.host?.split(":")[1];
      const next = url === "/start" ? "/2" : "/3";
      redirect(response, `http://${hops[url]}:${port}${next}`);
    });
    await failureOf(to.made, {});
    expect(to.server.heard.map(({ url }) => url)).toEqual(["/start", "/2", "/3"]);
    expect(to.way.dialled).toHaveLength(3);
  });

  test("[S15] to itself ends after five", async () => {
    await using to = await asking(({ url }, response) => redirect(response, url ?? ""));
    expect((await failureOf(to.made, {})).message).toMatch(/redirected too often/);
    expect(to.server.heard).toHaveLength(6);
  });

  test("[S15] from https to http is not followed", () => {
    expect(() => checkAddress(new URL("http://api.example.com/"), reach({}))).toThrow(/http:\/\/ is not allowed/);
    expect(() => checkAddress(new URL("https://api.example.com/"), reach({}))).not.toThrow();
  });

  test("[S15] to another site takes no header of the app along, to the same one all of them", async () => {
    const headers = { authorization: "Bearer secret", cookie: "a=1", "x-api-key": "secret", accept: "text/plain" };
    await using to = await asking(
      ({ url, headers: heard }, response) => {
        const port = heard.host?.split(":")[1];
        if (url === "/start") redirect(response, "/second");
        else if (url === "/second") redirect(response, `http://other.example.com:${port}/third`);
        else json(response, "in");
      },
      { headers },
    );
    expect(await callTool(to.made, {})).toBe("in");
    const [first, second, third] = to.server.heard.map((each) => each.headers);
    expect(first).toMatchObject(headers);
    expect(second).toMatchObject(headers);
    expect(third).toMatchObject({ accept: "text/plain" });
    expect(JSON.stringify(third)).not.toContain("secret");
    expect(third).not.toHaveProperty("cookie");
  });

  test("[S15] to another port is one to another site", async () => {
    await using second = await openServer((_, response) => json(response, "in"));
    await using to = await asking((_, response) => redirect(response, `http://api.example.com:${second.port}/`), {
      headers: { authorization: "secret" },
    });
    expect(await callTool(to.made, {})).toBe("in");
    expect(second.heard[0]?.headers).not.toHaveProperty("authorization");
  });

  test("[S15] leads to hosts of the list only, where there is one", async () => {
    const to = (host: string): Promise<Asking> =>
      asking(
        sendingTo((port) => `http://${host}:${port}/`),
        { hosts: ["listed.example.com"] },
        async () => [PUBLIC_ADDRESS],
      );
    await using other = await to("other.example.com");
    expect((await failureOf(other.made, {})).message).toMatch(/the host is not on the list/);
    // A list names ports too: this server has one of its own.
    await using server = await openServer(sendingTo((port) => `http://LISTED.example.com:${port}/`));
    const way = wayOut(async () => [PUBLIC_ADDRESS]);
    const made = httpToolVia(way.transport, {
      ...{ description: "x", method: "GET", readOnly: true, inputSchema: z.object({}), allowHttp: true },
      url: `http://api.example.com:${server.port}/start`,
      hosts: [`Listed.example.com:${server.port}`],
    });
    expect(await callTool(made, {})).toBe("in");
  });

  test("[S15] leads nowhere else in the app's own network, and not into it from outside", async () => {
    await using inner = await openServer((_, response) => json(response, "in"));
    await using own = await openServer((_, response) => redirect(response, `http://127.0.0.1:${inner.port}/`));
    const made = httpTool({
      ...{ description: "x", method: "GET", readOnly: true, inputSchema: z.object({}), privateNetwork: true },
      url: `http://127.0.0.1:${own.port}/`,
    });
    await failureOf(made, {});
    expect(own.heard).toHaveLength(1);
    expect(inner.heard).toEqual([]);
  });

  test.each([
    [303, "GET"],
    [302, "GET"],
    [307, "POST"],
    [308, "POST"],
  ])("[S15] of %i after a POST goes on as %s on the same site", async (status, method) => {
    await using to = await asking(
      sendingTo(() => "/end", status),
      {
        method: "POST",
        readOnly: false,
        body: () => ({ a: 1 }),
      },
    );
    expect(await callTool(to.made, {})).toBe("in");
    expect(to.server.heard[1]).toMatchObject({ method, body: method === "POST" ? '{"a":1}' : "" });
    expect("idempotency-key" in (to.server.heard[1]?.headers ?? {})).toBe(method === "POST");
  });

  test("[S15] of a POST to another site is not followed: what was sent stays where it was meant for", async () => {
    await using to = await asking(
      sendingTo((port) => `http://other.example.com:${port}/`, 307),
      {
        method: "POST",
        readOnly: false,
      },
    );
    expect(await failureOf(to.made, {})).toMatchObject({ name: "UnknownEffect" });
    expect(to.server.heard).toHaveLength(1);
  });
});

describe("an answer without measure", () => {
  test("[S15] that never ends is cut off at its limit, and the connection closed", async () => {
    let closed: () => void = () => undefined;
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    await using to = await asking(
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        const more = (): void => {
          if (!response.destroyed && response.write("x".repeat(65_536))) setImmediate(more);
        };
        response.on("drain", more).on("close", closed);
        more();
      },
      { maxBytes: 100_000 },
    );
    expect((await failureOf(to.made, {})).message).toBe("The answer is longer than 100000 bytes.");
    await isClosed;
  });

  test("[S15] that is small and unpacks to a mountain is cut off at its limit", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(bomb.byteLength).toBeLessThan(100_000);
    await using to = await asking(
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
        response.end(bomb);
      },
      { maxBytes: 100_000 },
    );
    const before = process.memoryUsage().arrayBuffers;
    expect((await failureOf(to.made, {})).message).toBe("The answer is longer than 100000 bytes.");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
  });

  test("[S15] that is just as long as the limit is read", async () => {
    await using to = await asking((_, response) => response.end("x".repeat(1_000)), { maxBytes: 1_000 });
    expect(await callTool(to.made, {})).toBe("x".repeat(1_000));
  });

  test.each([
    ["says nothing at all", () => undefined],
    [
      "stops in the middle of its body",
      (_: unknown, response: Parameters<Answer>[1]) => {
        response.writeHead(200, { "content-type": "text/plain" });
        response.write("half");
      },
    ],
  ])("[S15] that %s ends with the tool's signal", async (_what, answer) => {
    const abort = new AbortController();
    await using to = await asking((request, response) => {
      (answer as Answer)(request, response);
      abort.abort(new DOMException("The tool took too long.", "TimeoutError"));
    });
    expect(await failureOf(to.made, {}, { signal: abort.signal })).toMatchObject({ name: "TimeoutError" });
    while (await isConnected(to.server)) await sleep(5);
  });
});

/** Whether something still holds a connection to a server. */
async function isConnected({ connections }: OpenServer): Promise<boolean> {
  return (await connections()) > 0;
}

function reach(given: Partial<Reach>): Reach {
  return { hosts: undefined, privateHost: undefined, allowHttp: false, ...given };
}
