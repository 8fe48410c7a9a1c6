import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { mcpTools } from "../../src/mcp.ts";
import { createToolRun, defineAgent, memoryStore } from "../../src/server.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";

/** What the test runner leaves lying about in the sandbox. */
const NODE_GLOBALS = ["Buffer", "process", "global", "setImmediate", "clearImmediate", "require"];
const user = { id: "clerk" };

beforeEach(() => {
  for (const name of NODE_GLOBALS) vi.stubGlobal(name, undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const schema = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };

/** A server as the wire shows it, its question on the stream of the call's own answer. */
function fakeServer() {
  const called: unknown[] = [];
  const authorised: (string | null)[] = [];
  let answer: ((result: unknown) => void) | undefined;
  const json = (id: unknown, result: unknown): Response => Response.json({ jsonrpc: "2.0", id, result });
  const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
    if (init?.method !== "POST") return new Response(null, { status: 405 });
    authorised.push(new Headers(init.headers).get("authorization"));
    const { id, method, params, result } = JSON.parse(String(init.body));
    if (method === "initialize") {
      const serverInfo = { name: "edge", version: "1" };
      return json(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === "tools/list") {
      return json(id, {
        tools: [{ name: "send", inputSchema: { ...schema, $schema: "http://json-schema.org/draft-07/schema#" } }],
      });
    }
    if (method === "tools/call") {
      called.push(params.arguments);
      const asks = {
        jsonrpc: "2.0",
        id: 900,
        method: "elicitation/create",
        params: { message: "Sure?", requestedSchema: schema },
      };
      const given = new Promise((resolve) => {
        answer = resolve;
      });
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          const send = (message: unknown): void =>
            controller.enqueue(new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`));
          send(asks);
          const { action, content } = (await given) as { action: string; content?: unknown };
          const text = `${action} ${JSON.stringify(content ?? null)}`;
          send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }
    if (id === 900) answer?.(result);
    return new Response(null, { status: 202 });
  };
  return { called, authorised, fetch };
}

test("a server over Streamable HTTP works where only web standards are: listed, approved, asked, run", async () => {
  const server = fakeServer();
  const connect = async (): Promise<Client> => {
    const client = new Client({ name: "edge", version: "1" }, { capabilities: { elicitation: { form: {} } } });
    const requestInit = { headers: { authorization: "Bearer of-this-user" } };
    const url = new URL("https://tools.test/mcp");
    await client.connect(
      new StreamableHTTPClientTransport(url, { fetch: server.fetch as never, requestInit }) as never,
    );
    return client;
  };
  const model = scriptedModel([call("send", { to: "Ada" }), say("Done.")]);
  const agent = defineAgent({ model, dynamicTools: () => mcpTools(connect) });
  const toolrun = createToolRun({ agent, store: memoryStore(), identify: () => user });
  const approval = await (await toolrun.send({ user, message: "Go" })).settled();
  expect(approval.pending).toMatchObject([{ tool: "send", ask: { kind: "approval" } }]);
  const question = await (await toolrun.approve(approval.pending, { user })).settled();
  expect(question.pending).toMatchObject([{ ask: { kind: "question", prompt: "Sure?" } }]);
  const [step] = question.pending;
  if (!step) throw new Error("Nothing waits.");
  const ended = await (await toolrun.answer(step, { user, value: { to: "Bea" } })).settled();
  expect(ended.steps).toMatchObject([{ status: "succeeded", output: 'accept {"to":"Bea"}' }]);
  expect(server.called).toEqual([{ to: "Ada" }, { to: "Ada" }]);
  expect(new Set(server.authorised)).toEqual(new Set(["Bearer of-this-user"]));
});
