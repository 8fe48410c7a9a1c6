import { describe, expect, it } from "vitest";
import * as z from "zod";
import { tool } from "../../src/agent/tool.ts";
import { isToolRunError } from "../../src/errors.ts";
import type { TurnRecord } from "../../src/loop/call-record.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { checkPairing } from "../../src/model/check-pairing.ts";
import { ModelError, type ModelPart } from "../../src/model/model.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { call, calls, cut, delay, fail, say } from "../../src/testing/scripted-model.ts";
import { quiet } from "../fake-clock.ts";
import { add, noop, scriptedAgent } from "./scripted-agent.ts";

const refused = new ModelError("no such model", { retryable: false, status: 404 });

const end = (inputTokens: number, outputTokens: number): ModelPart => ({
  type: "end",
  reason: "stop",
  usage: { inputTokens, outputTokens },
});

const broken = tool({
  description: "x",
  inputSchema: z.object({}),
  readOnly: true,
  execute: () => {
    throw new Error("no connection");
  },
});

describe("a run to its end", () => {
  it("[#61] the smallest run is done after one turn", async () => {
    const { agent, model, options } = scriptedAgent({ script: [say("Paris")] });
    const result = await runAgent(agent, "What is the capital of France?", options);
    expect(result).toEqual({
      status: "done",
      stopReason: "complete",
      text: "Paris",
      messages: [
        { role: "user", parts: [{ type: "text", text: "What is the capital of France?" }] },
        { role: "assistant", parts: [{ type: "text", text: "Paris" }] },
      ],
      turns: [{ turn: 1, text: "Paris", calls: [] }],
      turnsCount: 1,
      toolCalls: [],
      toolCallCount: 0,
      usage: {},
      model: "scripted",
    });
    expect(model.requests).toHaveLength(1);
  });

  it("[#62 M-9] a tool in the loop: two turns, one call, its output, the final text alone", async () => {
    const { agent, options } = scriptedAgent({ script: [call("add", { a: 2, b: 3 }), say("5")] });
    const result = await runAgent(agent, "2 + 3?", options);
    expect(result).toMatchObject({
      status: "done",
      stopReason: "complete",
      text: "5",
      turnsCount: 2,
      toolCallCount: 1,
    });
    expect(result.toolCalls).toEqual([
      {
        callId: expect.any(String),
        name: "add",
        args: { a: 2, b: 3 },
        output: 5,
        isError: false,
        status: "succeeded",
        durationMs: 0,
      },
    ]);
    expect(result.limit).toBeUndefined();
  });

  it("[#65] a final answer at the last allowed turn is done, without a limit", async () => {
    const { agent, options } = scriptedAgent({ script: [say("final")], limits: { turns: 1 }, onLimit: "stop" });
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject({ status: "done", stopReason: "complete", text: "final" });
    expect(result).not.toHaveProperty("limit");
  });

  it("[#2] one turn with a tool: text, call, result and tokens are its record, and the next request ends with them", async () => {
    const { agent, model, options } = scriptedAgent({
      script: [calls(say("Let me check. "), call("add", { a: 1, b: 1 }), end(100, 50)), say("Two.")],
    });
    const { turns } = await runAgent(agent, "1 + 1?", options);
    expect(turns[0]).toMatchObject({
      turn: 1,
      text: "Let me check. ",
      calls: [{ name: "add", args: { a: 1, b: 1 }, output: 2 }],
      usage: { inputTokens: 100, outputTokens: 50 },
    });
    expect(model.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: "assistant", parts: [{ type: "text" }, { type: "call", name: "add", inputText: '{"a":1,"b":1}' }] },
      { role: "tool", results: [{ name: "add", output: 2, isError: false }] },
    ]);
  });

  it("[#3 M-39] two turns with tools have their own tokens and calls", async () => {
    const { agent, options } = scriptedAgent({
      script: [
        calls(call("add", { a: 1, b: 1 }), end(100, 50)),
        calls(call("noop", {}), call("add", { a: 2, b: 2 }), end(200, 60)),
        calls(say("Done"), end(300, 70)),
      ],
    });
    const result = await runAgent(agent, "Go", options);
    expect(result.text).toBe("Done");
    expect(result.turns.map(({ usage, calls }) => [usage?.inputTokens, usage?.outputTokens, calls.length])).toEqual([
      [100, 50, 1],
      [200, 60, 2],
      [300, 70, 0],
    ]);
    expect(result.toolCalls.map(({ output }) => output)).toEqual([2, "ok", 4]);
  });

  it("[#20] the text before a tool call is no part of the final text", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(say("Let me search."), call("noop", {})), say("final answer")],
    });
    expect((await runAgent(agent, "Go", options)).text).toBe("final answer");
  });

  it("[#96] usage adds up, and a count that no provider gave stays absent", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(call("noop", {}), end(100, 50)), calls(say("Done"), end(100, 50))],
    });
    expect((await runAgent(agent, "Go", options)).usage).toEqual({ inputTokens: 200, outputTokens: 100 });
  });

  it("[#26] instructions and tools are in every request", async () => {
    const { agent, model, options } = scriptedAgent({
      script: [call("noop", {}), say("Done")],
      instructions: ({ user }) => `Help ${user.id}.`,
    });
    const result = await runAgent(agent, "Go", { ...options, user: { id: "mia" } });
    for (const { messages, tools } of model.requests) {
      expect(messages[0]).toEqual({ role: "system", text: "Help mia." });
      expect(tools.map(({ name }) => name)).toEqual(["add", "noop"]);
    }
    expect(result.messages[0]).toEqual({ role: "system", text: "Help mia." });
  });

  it("takes a message with files, and refuses one that says nothing", async () => {
    const { agent, model, options } = scriptedAgent({ script: [say("A cat.")] });
    const file = { url: "https://files.test/cat.png", mediaType: "image/png" };
    await runAgent(agent, { text: "What is it?", files: [file] }, options);
    expect(model.requests[0]?.messages).toEqual([
      {
        role: "user",
        parts: [
          { type: "text", text: "What is it?" },
          { type: "file", ...file },
        ],
      },
    ]);
    await expect(runAgent(agent, "", options)).rejects.toMatchObject({ code: "bad-request" });
  });

  it("gives tools and rules the user it acts for", async () => {
    const seen: unknown[] = [];
    const whoami = tool({
      description: "x",
      inputSchema: z.object({}),
      approval: (_input, { user }) => {
        seen.push(user.id);
        return "allow";
      },
      execute: (_input, { user }) => user.id,
    });
    const { agent, options } = scriptedAgent({ script: [call("whoami", {}), say("Done")], tools: { whoami } });
    const result = await runAgent(agent, "Go", { ...options, user: { id: "mia" } });
    expect([...seen, result.toolCalls[0]?.output]).toEqual(["mia", "mia"]);
  });
});

describe("a failing model", () => {
  it("[#13 M-2] a first call that fails for good rejects, with the provider's error as its cause", async () => {
    const { agent, model, errors, options } = scriptedAgent({ script: [fail(refused)] });
    const events: ThreadEvent[] = [];
    const running = runAgent(agent, "Go", { ...options, onEvent: (event) => events.push(event) });
    const error = await running.catch((reason: unknown) => reason);
    expect(isToolRunError(error)).toBe(true);
    expect(error).toMatchObject({ code: "model-failed", cause: refused });
    expect(String((error as Error).message)).not.toContain("no such model");
    expect(model.requests).toHaveLength(1);
    expect(errors).toEqual([refused]);
    expect(events.at(-1)).toMatchObject({ type: "run-ended", outcome: "failed" });
  });

  it("[M-2] a first call whose attempts are used up rejects, too", async () => {
    const { agent, model, clock, options } = scriptedAgent({ script: [fail("busy"), cut(), fail("busy")] });
    const running = runAgent(agent, "Go", options);
    const rejected = expect(running).rejects.toMatchObject({ code: "model-failed" });
    await clock.advance(10_000);
    await rejected;
    expect(model.requests).toHaveLength(3);
  });

  it("[#14] an answer that breaks off after its first words is an error result: no turn, its calls never ran", async () => {
    const { agent, options } = scriptedAgent({ script: [[say("partial"), call("noop", {}), fail(refused)]] });
    const texts: string[] = [];
    const result = await runAgent(agent, "Go", { ...options, onText: (text) => texts.push(text) });
    expect(result).toMatchObject({ status: "error", stopReason: "error", code: "model-failed", text: "", turns: [] });
    expect(result.toolCalls).toEqual([]);
    expect(texts).toEqual(["partial"]);
    expect(result.messages.at(-1)).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "partial" }] });
  });

  it("[#15] a later call that fails is an error result with the turns before", async () => {
    const { agent, options } = scriptedAgent({ script: [call("noop", {}), fail(refused)] });
    const order: string[] = [];
    const result = await runAgent(agent, "Go", {
      ...options,
      onTurns: (turns) => order.push(`turns ${turns.length}`),
      onEvent: ({ type }) => order.push(type),
    });
    expect(result).toMatchObject({ status: "error", code: "model-failed", turnsCount: 1, toolCallCount: 1 });
    expect(order.slice(-2)).toEqual(["turns 1", "run-ended"]);
  });

  it("rejects as internal where the instructions throw, and reports why", async () => {
    const mistake = new Error("no such user");
    const { agent, errors, options } = scriptedAgent({
      script: [],
      instructions: () => {
        throw mistake;
      },
    });
    await expect(runAgent(agent, "Go", options)).rejects.toMatchObject({ code: "internal", cause: { cause: mistake } });
    expect(errors).toMatchObject([{ cause: mistake }]);
  });
});

describe("a stop", () => {
  const hanging = () =>
    scriptedAgent({ script: [call("noop", {}), [say("Half a "), delay(Number.POSITIVE_INFINITY)]] });

  it("[M-30] the signal ends the model, keeps what there is, and no further call follows", async () => {
    const { agent, model, clock, errors, options } = hanging();
    const stop = new AbortController();
    const running = runAgent(agent, "Go", { ...options, signal: stop.signal });
    await quiet();
    stop.abort("enough");
    const result = await running;
    expect(result).toMatchObject({
      status: "aborted",
      stopReason: "aborted",
      reason: "enough",
      text: "",
      turnsCount: 1,
    });
    expect(result.messages.at(-1)).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "Half a " }] });
    expect(() => checkPairing(result.messages)).not.toThrow();
    expect(model.requests).toHaveLength(2);
    expect(errors).toEqual([]);
    expect(clock.armed).toBe(0);
  });

  it("[M-30] a tool that runs gets the signal; what has not started is not run", async () => {
    let reason: unknown;
    const wait = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      sequential: true,
      execute: (_input, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(signal.reason);
          });
        }),
    });
    const { agent, options } = scriptedAgent({ script: [calls(call("wait", {}), call("wait", {}))], tools: { wait } });
    const stop = new AbortController();
    const running = runAgent(agent, "Go", { ...options, signal: stop.signal });
    await quiet();
    stop.abort();
    const result = await running;
    expect(reason).toMatchObject({ name: "AbortError" });
    expect(result.status).toBe("aborted");
    expect(result.toolCalls.map(({ status }) => status)).toEqual(["failed", "not-run"]);
    expect(() => checkPairing(result.messages)).not.toThrow();
  });

  it("a signal that was aborted before stops it before the first model call", async () => {
    const { agent, model, options } = hanging();
    const result = await runAgent(agent, "Go", { ...options, signal: AbortSignal.abort() });
    expect(result).toMatchObject({ status: "aborted", turns: [], messages: [{ role: "user" }] });
    expect(model.requests).toEqual([]);
  });

  it("[M-30] a signal that is aborted by who hears of a step stops it before the next model call", async () => {
    const { agent, model, options } = hanging();
    const stop = new AbortController();
    const result = await runAgent(agent, "Go", { ...options, signal: stop.signal, onStep: () => stop.abort() });
    expect(result).toMatchObject({ status: "aborted", toolCallCount: 1 });
    expect(model.requests).toHaveLength(1);
  });

  it("leaves nothing at the signal once the run is over", async () => {
    const { agent, options } = scriptedAgent({ script: [say("Done")] });
    const stop = new AbortController();
    const result = await runAgent(agent, "Go", { ...options, signal: stop.signal });
    stop.abort();
    await quiet();
    expect(result.status).toBe("done");
  });
});

describe("those who watch", () => {
  it("[#16 M-38] reasoning, text, sources, files and usage pass in order, with one end", async () => {
    const { agent, options } = scriptedAgent({
      script: [
        [
          { type: "reasoning", text: "Hm. " },
          say("Look: "),
          { type: "source", url: "https://a.test" },
          { type: "file", url: "https://a.test/b.png", mediaType: "image/png" },
          end(10, 5),
        ],
      ],
    });
    const seen: unknown[] = [];
    const result = await runAgent(agent, "Go", {
      ...options,
      onEvent: (event) => {
        if (event.type === "text-added") seen.push([event.kind ?? "text", event.text]);
        else if (event.type === "part-added") seen.push(event.part.type);
        else if (event.type === "turn-ended") seen.push(event.usage);
        else if (event.type === "run-ended") seen.push(event.type);
      },
    });
    expect(seen).toEqual([
      ["reasoning", "Hm. "],
      ["text", "Look: "],
      "source",
      "file",
      { inputTokens: 10, outputTokens: 5 },
      "run-ended",
    ]);
    expect(result.turns[0]).toMatchObject({ text: "Look: ", reasoning: "Hm. " });
  });

  it("[#97 M-3] the order of events: each turn begins, its tools start and end before the next, the end is last and one", async () => {
    const { agent, options } = scriptedAgent({ script: [call("noop", {}), say("Done")] });
    const events: ThreadEvent[] = [];
    await runAgent(agent, "Go", { ...options, onEvent: (event) => events.push(event) });
    const types = events.map(({ type }) => type);
    expect(types).toEqual([
      "thread-created",
      "message-added",
      "run-started",
      "turn-started",
      "turn-ended",
      "call-ready",
      "call-judged",
      "call-started",
      "call-settled",
      "turn-started",
      "text-added",
      "turn-ended",
      "run-ended",
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(types.map((_, index) => index + 1));
  });

  it("[#98] two calls of one answer: two starts, two ends, by id", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(call("noop", {}), call("add", { a: 1, b: 1 })), say("Done")],
    });
    const ids: Record<string, string[]> = { "call-started": [], "call-settled": [] };
    const result = await runAgent(agent, "Go", {
      ...options,
      onEvent: (event) => {
        if (event.type === "call-started" || event.type === "call-settled") ids[event.type]?.push(event.callId);
      },
    });
    const known = result.toolCalls.map(({ callId }) => callId);
    expect(new Set(known).size).toBe(2);
    expect(ids["call-started"]).toEqual(known);
    expect(ids["call-settled"]?.toSorted()).toEqual(known.toSorted());
  });

  it.each([
    ["[#27 M-39] case 1 of 2: turns with tools come once, before the end", [call("noop", {}), say("Done")], [1]],
    ["[#27 M-39] case 2 of 2: without tools nobody is called", [say("Done")], []],
  ])("%s", async (_title, script, expected) => {
    const { agent, options } = scriptedAgent({ script });
    const turns: (readonly TurnRecord[])[] = [];
    const ended: number[] = [];
    await runAgent(agent, "Go", {
      ...options,
      onTurns: (each) => turns.push(each),
      onEvent: ({ type }) => {
        if (type === "run-ended") ended.push(turns.length);
      },
    });
    expect(turns.map((each) => each.length)).toEqual(expected);
    expect(ended).toEqual([expected.length]);
  });

  it.each([
    ["[#119 M-38] onText that throws on the second chunk ends the text, and no model call follows", "throws"],
    ["[M-38] onText that returns false does the same", "false"],
    ["[M-38] and one that promises false", "promise"],
  ])("%s", async (_title, how) => {
    const mistake = new Error("enough");
    const { agent, model, clock, errors, options } = scriptedAgent({
      script: [
        [say("One "), delay(10), say("two "), delay(10), say("three "), delay(10), call("noop", {})],
        say("never"),
      ],
    });
    const texts: string[] = [];
    const running = runAgent(agent, "Go", {
      ...options,
      onText: (text) => {
        texts.push(text);
        if (texts.length < 2) return undefined;
        if (how === "throws") throw mistake;
        return how === "false" ? false : Promise.resolve(false);
      },
    });
    await clock.advance(100);
    const result = await running;
    expect(texts).toEqual(["One ", "two "]);
    expect(result).toMatchObject({ status: "aborted", stopReason: "aborted", toolCalls: [], turns: [] });
    expect(result.messages.at(-1)).toMatchObject({ parts: [{ type: "text", text: "One two " }] });
    expect(model.requests).toHaveLength(1);
    expect(errors).toEqual(how === "throws" ? [mistake] : []);
    expect(clock.armed).toBe(0);
  });

  it("[M-38] a text that is stopped starts nothing that its own answer asked for", async () => {
    let ran = 0;
    const count = tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => ++ran });
    const { agent, model, options } = scriptedAgent({
      script: [calls(say("I will."), call("count", {}), call("nothing", {})), say("never")],
      tools: { count },
    });
    const result = await runAgent(agent, "Go", { ...options, onText: () => false });
    expect(result).toMatchObject({ status: "aborted", turnsCount: 1 });
    expect(result.toolCalls.map(({ status }) => status)).toEqual(["not-run", "failed"]);
    expect(ran).toBe(0);
    expect(model.requests).toHaveLength(1);
    expect(() => checkPairing(result.messages)).not.toThrow();
  });

  it("what they throw or reject reaches onError and nothing else; an onError that throws neither", async () => {
    const throwing = (name: string) => () => {
      throw new Error(name);
    };
    const { agent, options } = scriptedAgent({ script: [call("noop", {}), say("Done")] });
    const errors: string[] = [];
    const result = await runAgent(agent, "Go", {
      ...options,
      onStep: throwing("step"),
      onTurns: throwing("turns"),
      onMetric: throwing("metric"),
      onAction: async () => throwing("action")(),
      onEvent: throwing("event"),
      onError: (error) => {
        errors.push((error as Error).message);
        throw new Error("the reporter, too");
      },
    });
    await quiet();
    expect(result).toMatchObject({ status: "done", text: "Done" });
    expect(new Set(errors)).toEqual(new Set(["step", "turns", "metric", "action", "event"]));
    expect(errors.filter((name) => name === "step")).toHaveLength(1);
  });
});

describe("[#113] several tools one after the other", () => {
  it("[#113] case 1 of 2: after a failure another tool", async () => {
    const { agent, options } = scriptedAgent({
      script: [
        call("broken", {}),
        ([failed]) => (failed?.status === "failed" ? call("noop", {}) : say("?")),
        say("Done"),
      ],
      tools: { broken, noop },
    });
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject({ status: "done", text: "Done" });
    expect(result.toolCalls.map(({ name, isError }) => [name, isError])).toEqual([
      ["broken", true],
      ["noop", false],
    ]);
  });

  it("[#113] case 2 of 2: one result feeds the next call", async () => {
    const multiply = tool({
      description: "x",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      readOnly: true,
      execute: ({ a, b }) => a * b,
    });
    const { agent, options } = scriptedAgent({
      script: [
        call("add", { a: 5, b: 3 }),
        ([sum]) => call("multiply", { a: sum?.output ?? null, b: 4 }),
        ([, product]) => say(String(product?.output)),
      ],
      tools: { add, multiply },
    });
    expect((await runAgent(agent, "(5 + 3) × 4?", options)).text).toBe("32");
  });
});
