import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ModelInput, toModel } from "../../src/model/ai-sdk.ts";
import type { ModelMessage, ModelPart, ToolSpec } from "../../src/model/model.ts";
import { ask, readAll, textOf } from "./read-all.ts";

const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });

const tools: ToolSpec[] = ["findOrder", "listOrders"].map((name) => ({
  name,
  description: `${name} of the shop`,
  inputSchema: { type: "object", properties: { orderId: { type: "string" } } },
}));

const dialects = {
  "OpenAI chat": (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" }).chat("gpt-4o"),
  "OpenAI Responses": (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" }).responses("gpt-5.4"),
  Anthropic: (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("claude-sonnet-4-5"),
  "OpenAI-compatible": (url: string) => createOpenAICompatible({ name: "ollama", baseURL: `${url}/v1` })("llama"),
} satisfies Record<string, (url: string) => ModelInput>;

beforeAll(async () => {
  mock.on(
    { userMessage: "two", hasToolResult: false },
    {
      content: "Let me look.",
      toolCalls: [
        { id: "call_a", name: "findOrder", arguments: '{"orderId":"1042"}' },
        { id: "call_b", name: "listOrders", arguments: '{"status":"paid","note":"a \\"b\\""}' },
      ],
    },
    { chunkSize: 3 },
  );
  mock.on({ hasToolResult: true }, { content: "Done." });
  mock.on(
    { userMessage: "cut" },
    { content: "One two three four five six." },
    { chunkSize: 4, truncateAfterChunks: 4, latency: 5 },
  );
  mock.on(
    { userMessage: "drop" },
    { content: "One two three four five six." },
    { chunkSize: 4, latency: 25, disconnectAfterMs: 90 },
  );
  mock.on({ userMessage: "think" }, { content: "Four.", reasoning: "Two and two.", reasoningSignature: "c2lnbmVk" });
  mock.on(
    { userMessage: "busy" },
    { error: { message: "slow down", type: "rate_limit_error" }, status: 429, retryAfter: 7 },
  );
  await mock.start();
});
afterAll(() => mock.stop());
beforeEach(() => mock.clearRequests());

describe.each(Object.entries(dialects))("%s over HTTP", (dialect, create) => {
  test("text and two parallel calls, arguments split over chunks, come whole", async () => {
    const model = toModel(create(mock.url));
    const parts = await readAll(model, ask("two", tools));
    expect(textOf(parts)).toBe("Let me look.");
    expect(parts.filter((part) => part.type === "call")).toMatchObject([
      { id: "call_a", name: "findOrder", input: '{"orderId":"1042"}' },
      { id: "call_b", name: "listOrders", input: '{"status":"paid","note":"a \\"b\\""}' },
    ]);
    expect(parts.filter((part) => part.type === "call-start").map(({ name }) => name)).toEqual([
      "findOrder",
      "listOrders",
    ]);
    expect(inputOf(parts, "call_b")).toBe('{"status":"paid","note":"a \\"b\\""}');
    expect(parts.filter((part) => part.type === "call-input" && part.id === "call_b").length).toBeGreaterThan(5);
    expect(parts.at(-1)).toMatchObject({ type: "end", reason: "tools" });
    expect(sentTools(mock.getLastRequest()?.body)).toEqual(["findOrder", "listOrders"]);
  });

  test("the second request has both results in order, with their ids and the refusal in words", async () => {
    const model = toModel(create(mock.url));
    const first = await readAll(model, ask("two", tools));
    const end = await readAll(model, { messages: secondTurn(first), tools: [] });
    expect(textOf(end)).toBe("Done.");
    expect(end.at(-1)).toMatchObject({ type: "end", reason: "stop" });
    const { body } = mock.getLastRequest() ?? {};
    expect(toolMessages(body)).toEqual([
      { id: "call_a", text: '{"total":49.9}' },
      { id: "call_b", text: "The tool was NOT run: denied by the person: wrong order" },
    ]);
    expect(calledIn(body)).toEqual([
      { id: "call_a", name: "findOrder", arguments: '{"orderId":"1042"}' },
      { id: "call_b", name: "listOrders", arguments: '{"status":"paid","note":"a \\"b\\""}' },
    ]);
    expect(body).not.toHaveProperty("tools.0");
    expect(body?.tool_choice).toBeUndefined();
    expect(dialect).toBeTruthy();
  });

  test("429 is worth another attempt, after as many seconds as asked", async () => {
    await expect(readAll(toModel(create(mock.url)), ask("busy"))).rejects.toMatchObject({
      name: "ModelError",
      retryable: true,
      status: 429,
      retryAfterMs: 7000,
    });
  });

  test.each([
    [400, "invalid_request_error", false],
    [401, "authentication_error", false],
    [500, "server_error", true],
    [503, "overloaded_error", true],
  ])("%s is classified", async (status, type, retryable) => {
    mock.nextRequestError(status, { message: "no", type });
    await expect(readAll(toModel(create(mock.url)), ask("two"))).rejects.toMatchObject({
      name: "ModelError",
      retryable,
      status,
    });
  });

  test.each(["cut", "drop"])(
    "a connection that breaks mid-answer (%s) is a failed attempt, never an end",
    async (text) => {
      const parts: ModelPart[] = [];
      const reading = (async () => {
        for await (const batch of toModel(create(mock.url)).stream(ask(text), new AbortController().signal)) {
          parts.push(...("type" in batch ? [batch] : batch));
        }
      })();
      await expect(reading).rejects.toMatchObject({ name: "ModelError", retryable: true });
      expect(parts.some((part) => part.type === "end")).toBe(false);
    },
  );

  test("a server nobody listens on is worth another attempt", async () => {
    const model = toModel(create("http://127.0.0.1:9"));
    await expect(readAll(model, ask("two"))).rejects.toMatchObject({
      name: "ModelError",
      retryable: true,
      status: undefined,
    });
  });
});

test("Anthropic's signed reasoning goes back to Anthropic as it came, and to nobody else", async () => {
  const anthropic = toModel(dialects.Anthropic(mock.url));
  const first = await readAll(anthropic, ask("think"));
  const block = first.find((part) => part.type === "opaque")?.block;
  expect(block).toMatchObject({ origin: "anthropic.messages" });
  const messages: ModelMessage[] = [
    ...ask("think").messages,
    { role: "assistant", parts: [{ type: "text", text: textOf(first) }], opaque: block ? [block] : [] },
    ...ask("think again").messages,
  ];
  const reasoning = { type: "thinking", thinking: "Two and two.", signature: "c2lnbmVk" };

  let raw = await rawBodyOf(
    () => createAnthropic({ baseURL: "http://x/v1", apiKey: "k", fetch: capture }).chat("claude-sonnet-4-5"),
    messages,
  );
  expect(raw.messages[1]?.content).toEqual([reasoning, { type: "text", text: "Four." }]);
  raw = await rawBodyOf(
    () => createOpenAI({ baseURL: "http://x/v1", apiKey: "k", fetch: capture }).chat("gpt-4o"),
    messages,
  );
  expect(JSON.stringify(raw)).not.toContain("Two and two.");
});

let captured: { messages: { content: unknown }[] } = { messages: [] };
const capture: typeof fetch = async (_, init) => {
  captured = JSON.parse(String(init?.body));
  return new Response("{}", { status: 400 });
};

async function rawBodyOf(create: () => ModelInput, messages: readonly ModelMessage[]): Promise<typeof captured> {
  await readAll(toModel(create()), { messages, tools: [] }).catch(() => {});
  return captured;
}

/** What the loop would send after the first answer: one call ran, one was denied. */
function secondTurn(first: readonly ModelPart[]): ModelMessage[] {
  const calls = first.filter((part) => part.type === "call");
  const blocks = first.filter((part) => part.type === "opaque").map(({ block }) => block);
  return [
    ...ask("two").messages,
    {
      role: "assistant",
      parts: [
        { type: "text", text: textOf(first) },
        ...calls.map(({ id, name, input }) => ({ type: "call", id, name, inputText: input }) as const),
      ],
      opaque: blocks,
    },
    {
      role: "tool",
      results: [
        { id: "call_a", name: "findOrder", output: { total: 49.9 }, isError: false },
        {
          id: "call_b",
          name: "listOrders",
          output: "The tool was NOT run: denied by the person: wrong order",
          isError: true,
        },
      ],
    },
  ];
}

function inputOf(parts: readonly ModelPart[], id: string): string {
  return parts.map((part) => (part.type === "call-input" && part.id === id ? part.text : "")).join("");
}

// The mock's journal keeps every dialect's request in the chat form.
interface JournalBody {
  messages?: {
    role: string;
    content?: unknown;
    tool_call_id?: string;
    tool_calls?: { id: string; function: object }[];
  }[];
  tools?: { function?: { name: string } }[];
}

function toolMessages(body: JournalBody | null | undefined): object[] {
  const messages = body?.messages?.filter((message) => message.role === "tool") ?? [];
  return messages.map(({ tool_call_id: id, content }) => ({ id, text: content }));
}

function calledIn(body: JournalBody | null | undefined): object[] {
  const calls = body?.messages?.flatMap((message) => message.tool_calls ?? []) ?? [];
  return calls.map((call) => ({ id: call.id, ...call.function }));
}

function sentTools(body: JournalBody | null | undefined): unknown[] {
  return body?.tools?.map((tool) => tool.function?.name) ?? [];
}
