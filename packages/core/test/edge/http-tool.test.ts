import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { httpToolVia } from "../../src/adapters/http-tool.ts";
import { viaFetch } from "../../src/adapters/http-transport.ts";
import type { Tool } from "../../src/agent/agent.ts";
import { httpTool } from "../../src/http.ts";
import { createToolRun, defineAgent, memoryStore } from "../../src/server.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { json, openServer, redirect as redirectTo } from "../adapters/http/open-server.ts";

/** What the test runner leaves lying about in the sandbox. */
const NODE_GLOBALS = ["Buffer", "process", "global", "setImmediate", "clearImmediate", "require"];
const user = { id: "mia" };

beforeEach(() => {
  for (const name of NODE_GLOBALS) vi.stubGlobal(name, undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** A fetch that gives these answers, and what it was asked. */
function playing(answers: readonly Response[]) {
  const asked: { readonly url: string; readonly init: RequestInit | undefined }[] = [];
  const ask: typeof fetch = async (url, init) => {
    asked.push({ url: String(url), init });
    return answers[asked.length - 1] ?? Response.error();
  };
  return { asked, transport: () => viaFetch(ask) };
}

const options = {
  description: "Finds an order.",
  method: "GET",
  readOnly: true,
  url: "https://api.example.com/orders/{id}",
  inputSchema: z.object({ id: z.string() }),
  headers: { authorization: "Bearer secret" },
} as const;

async function run(find: Tool) {
  const model = scriptedModel([call("find", { id: "7" }), say("Done.")]);
  const agent = defineAgent({ model, tools: { find } });
  const toolrun = createToolRun({ agent, store: memoryStore(), identify: () => user, onError: () => undefined });
  const thread = await (await toolrun.send({ user, message: "Find 7" })).settled();
  return thread.steps[0];
}

const redirect = (location: string): Response => new Response(null, { status: 302, headers: { location } });

describe("where no name can be looked up", () => {
  test("[S15] a tool asks through fetch, which follows no redirect by itself", async () => {
    const { asked, transport } = playing([Response.json({ total: 49.9 })]);
    expect(await run(httpToolVia(transport, options))).toMatchObject({ status: "succeeded", output: { total: 49.9 } });
    expect(asked).toMatchObject([{ url: "https://api.example.com/orders/7", init: { redirect: "manual" } }]);
  });

  test.each([
    "https://127.0.0.1/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://[::1]/",
    "https://[::ffff:7f00:1]/",
    "https://169.254.169.254/latest/meta-data/",
    "https://metadata.google.internal/",
    "https://localhost./",
    "http://other.example.com/",
  ])("[S15] a redirect to %s is not followed", async (location) => {
    const { asked, transport } = playing([redirect(location), Response.json("in")]);
    expect(await run(httpToolVia(transport, options))).toMatchObject({
      status: "failed",
      error: { code: "tool-error" },
    });
    expect(asked).toHaveLength(1);
  });

  test("[S15] a redirect to another public site is followed, without the app's headers", async () => {
    const { asked, transport } = playing([redirect("https://other.example.com/7"), Response.json("in")]);
    expect(await run(httpToolVia(transport, options))).toMatchObject({ status: "succeeded", output: "in" });
    expect(new Headers(asked[0]?.init?.headers).get("authorization")).toBe("Bearer secret");
    expect(new Headers(asked[1]?.init?.headers).has("authorization")).toBe(false);
  });

  test("[S15] an answer without end is cut off", async () => {
    let given = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        given += 1_000;
        controller.enqueue(new Uint8Array(1_000));
      },
    });
    const { transport } = playing([new Response(endless, { headers: { "content-type": "text/plain" } })]);
    expect(await run(httpToolVia(transport, { ...options, maxBytes: 10_000 }))).toMatchObject({ status: "failed" });
    expect(given).toBeLessThan(20_000);
  });

  test("[S15] the runtime's own fetch shows redirects, and is what httpTool uses", async () => {
    await using server = await openServer(({ url }, response) =>
      url === "/start" ? redirectTo(response, "/end") : json(response, url),
    );
    const url = `http://127.0.0.1:${server.port}/start`;
    const tool = httpTool({ ...options, url, privateNetwork: true, inputSchema: z.object({}) });
    expect(await run(tool)).toMatchObject({ status: "succeeded", output: "/end" });
    expect(server.heard.map((each) => each.url)).toEqual(["/start", "/end"]);
  });
});
