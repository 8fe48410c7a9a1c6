import { describe, expect, test } from "vitest";
import { toModel } from "../../src/model/ai-sdk.ts";
import type { CallOptions } from "../../src/model/ai-sdk-request.ts";
import type { ModelRequest, ToolChoice } from "../../src/model/model.ts";
import { ModelError } from "../../src/model/model.ts";
import { readAll } from "./read-all.ts";

type Version = "v2" | "v3" | "v4";

/** A model of a spec version that gives these parts, and what it was called with. */
function modelOf(version: Version, parts: readonly object[]) {
  const calls: CallOptions[] = [];
  const model = toModel({
    specificationVersion: version,
    provider: "made",
    modelId: "m",
    doStream: async (options: CallOptions) => {
      calls.push(options);
      return { stream: new Blob([]).stream().pipeThrough(playing(parts)) };
    },
  });
  return { model, calls };
}

function playing(parts: readonly object[]): TransformStream<unknown, unknown> {
  return new TransformStream({
    flush(controller) {
      for (const part of parts) controller.enqueue(part);
    },
  });
}

const stop = (version: Version) => (version === "v2" ? "stop" : { unified: "stop", raw: "stop" });
const finish = (version: Version, usage: object) => ({ type: "finish", finishReason: stop(version), usage });

const tools = [{ name: "find", description: "Finds.", inputSchema: { type: "object" } }];
const request: ModelRequest = { messages: [{ role: "user", parts: [{ type: "text", text: "Hi" }] }], tools };

describe.each<[Version]>([["v2"], ["v3"], ["v4"]])("an AI SDK model of spec %s", (version) => {
  test.each<[string, ToolChoice | undefined, object]>([
    ["none given", undefined, { type: "auto" }],
    ["auto", "auto", { type: "auto" }],
    ["none", "none", { type: "none" }],
    ["required", "required", { type: "required" }],
    ["one tool", { tool: "find" }, { type: "tool", toolName: "find" }],
  ])("gets the tool choice: %s", async (_what, toolChoice, expected) => {
    const { model, calls } = modelOf(version, [finish(version, {})]);
    await readAll(model, { ...request, toolChoice });
    expect(calls[0]?.toolChoice).toEqual(expected);
  });

  test("gets no tool choice where it gets no tools", async () => {
    const { model, calls } = modelOf(version, [finish(version, {})]);
    await readAll(model, { ...request, tools: [], toolChoice: "required" });
    expect(calls[0]).not.toHaveProperty("toolChoice");
  });

  const reported =
    version === "v2"
      ? { inputTokens: 100, outputTokens: 30, totalTokens: 130, reasoningTokens: 20, cachedInputTokens: 60 }
      : {
          inputTokens: { total: 100, noCache: 40, cacheRead: 60, cacheWrite: 0 },
          outputTokens: { total: 30, text: 10, reasoning: 20 },
        };
  const usage = { inputTokens: 100, outputTokens: 30, reasoningTokens: 20, cachedInputTokens: 60 };

  test("its counts are read whole: cached tokens are a part of those read, reasoning of those written", async () => {
    const { model } = modelOf(version, [finish(version, reported)]);
    expect((await readAll(model, request)).at(-1)).toMatchObject({ type: "end", usage });
  });

  test("a count that it did not report is absent, and never 0", async () => {
    const some =
      version === "v2"
        ? { inputTokens: 7, outputTokens: undefined, totalTokens: undefined }
        : { inputTokens: { total: 7, cacheRead: undefined }, outputTokens: { total: undefined, reasoning: undefined } };
    const { model } = modelOf(version, [finish(version, some)]);
    expect((await readAll(model, request)).at(-1)).toEqual({ type: "end", reason: "stop", usage: { inputTokens: 7 } });
  });

  test.each([
    ["ended with an error", version === "v2" ? "error" : { unified: "error", raw: "x" }],
    ["broke off", version === "v2" ? "unknown" : { unified: "other", raw: undefined }],
  ])("the tokens of an answer that %s are not lost", async (_what, finishReason) => {
    const { model } = modelOf(version, [{ type: "finish", finishReason, usage: reported }]);
    const error = await readAll(model, request).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ retryable: true, usage });
  });
});
