import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toModel } from "../../src/model/ai-sdk.ts";
import type { Model, ModelMessage, ModelPart } from "../../src/model/model.ts";
import { chunk, events, type ProviderServer, startProviderServer } from "./provider-server.ts";
import { ask, readAll, textOf } from "./read-all.ts";

let server: ProviderServer;
let models: Record<"chat" | "compatible", Model>;

beforeAll(async () => {
  server = await startProviderServer();
  models = {
    chat: toModel(createOpenAI({ baseURL: server.url, apiKey: "k" }).chat("gpt-4o")),
    compatible: toModel(createOpenAICompatible({ name: "local", baseURL: server.url })("llama")),
  };
});
afterAll(() => server.close());

describe.each(["chat", "compatible"] as const)("%s", (dialect) => {
  test("an answer that ends cleanly but without a finish reason has no end", async () => {
    server.answer(events(chunk({ role: "assistant", content: "One" }), chunk({ content: " two" })));
    const parts: ModelPart[] = [];
    const reading = (async () => {
      for await (const batch of models[dialect].stream(ask("hi"), new AbortController().signal)) {
        parts.push(...("type" in batch ? [batch] : batch));
      }
    })();
    // One of the two packages sees it itself; with the other it is ours to see.
    await reading.catch((error) => expect(error).toMatchObject({ name: "ModelError", retryable: true }));
    expect(parts).toEqual([
      { type: "text", text: "One" },
      { type: "text", text: " two" },
    ]);
  });

  test("the same answer with its finish reason is whole", async () => {
    server.answer(events(chunk({ content: "One" }), chunk({}, "stop"), "[DONE]"));
    const parts = await readAll(models[dialect], ask("hi"));
    expect(parts.map(({ type }) => type)).toEqual(["text", "end"]);
  });

  test("a call cut off inside its arguments never has an end", async () => {
    const call = { index: 0, id: "c1", type: "function", function: { name: "refund", arguments: '{"amount":' } };
    server.answer(events(chunk({ tool_calls: [call] })));
    const parts = await readAll(models[dialect], ask("hi")).catch(() => []);
    expect(parts.some((part) => part.type === "end")).toBe(false);
  });

  test("a broken data line in the middle is a failed attempt", async () => {
    server.answer(events(chunk({ content: "One" }), '{"choices": [', chunk({}, "stop")));
    await expect(readAll(models[dialect], ask("hi"))).rejects.toMatchObject({ name: "ModelError", retryable: true });
  });

  test("an error object inside the stream is a failed attempt, whatever finish follows", async () => {
    const error = { error: { message: "overloaded", type: "server_error", code: null, param: null } };
    server.answer(events(chunk({ content: "One" }), error, chunk({}, "stop")));
    await expect(readAll(models[dialect], ask("hi"))).rejects.toMatchObject({ name: "ModelError", retryable: true });
  });

  test("deltas with an empty list of calls are text", async () => {
    server.answer(events(chunk({ content: "Hi", tool_calls: [] }), chunk({ content: " you", tool_calls: [] }, "stop")));
    const parts = await readAll(models[dialect], ask("hi"));
    expect(parts.map(({ type }) => type)).toEqual(["text", "text", "end"]);
  });

  test("finish stop with calls keeps the calls: the reason is a hint", async () => {
    const call = { index: 0, id: "c1", type: "function", function: { name: "find", arguments: "{}" } };
    server.answer(events(chunk({ tool_calls: [call] }), chunk({}, "stop")));
    const parts = await readAll(models[dialect], ask("hi"));
    expect(parts.filter(({ type }) => type === "call")).toMatchObject([{ id: "c1", name: "find", input: "{}" }]);
  });

  test("malformed arguments stay the text the model wrote", async () => {
    const call = { index: 0, id: "c1", type: "function", function: { name: "find", arguments: '{"a":' } };
    server.answer(events(chunk({ tool_calls: [call] }), chunk({}, "tool_calls")));
    const parts = await readAll(models[dialect], ask("hi"));
    expect(parts.filter(({ type }) => type === "call")).toMatchObject([{ id: "c1", input: '{"a":' }]);
  });

  test("an end without arguments for a call is no end of the call's JSON", async () => {
    const call = { index: 0, id: "c1", type: "function", function: { name: "find", arguments: "" } };
    server.answer(events(chunk({ tool_calls: [call] }), chunk({}, "length")));
    const parts = await readAll(models[dialect], ask("hi"));
    expect(parts.at(-1)).toMatchObject({ type: "end", reason: "length" });
    expect(parts.filter(({ type }) => type === "call")).not.toMatchObject([{ input: "{}" }]);
  });

  test("usage with cached and reasoning tokens arrives, also in a chunk after the finish reason", async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 64 },
      completion_tokens_details: { reasoning_tokens: 20 },
    };
    server.answer(events(chunk({ content: "Hi" }, "stop"), { ...chunk({}), choices: [], usage }, "[DONE]"));
    expect((await readAll(models[dialect], ask("hi"))).at(-1)).toEqual({
      type: "end",
      reason: "stop",
      usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 64, reasoningTokens: 20 },
    });
  });
});

test("reasoning of a compatible server goes back on the turn it came with", async () => {
  const call = { index: 0, id: "c1", type: "function", function: { name: "find", arguments: '{"a":1}' } };
  server.answer(
    events(
      chunk({ reasoning_content: "Let me " }),
      chunk({ reasoning_content: "see." }),
      chunk({ tool_calls: [call] }),
      chunk({}, "tool_calls"),
    ),
  );
  const first = await readAll(models.compatible, ask("hi"));
  const opaque = first.flatMap((part) => (part.type === "opaque" ? [part.block] : []));
  server.answer(events(chunk({ content: "Done" }, "stop")));
  const messages: ModelMessage[] = [
    ...ask("hi").messages,
    { role: "assistant", parts: [{ type: "call", id: "c1", name: "find", inputText: '{"a":1}' }], opaque },
    { role: "tool", results: [{ id: "c1", name: "find", output: "found", isError: false }] },
  ];
  expect(textOf(await readAll(models.compatible, { messages, tools: [] }))).toBe("Done");
  expect(server.bodies.at(-1)).toMatchObject({
    messages: [
      { role: "user" },
      {
        role: "assistant",
        reasoning_content: "Let me see.",
        tool_calls: [{ id: "c1", function: { arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "found" },
    ],
  });
});

test("a stop closes the connection to the provider at once", async () => {
  let closed: (() => void) | undefined;
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  server.answer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(chunk({ content: "One" }))}\n\n`);
    response.on("close", () => closed?.());
  });
  const abort = new AbortController();
  const reason = new Error("stopped by the person");
  const reading = (async () => {
    for await (const _ of models.chat.stream(ask("hi"), abort.signal)) abort.abort(reason);
  })();
  await expect(reading).rejects.toBe(reason);
  await gone;
});
