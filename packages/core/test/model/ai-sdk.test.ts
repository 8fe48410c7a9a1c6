import { getEventListeners } from "node:events";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { ToolRunError } from "../../src/errors.ts";
import { type ModelInput, toModel } from "../../src/model/ai-sdk.ts";
import type { CallOptions } from "../../src/model/ai-sdk-request.ts";
import type { Model, ModelMessage, ModelPart, ModelRequest } from "../../src/model/model.ts";
import { ask, readAll } from "./read-all.ts";

type Version = "v2" | "v3" | "v4";

/** A hand-made AI SDK model that streams the given parts and keeps what it was called with. */
function madeModel(version: Version | "v1" | "v5", parts: readonly object[] = [], provider = "made") {
  const calls: CallOptions[] = [];
  const model = {
    specificationVersion: version,
    provider,
    modelId: "m",
    calls,
    doStream: async (options: CallOptions) => {
      calls.push(options);
      return { stream: streamOf(parts) };
    },
  };
  return model;
}

function streamOf(parts: readonly object[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const finish: Record<Version, object> = {
  v2: {
    type: "finish",
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, reasoningTokens: 2, cachedInputTokens: 3 },
  },
  v3: {
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: { total: 10, cacheRead: 3 }, outputTokens: { total: 5, reasoning: 2 } },
  },
  v4: {
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: { total: 10, cacheRead: 3 }, outputTokens: { total: 5, reasoning: 2 } },
  },
};

describe("toModel", () => {
  test("an own object with stream is passed as it is", () => {
    const own: Model = { stream: async function* () {} };
    expect(toModel(own)).toBe(own);
  });

  test("the same AI SDK model gives the same model, with its id", () => {
    const made = madeModel("v3");
    expect(toModel(made)).toBe(toModel(made));
    expect(toModel(made).id).toBe("made/m");
  });

  test.each([
    ["a model's name", "gpt-5.4", /the text "gpt-5\.4"/],
    ["a provider", () => {}, /a function: call it/],
    ["nothing", undefined, /model is not given/],
    ["null", null, /null/],
    ["another spec", madeModel("v1"), /spec "v1"/],
    ["a later spec", madeModel("v5"), /spec "v5"/],
    ["some object", { generate: 1, other: 2 }, /an object with generate, other/],
    ["a spec without doStream", { specificationVersion: "v3" }, /spec "v3"/],
  ])("%s is refused with what it was and what to hand in", (_, model, words) => {
    const refused = (): unknown => toModel(model);
    expect(refused).toThrow(words);
    expect(refused).toThrow(/openai\("gpt-5\.4"\)/);
    expect(refused).toThrow(ToolRunError);
    expect(refused).toThrow(expect.objectContaining({ code: "invalid-config" }));
  });

  test("a model of the AI SDK's own type is a ModelInput", () => {
    expectTypeOf<LanguageModelV3>().toExtend<ModelInput>();
  });
});

describe.each(["v2", "v3", "v4"] as const)("a %s model", (version) => {
  test("streams text, reasoning, sources, calls and an end; the rest is passed over", async () => {
    const model = toModel(
      madeModel(version, [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "r" },
        { type: "ping" },
        { type: "raw", rawValue: 1 },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "Hm." },
        { type: "reasoning-end", id: "0" },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Hel" },
        { type: "text-delta", id: "1", delta: "" },
        { type: "text-delta", id: "1", delta: "lo" },
        { type: "text-end", id: "1" },
        { type: "source", sourceType: "url", id: "s", url: "https://a.example", title: "A" },
        { type: "source", sourceType: "document", id: "d", mediaType: "text/plain", title: "D" },
        { type: "tool-input-start", id: "c", toolName: "find" },
        { type: "tool-input-delta", id: "c", delta: '{"a":' },
        { type: "tool-input-delta", id: "c", delta: "1}" },
        { type: "tool-input-end", id: "c" },
        { type: "tool-call", toolCallId: "c", toolName: "find", input: '{"a":1}' },
        { type: "something-new", id: "x" },
        finish[version],
      ]),
    );
    expect((await readAll(model, ask("hi"))).filter(({ type }) => type !== "opaque")).toEqual([
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Hel" },
      { type: "text", text: "lo" },
      { type: "source", url: "https://a.example", title: "A" },
      { type: "call-start", id: "c", name: "find" },
      { type: "call-input", id: "c", text: '{"a":' },
      { type: "call-input", id: "c", text: "1}" },
      { type: "call", id: "c", name: "find", input: '{"a":1}' },
      {
        type: "end",
        reason: "stop",
        usage: { inputTokens: 10, outputTokens: 5, reasoningTokens: 2, cachedInputTokens: 3 },
      },
    ]);
  });

  test("calls that the provider ran itself are not ours to run, and the block is not kept by halves", async () => {
    const model = toModel(
      madeModel(version, [
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "Search.", providerMetadata: { made: { signature: "s" } } },
        { type: "tool-input-start", id: "w", toolName: "web_search", providerExecuted: true },
        { type: "tool-input-delta", id: "w", delta: "{}" },
        { type: "tool-call", toolCallId: "w", toolName: "web_search", input: "{}", providerExecuted: true },
        { type: "tool-result", toolCallId: "w", toolName: "web_search", result: {}, providerExecuted: true },
        { type: "text-delta", id: "1", delta: "Found." },
        finish[version],
      ]),
    );
    expect((await readAll(model, ask("hi"))).map(({ type }) => type)).toEqual(["reasoning", "text", "end"]);
  });

  test("a stream without finish has no end; one that breaks off says so", async () => {
    expect(
      await readAll(toModel(madeModel(version, [{ type: "text-delta", id: "1", delta: "Hi" }])), ask("hi")),
    ).toEqual([{ type: "text", text: "Hi" }]);
    const cuts: Record<Version, readonly unknown[]> = {
      v2: ["unknown"],
      v3: [{ unified: "other", raw: undefined }],
      v4: [
        { unified: "other", raw: undefined },
        { unified: "interrupted", raw: undefined },
      ],
    };
    for (const finishReason of cuts[version]) {
      const parts = [
        { type: "text-delta", id: "1", delta: "Hi" },
        { type: "finish", finishReason, usage: {} },
      ];
      expect((await readAll(toModel(madeModel(version, parts)), ask("hi"))).map(({ type }) => type)).toEqual(["text"]);
    }
  });

  test("Anthropic's word that an answer begins is no part of it, and another custom part is", async () => {
    const blockOf = async (kind: string): Promise<boolean> => {
      const parts = [
        { type: "custom", kind },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "Hm.", providerMetadata: { anthropic: { signature: "s" } } },
        finish[version],
      ];
      const read = await readAll(toModel(madeModel(version, parts, "anthropic.messages")), ask("hi"));
      return read.some(({ type }) => type === "opaque");
    };
    expect(await blockOf("anthropic.message_start")).toBe(true);
    expect(await blockOf("anthropic.container_upload")).toBe(false);
  });

  test("an event of Anthropic's that its package does not know is passed over; one that does not fit is an error", async () => {
    const misfit = (type: string): Error =>
      Object.assign(new Error("Type validation failed"), { name: "AI_TypeValidationError", value: { type } });
    const read = (origin: string, type: string) => {
      const parts = [
        { type: "error", error: misfit(type) },
        { type: "text-delta", id: "1", delta: "Hi" },
        finish[version],
      ];
      return readAll(toModel(madeModel(version, parts, origin)), ask("hi"));
    };
    expect((await read("anthropic.messages", "future_event")).map(({ type }) => type)).toEqual(["text", "end"]);
    await expect(read("anthropic.messages", "content_block_delta")).rejects.toThrow("Type validation failed");
    await expect(read("openai.chat", "future_event")).rejects.toThrow("Type validation failed");
  });

  test("several error parts are one failure, thrown after what came before", async () => {
    const model = toModel(
      madeModel(version, [
        { type: "text-delta", id: "1", delta: "Hi" },
        { type: "error", error: { type: "overloaded_error", message: "busy" } },
        { type: "error", error: "again" },
        finish[version],
      ]),
    );
    const seen: ModelPart[] = [];
    const reading = (async () => {
      for await (const batch of model.stream(ask("hi"), new AbortController().signal))
        seen.push(...("type" in batch ? [batch] : batch));
    })();
    await expect(reading).rejects.toMatchObject({ name: "ModelError", message: "busy", retryable: true });
    expect(seen).toEqual([{ type: "text", text: "Hi" }]);
  });

  test("a file of a message goes out as this spec takes it", async () => {
    const made = madeModel(version, [finish[version]]);
    const parts = [
      { type: "file", url: "data:image/png;base64,aGk=", mediaType: "image/png", name: "a.png" },
      { type: "file", url: "https://a.example/b.pdf", mediaType: "application/pdf" },
    ] as const;
    await readAll(toModel(made), { messages: [{ role: "user", parts }], tools: [] });
    const url = new URL("https://a.example/b.pdf");
    expect(made.calls[0]?.prompt[0]?.content).toEqual([
      {
        type: "file",
        mediaType: "image/png",
        filename: "a.png",
        data: version === "v4" ? { type: "data", data: "aGk=" } : "aGk=",
      },
      { type: "file", mediaType: "application/pdf", data: version === "v4" ? { type: "url", url } : url },
    ]);
  });

  test("a generated file comes as an address", async () => {
    const bytes = new Uint8Array([104, 105]);
    const made = madeModel(version, [
      { type: "file", mediaType: "text/plain", data: version === "v4" ? { type: "data", data: bytes } : bytes },
      finish[version],
    ]);
    expect((await readAll(toModel(made), ask("hi")))[0]).toEqual({
      type: "file",
      mediaType: "text/plain",
      url: "data:text/plain;base64,aGk=",
    });
  });
});

describe("what is sent", () => {
  const history: ModelMessage[] = [
    { role: "system", text: "Be kind." },
    { role: "user", parts: [{ type: "text", text: "Go" }] },
    {
      role: "assistant",
      parts: [
        { type: "text", text: " " },
        {
          type: "call",
          id: "1",
          name: "__proto__",
          inputText: '{"__proto__":{"a":1},"id":1234567890123456789,"s":"12345678901234567890"}',
        },
        { type: "call", id: "2", name: "constructor", inputText: '{"a":' },
        { type: "call", id: "3", name: "list", inputText: "[1]" },
      ],
    },
    {
      role: "tool",
      results: [
        { id: "1", name: "__proto__", output: { ok: true }, isError: false },
        { id: "2", name: "constructor", output: "no JSON", isError: true },
        { id: "3", name: "list", output: { $ref: "#/x" }, isError: false },
      ],
    },
  ];

  async function sent(request: ModelRequest): Promise<CallOptions | undefined> {
    const made = madeModel("v3", [finish.v3]);
    await readAll(toModel(made), request);
    return made.calls[0];
  }

  test("no tools means no tools and no tool choice", async () => {
    const options = await sent({ messages: history, tools: [] });
    expect(options).not.toHaveProperty("tools");
    expect(options).not.toHaveProperty("toolChoice");
    expect(options?.includeRawChunks).toBe(false);
  });

  test("arguments go out as objects: odd names, big integers and broken text keep their meaning", async () => {
    const options = await sent({ messages: history, tools: [] });
    const inputs = options?.prompt.flatMap((message) =>
      message.role === "assistant"
        ? message.content.map((part) => ("input" in part ? JSON.stringify(part.input) : part.type))
        : [],
    );
    expect(inputs).toEqual([
      '{"__proto__":{"a":1},"id":"1234567890123456789","s":"12345678901234567890"}',
      '{"invalidInput":"{\\"a\\":"}',
      '{"invalidInput":"[1]"}',
    ]);
    expect(Object.prototype).not.toHaveProperty("a");
  });

  test("results go out as JSON, text, or an error, and a reference in one is only text", async () => {
    const options = await sent({ messages: history, tools: [] });
    const last = options?.prompt.at(-1);
    expect(last?.role === "tool" && last.content.map(({ toolCallId, output }) => [toolCallId, output])).toEqual([
      ["1", { type: "json", value: { ok: true } }],
      ["2", { type: "error-text", value: "no JSON" }],
      ["3", { type: "text", value: '{"$ref":"#/x"}' }],
    ]);
  });

  test("a message that was sent before is not translated again", async () => {
    const made = madeModel("v3", [finish.v3]);
    const model = toModel(made);
    await readAll(model, { messages: history, tools: [] });
    await readAll(model, {
      messages: [...history, { role: "user", parts: [{ type: "text", text: "More" }] }],
      tools: [],
    });
    expect(made.calls[1]?.prompt.slice(0, 4).every((message, index) => message === made.calls[0]?.prompt[index])).toBe(
      true,
    );
  });
});

describe("opaque blocks", () => {
  const stream = [
    { type: "reasoning-start", id: "r1" },
    { type: "reasoning-end", id: "r1", providerMetadata: { made: { signature: "empty" } } },
    { type: "text-start", id: "t1", providerMetadata: { made: { itemId: "i1" } } },
    { type: "text-delta", id: "t1", delta: "Looking." },
    { type: "text-end", id: "t1", providerMetadata: { made: { phase: "x" } } },
    { type: "reasoning-delta", id: "r2", delta: "Now.", providerMetadata: { made: { signature: "s2" } } },
    {
      type: "tool-call",
      toolCallId: "a",
      toolName: "find",
      input: "{}",
      providerMetadata: { made: { sig: "first only" } },
    },
    { type: "tool-call", toolCallId: "b", toolName: "find", input: "{}" },
    finish.v3,
  ];
  const parts = [
    { type: "text", text: "Looking." },
    { type: "call", id: "a", name: "find", inputText: "{}" },
    { type: "call", id: "b", name: "find", inputText: "{}" },
  ] as const;

  async function replayed(change: Partial<Extract<ModelMessage, { role: "assistant" }>> = {}, provider = "made") {
    const first = await readAll(toModel(madeModel("v3", stream)), ask("hi"));
    const opaque = first.flatMap((part) => (part.type === "opaque" ? [part.block] : []));
    const made = madeModel("v3", [finish.v3], provider);
    const message: ModelMessage = { role: "assistant", parts, opaque: JSON.parse(JSON.stringify(opaque)), ...change };
    await readAll(toModel(made), { messages: [message], tools: [] });
    return made.calls[0]?.prompt[0]?.content;
  }

  test("come back complete, in order, to the provider they are from", async () => {
    expect(await replayed()).toEqual([
      { type: "reasoning", text: "", providerOptions: { made: { signature: "empty" } } },
      { type: "text", text: "Looking.", providerOptions: { made: { itemId: "i1", phase: "x" } } },
      { type: "reasoning", text: "Now.", providerOptions: { made: { signature: "s2" } } },
      {
        type: "tool-call",
        toolCallId: "a",
        toolName: "find",
        input: {},
        providerOptions: { made: { sig: "first only" } },
      },
      { type: "tool-call", toolCallId: "b", toolName: "find", input: {} },
    ]);
  });

  test.each([
    ["for another provider", {}, "other"],
    ["when a call is missing", { parts: parts.slice(0, 2) }, "made"],
    ["when the text is another", { parts: [{ type: "text", text: "Look" } as const, ...parts.slice(1)] }, "made"],
    ["when the block is not one of ours", { opaque: [{ origin: "made", data: [{ type: "odd" }] }] }, "made"],
  ])("stay out as a whole %s", async (_, change, provider) => {
    expect(JSON.stringify(await replayed(change, provider))).not.toContain("providerOptions");
  });
});

describe("calls of careless servers", () => {
  async function callsOf(...parts: readonly object[]): Promise<ModelPart[]> {
    const all = await readAll(toModel(madeModel("v3", [...parts, finish.v3])), ask("hi"));
    return all.filter(({ type }) => type === "call");
  }

  test("without ids are still several calls", async () => {
    const call = { type: "tool-call", toolCallId: "", toolName: "find" };
    expect(await callsOf({ ...call, input: '{"a":1}' }, { ...call, input: '{"a":2}' })).toMatchObject([
      { id: "call_0", input: '{"a":1}' },
      { id: "call_1", input: '{"a":2}' },
    ]);
  });

  test("with one id for all are still several calls, and the same call twice is one", async () => {
    const call = { type: "tool-call", toolCallId: "x", toolName: "find" };
    expect(await callsOf({ ...call, input: "1" }, { ...call, input: "2" }, { ...call, input: "1" })).toMatchObject([
      { id: "x", input: "1" },
      { id: "x_2", input: "2" },
    ]);
  });
});

describe("reading", () => {
  test("everything that is ready is handed over as one array", async () => {
    const deltas = Array.from({ length: 50 }, (_, index) => ({ type: "text-delta", id: "1", delta: `${index} ` }));
    const sizes: number[] = [];
    for await (const batch of toModel(madeModel("v3", [...deltas, finish.v3])).stream(
      ask("hi"),
      new AbortController().signal,
    )) {
      sizes.push("type" in batch ? 1 : batch.length);
      await breath();
    }
    expect(sizes.reduce((sum, size) => sum + size)).toBe(51);
    expect(sizes.length).toBeLessThan(5);
  });

  test("reading pauses while nobody takes what is there", async () => {
    let pulled = 0;
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue({ type: "text-delta", id: "1", delta: "x" });
        if (++pulled === 5000) controller.close();
      },
    });
    const iterator = toModel({ ...madeModel("v3"), doStream: async () => ({ stream }) })
      .stream(ask("hi"), new AbortController().signal)
      [Symbol.asyncIterator]();
    await iterator.next();
    await breath();
    expect(pulled).toBeLessThan(400);
    await iterator.return?.();
  });

  test("an abort ends it at once, also when the provider does not listen, and no listener stays", async () => {
    for (const doStream of [
      () => new Promise<never>(() => {}),
      async () => ({ stream: new ReadableStream({ pull: () => new Promise<void>(() => {}) }) }),
    ]) {
      const abort = new AbortController();
      const reading = readAll(toModel({ ...madeModel("v3"), doStream }), ask("hi"), abort.signal);
      await breath();
      expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
      const reason = new Error("stop");
      abort.abort(reason);
      await expect(reading).rejects.toBe(reason);
      expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
    }
  });

  test("a stream that is opened after the abort is closed again", async () => {
    const abort = new AbortController();
    const onCancel = vi.fn();
    let open: (value: { stream: ReadableStream<unknown> }) => void = () => {};
    const doStream = () =>
      new Promise<{ stream: ReadableStream<unknown> }>((resolve) => {
        open = resolve;
      });
    const reading = readAll(toModel({ ...madeModel("v3"), doStream }), ask("hi"), abort.signal);
    abort.abort();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    open({ stream: new ReadableStream({ cancel: () => onCancel() }) });
    await breath();
    expect(onCancel).toHaveBeenCalledOnce();
  });

  test("nothing is asked of the provider when it was stopped before", async () => {
    const made = madeModel("v3", [finish.v3]);
    await expect(readAll(toModel(made), ask("hi"), AbortSignal.abort("early"))).rejects.toBe("early");
    expect(made.calls).toEqual([]);
  });

  test.each(["whole", "left early"])("no listener stays when the answer is %s", async (how) => {
    const abort = new AbortController();
    const model = toModel(madeModel("v3", [{ type: "text-delta", id: "1", delta: "Hi" }, finish.v3]));
    for await (const _ of model.stream(ask("hi"), abort.signal)) if (how === "left early") break;
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  });

  test("a connection that breaks after the end takes nothing back", async () => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "text-delta", id: "1", delta: "Hi" });
        controller.enqueue(finish.v3);
      },
      pull: () => Promise.reject(new TypeError("terminated")),
    });
    const model = toModel({ ...madeModel("v3"), doStream: async () => ({ stream }) });
    expect((await readAll(model, ask("hi"))).map(({ type }) => type)).toEqual(["text", "end"]);
  });

  test("what comes after the end is dropped", async () => {
    const late = { type: "text-delta", id: "1", delta: "late" };
    const stream = streamOf([finish.v3, late, { type: "error", error: "late" }]);
    const model = toModel({ ...madeModel("v3"), doStream: async () => ({ stream }) });
    const types: string[] = [];
    for await (const batch of model.stream(ask("hi"), new AbortController().signal)) {
      types.push(...("type" in batch ? [batch] : batch).map(({ type }) => type));
      await breath();
    }
    expect(types).toEqual(["end"]);
  });

  test("a doStream without a stream is a mistake that no attempt mends", async () => {
    const model = toModel({ ...madeModel("v3"), doStream: async () => ({}) });
    await expect(readAll(model, ask("hi"))).rejects.toMatchObject({ name: "ModelError", retryable: false });
  });
});
