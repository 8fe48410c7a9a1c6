import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import type { ModelMessage } from "../../src/model/model.ts";
import { promptOf } from "../../src/model/prompt.ts";
import { call, calls, cut, delay, fail, type Script, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { readConversation } from "../../src/testing/scripted-result.ts";
import { ask, readAll, textOf } from "./read-all.ts";
import { type CallPlan, ThreadBuilder } from "./thread-builder.ts";

describe("a list of answers", () => {
  test("is played in order, in pieces, with an end", async () => {
    const model = scriptedModel([say("Hello there, you."), call("refundOrder", { orderId: "1042", amount: 49.9 })]);
    const first = await readAll(model, ask("hi"));
    expect(textOf(first)).toBe("Hello there, you.");
    expect(first.map(({ type }) => type)).toEqual(["text", "text", "text", "end"]);
    const second = await readAll(model, ask("go"));
    expect(second[0]).toEqual({ type: "call-start", id: "call_1", name: "refundOrder" });
    expect(second.map((part) => (part.type === "call-input" ? part.text : "")).join("")).toBe(
      '{"orderId":"1042","amount":49.9}',
    );
    expect(second.slice(-2)).toEqual([
      { type: "call", id: "call_1", name: "refundOrder", input: '{"orderId":"1042","amount":49.9}' },
      { type: "end", reason: "tools" },
    ]);
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 1]);
  });

  test("gives several calls of one answer ids of their own", async () => {
    const parts = await readAll(scriptedModel([calls(call("a", {}), call("a", {}))]), ask("hi"));
    expect(parts.flatMap((part) => (part.type === "call" ? [part.id] : []))).toEqual(["call_1", "call_2"]);
  });

  test("that is too short says so", async () => {
    const model = scriptedModel([say("one")]);
    await readAll(model, ask("hi"));
    await expect(readAll(model, ask("hi"))).rejects.toMatchObject({
      name: "ModelError",
      retryable: false,
      message: "The script has 1 answers and was asked for answer 2.",
    });
  });

  test("can fail, break off, write broken arguments and end as it likes", async () => {
    const end = { type: "end", reason: "length", usage: { inputTokens: 100, outputTokens: 50 } } as const;
    const broken = { type: "call", id: "x", name: "a", input: '{"a":' } as const;
    const model = scriptedModel([
      [say("Oh"), fail("busy")],
      [say("Oh"), cut()],
      [broken, end],
    ]);
    await expect(readAll(model, ask("hi"))).rejects.toMatchObject({
      name: "ModelError",
      retryable: true,
      message: "busy",
    });
    expect((await readAll(model, ask("hi"))).map(({ type }) => type)).toEqual(["text"]);
    expect((await readAll(model, ask("hi"))).slice(-2)).toEqual([broken, end]);
    const error = new Error("mine");
    await expect(readAll(scriptedModel([fail(error)]), ask("hi"))).rejects.toBe(error);
  });
});

describe("an answer made of what the model was told", () => {
  async function answer(script: Script, built: ThreadBuilder): Promise<string> {
    const messages = promptOf(built.thread, built.root, undefined);
    return textOf(await readAll(scriptedModel(script), { messages, tools: [] }));
  }
  const after = (...plans: CallPlan[]) =>
    new ThreadBuilder()
      .message("Refund 1042")
      .run()
      .turn()
      .end(...plans)
      .turn();
  const tell: Script = [([result]) => say(JSON.stringify(result))];
  const input = { amount: 49.9 };

  test.each<[string, CallPlan["outcome"], object]>([
    ["success", { type: "succeeded", output: { refunded: 49.9 } }, { status: "succeeded", output: { refunded: 49.9 } }],
    [
      "an edit",
      { type: "succeeded", output: { refunded: 20 }, edited: { amount: 20 } },
      { status: "succeeded", output: { refunded: 20 }, changedInput: { amount: 20 }, changedBy: "person" },
    ],
    [
      "a policy's change",
      { type: "succeeded", output: 1, modified: { amount: 20 } },
      { status: "succeeded", output: 1, changedInput: { amount: 20 }, changedBy: "policy" },
    ],
    ["a failure", { type: "failed", error: { code: "tool-error", message: "no" } }, { status: "failed", error: "no" }],
    [
      "an edit that failed",
      { type: "failed", error: { code: "tool-error", message: "no" }, edited: { amount: 20 } },
      { status: "failed", error: "no", changedInput: { amount: 20 }, changedBy: "person" },
    ],
    [
      "a denial",
      { type: "not-run", reason: "denied", words: "wrong: order" },
      { status: "not-run", reason: "denied", words: "wrong: order" },
    ],
    ["a denial without words", { type: "not-run", reason: "denied" }, { status: "not-run", reason: "denied" }],
    ["an expiry", { type: "not-run", reason: "expired" }, { status: "not-run", reason: "expired" }],
    ["a stop", { type: "not-run", reason: "stopped" }, { status: "not-run", reason: "stopped" }],
    ["a skip", { type: "not-run", reason: "skipped" }, { status: "not-run", reason: "skipped" }],
    [
      "a policy's refusal",
      { type: "not-run", reason: "blocked", words: "no" },
      { status: "not-run", reason: "blocked", words: "no" },
    ],
    [
      "an interruption",
      { type: "not-run", reason: "skipped", effect: "unknown" },
      { status: "not-run", reason: "interrupted" },
    ],
  ])("knows %s", async (_, outcome, expected) => {
    expect(
      JSON.parse(await answer(tell, after({ tool: "refundOrder", input, inputText: JSON.stringify(input), outcome }))),
    ).toEqual({
      tool: "refundOrder",
      input,
      ...expected,
    });
  });

  test("sees the results of this run only, in call order", async () => {
    const built = after(
      { tool: "a", outcome: { type: "succeeded", output: 1 } },
      { tool: "b", outcome: { type: "failed" } },
    );
    const count: Script = [(results) => say(results.map(({ tool }) => tool).join())];
    expect(await answer(count, built)).toBe("a,b");
    built
      .message("Faster")
      .message("Please")
      .end({ tool: "c", outcome: { type: "failed" } })
      .turn();
    expect(await answer(count, built)).toBe("a,b,c");
    built.text("Done").end().finish().message("Next").message("Now").run().turn();
    expect(await answer(count, built)).toBe("");
    built
      .end({ tool: "d", outcome: { type: "failed" } })
      .finish("stopped")
      .message("Again")
      .run()
      .turn();
    expect(await answer(count, built)).toBe("");
  });

  test("does not take the app's notes for the person's words", async () => {
    const built = after({ tool: "a", outcome: { type: "not-run", reason: "denied" } });
    expect(await answer(({ lastUserText }) => say(lastUserText), built)).toBe("Refund 1042");
  });

  test("has the request too", async () => {
    const tools = [{ name: "find", description: "", inputSchema: {} }];
    const model = scriptedModel(({ tools, messages }) => say(`${tools[0]?.name} ${messages.length}`));
    expect(textOf(await readAll(model, { ...ask("hi"), tools }))).toBe("find 1");
  });

  test("copes with names of Object's prototype and results it cannot place", () => {
    const messages: ModelMessage[] = [
      { role: "tool", results: [{ id: "constructor", name: "__proto__", output: null, isError: true }] },
    ];
    expect(readConversation(messages).results).toEqual([
      { tool: "__proto__", input: null, status: "failed", error: "null" },
    ]);
  });
});

describe("time", () => {
  function manualClock() {
    const waits: { ms: number; callback: () => void }[] = [];
    return {
      waits,
      after: vi.fn((ms: number, callback: () => void) => {
        waits.push({ ms, callback });
        return vi.fn();
      }),
    };
  }

  test("passes before each piece, and where the script waits", async () => {
    const clock = manualClock();
    const reading = readAll(scriptedModel([[delay(500), say("One two")]], { delayMs: 15, clock }), ask("hi"));
    for (let index = 0; index < 3; index++) {
      await vi.waitFor(() => expect(clock.waits).toHaveLength(index + 1));
      clock.waits[index]?.callback();
    }
    expect(textOf(await reading)).toBe("One two");
    expect(clock.waits.map(({ ms }) => ms)).toEqual([500, 15, 15]);
  });

  test.each([
    ["a pause", delay(1000)],
    ["a wait without an end", delay(Number.POSITIVE_INFINITY)],
  ])("a stop ends %s and leaves no listener", async (_, wait) => {
    const abort = new AbortController();
    const reading = readAll(scriptedModel([[say("One"), wait, say("two")]]), ask("hi"), abort.signal);
    await vi.waitFor(() => expect(getEventListeners(abort.signal, "abort")).toHaveLength(1));
    const reason = new Error("stop");
    abort.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  });

  test("a model that was stopped before is not asked", async () => {
    const model = scriptedModel([say("One")]);
    await expect(readAll(model, ask("hi"), AbortSignal.abort("early"))).rejects.toBe("early");
    expect(model.requests).toEqual([]);
  });
});
