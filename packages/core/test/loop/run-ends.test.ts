import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { questionTool } from "../../src/agent/question-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { TurnRecord } from "../../src/loop/call-record.ts";
import type { StepRecord } from "../../src/loop/observers.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { checkPairing } from "../../src/model/check-pairing.ts";
import type { ModelPart } from "../../src/model/model.ts";
import { ModelError } from "../../src/model/model.ts";
import type { Json } from "../../src/protocol/values.ts";
import { call, calls, delay, fail, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { agentRun, told } from "./agent-run.ts";
import type { ScriptedAgentOptions } from "./scripted-agent.ts";
import { add, noop, scriptedAgent } from "./scripted-agent.ts";

const refused = new ModelError("no such model", { retryable: false, status: 404 });

const end = (inputTokens: number, outputTokens: number): ModelPart => ({
  type: "end",
  reason: "stop",
  usage: { inputTokens, outputTokens },
});

const refund = tool({
  description: "Refunds an order.",
  inputSchema: z.object({ orderId: z.string() }),
  execute: () => "refunded",
});

const broken = tool({
  description: "x",
  inputSchema: z.object({}),
  readOnly: true,
  execute: () => {
    throw new Error("no connection");
  },
});

describe("[M-9] every end has its reason", () => {
  const again = (count: number) => Array.from({ length: count }, () => call("noop", {}));
  const failing = (count: number) => Array.from({ length: count }, () => call("broken", {}));

  it.each<[string, ScriptedAgentOptions, object]>([
    [
      "a stop condition, with its words and the text of its turn",
      { script: [calls(say("Enough."), call("noop", {}))], stopWhen: ({ calls }) => calls.length > 0 && "seen enough" },
      { status: "done", stopReason: "stop-condition", reason: "seen enough", text: "Enough.", toolCallCount: 1 },
    ],
    [
      "the same call again and again",
      { script: again(9), limits: { repeats: { count: 3, follows: "stop" } } },
      { status: "incomplete", stopReason: "loop-detected", limit: "repeats", toolCallCount: 3 },
    ],
    [
      "failures in a row",
      { script: [...failing(3), say("It does not work.")], tools: { broken }, limits: { repeats: false } },
      { status: "incomplete", stopReason: "failures", limit: "failures", text: "It does not work." },
    ],
    [
      "tokens",
      { script: [calls(call("noop", {}), end(900, 200)), say("never")], limits: { tokens: 1_000 } },
      { status: "incomplete", stopReason: "tokens", limit: "tokens", usage: { inputTokens: 900, outputTokens: 200 } },
    ],
    [
      "an answer that is never good enough",
      { script: [say("a"), say("b"), say("c")], gate: { check: () => "Longer, please.", maxAttempts: 1 } },
      { status: "incomplete", stopReason: "completion", limit: "completion", turnsCount: 2 },
    ],
    [
      "a hook that throws, after a turn",
      {
        script: [call("noop", {}), say("never")],
        hooks: {
          beforeModel: ({ turn }) => {
            if (turn > 1) throw new Error("no");
          },
        },
      },
      { status: "error", stopReason: "error", code: "hook-failed", turnsCount: 1 },
    ],
    [
      "a question, which nobody can answer here",
      {
        script: [call("ask", { question: "Which one?" })],
        tools: { ask: questionTool({ description: "x", answerSchema: z.string() }) },
      },
      {
        status: "pending",
        stopReason: "pending",
        pending: [{ tool: "ask", ask: { kind: "question", prompt: "Which one?" } }],
      },
    ],
  ])("%s", async (_title, setup, expected) => {
    const { agent, options } = scriptedAgent(setup);
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject(expected);
    expect(() => checkPairing(result.messages)).not.toThrow();
  });

  it("[M-2] a hook that throws before the first model call rejects, with what it threw", async () => {
    const mistake = new Error("no budget");
    const { agent, model, options } = scriptedAgent({
      script: [say("never")],
      hooks: {
        beforeModel: () => {
          throw mistake;
        },
      },
    });
    await expect(runAgent(agent, "Go", options)).rejects.toMatchObject({
      code: "internal",
      message: "The run failed (hook-failed).",
      cause: { cause: mistake },
    });
    expect(model.requests).toEqual([]);
  });
});

describe("a sub-agent", () => {
  it("is one call of the result, with its last words and its tokens; its own calls are steps that name their run", async () => {
    const child = scriptedAgent({
      script: [calls(say("Hm."), call("add", { a: 1, b: 1 }), end(10, 1)), calls(say("Two."), end(20, 2))],
    });
    const { agent, options } = scriptedAgent({
      script: [calls(call("research", { prompt: "1 + 1?" }), end(100, 50)), calls(say("It is two."), end(200, 60))],
      tools: { research: agentTool({ agent: child.agent, description: "x" }) },
    });
    const steps: StepRecord[] = [];
    const texts: string[] = [];
    const result = await runAgent(agent, "Go", {
      ...options,
      onStep: (step) => steps.push(step),
      onText: (text) => texts.push(text),
    });
    expect(result).toMatchObject({
      status: "done",
      text: "It is two.",
      turnsCount: 2,
      toolCalls: [{ name: "research", output: "Two.", status: "succeeded" }],
      usage: { inputTokens: 330, outputTokens: 113 },
    });
    expect(steps.map(({ toolName, toolResult, runId }) => [toolName, toolResult, typeof runId])).toEqual([
      ["add", 2, "string"],
      ["research", "Two.", "undefined"],
    ]);
    expect(texts).toEqual(["It is two."]);
  });

  it("that needs a person makes the run pending, with its step", async () => {
    const child = scriptedAgent({ script: [call("refund", { orderId: "1042" })], tools: { refund } });
    const { agent, options } = scriptedAgent({
      script: [call("clerk", { prompt: "Refund 1042." })],
      tools: { clerk: agentTool({ agent: child.agent, description: "x" }) },
    });
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject({
      status: "pending",
      toolCalls: [{ name: "clerk", status: "running", isError: false }],
    });
    expect(result.pending).toMatchObject([{ tool: "refund", input: { orderId: "1042" } }]);
    expect(() => checkPairing(result.messages)).not.toThrow();
  });
});

describe("limits", () => {
  const forever = (count: number) => Array.from({ length: count }, () => call("noop", {}));

  it("[#17] tools up to the limit: one last answer, exactly as many model calls", async () => {
    const { agent, model, options } = scriptedAgent({ script: [...forever(3), say("synth")], limits: { turns: 4 } });
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject({ status: "incomplete", stopReason: "max-turns", limit: "turns", text: "synth" });
    expect(result.turns.filter((turn) => turn.calls.length > 0)).toHaveLength(3);
    expect(model.requests).toHaveLength(4);
  });

  it("[#18] only the last call is without tools and has the note", async () => {
    const { agent, model, options } = scriptedAgent({ script: [...forever(3), say("synth")], limits: { turns: 4 } });
    await runAgent(agent, "Go", options);
    expect(model.requests.map(({ tools }) => tools.length)).toEqual([2, 2, 2, 0]);
    expect(model.requests.map((request) => told(request).includes("No more tools"))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it("[#19] a call in the last answer is dropped: no text, no result that is missing", async () => {
    const { agent, model, options } = scriptedAgent({ script: forever(3), limits: { turns: 3 } });
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject({ status: "incomplete", stopReason: "max-turns", text: "", toolCallCount: 2 });
    expect(model.requests).toHaveLength(3);
    expect(() => checkPairing(result.messages)).not.toThrow();
  });

  it.each([
    ["[#63] case 1 of 2: in code, the limit keeps the work: its tools ran, nothing waits", 2],
    ["[#63] case 2 of 2: as a stream, with one turn", 1],
  ])("%s", async (_title, turns) => {
    const { agent, model, options } = scriptedAgent({
      script: Array.from({ length: 5 }, () => calls(call("noop", {}), end(10, 5))),
      limits: { turns },
      onLimit: "stop",
    });
    const types: string[] = [];
    const result = await runAgent(agent, "Go", { ...options, onEvent: ({ type }) => types.push(type) });
    expect(result).toMatchObject({
      status: "incomplete",
      stopReason: "max-turns",
      limit: "turns",
      turnsCount: turns,
      toolCallCount: turns,
      usage: { inputTokens: 10 * turns, outputTokens: 5 * turns },
    });
    expect(result.toolCalls.every(({ output }) => output === "ok")).toBe(true);
    expect(result.messages).toHaveLength(1 + 2 * turns);
    expect(result).not.toHaveProperty("pending");
    expect(model.requests).toHaveLength(turns);
    expect(types.filter((type) => type === "run-ended")).toHaveLength(1);
    expect(types.at(-1)).toBe("run-ended");
  });

  it("[#64] a preamble at the limit does not make it done", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(say("On it."), call("noop", {}))],
      limits: { turns: 1 },
      onLimit: "stop",
    });
    expect(await runAgent(agent, "Go", options)).toMatchObject({ status: "incomplete", limit: "turns", text: "" });
  });

  it("[M-8] a limit of one with a last answer is one call without tools", async () => {
    const { agent, model, options } = scriptedAgent({ script: [say("From memory.")], limits: { turns: 1 } });
    expect(await runAgent(agent, "Go", options)).toMatchObject({ status: "incomplete", text: "From memory." });
    expect(model.requests.map(({ tools }) => tools.length)).toEqual([0]);
  });

  it.each([
    ["[#118] case 1 of 2: ten model calls by default", {}, 10],
    ["[#118] case 2 of 2: five where the agent says five", { limits: { turns: 5 } }, 5],
  ])("%s", async (_title, settings, count) => {
    const script = Array.from({ length: 20 }, (_, index) => call("add", { a: index, b: 1 }));
    const { agent, model, options } = scriptedAgent({ script, onLimit: "stop", ...settings });
    const result = await runAgent(agent, "Go", options);
    expect(model.requests).toHaveLength(count);
    expect(result).toMatchObject({ status: "incomplete", limit: "turns", turnsCount: count });
  });

  it("more calls than are allowed: the rest are not run, and the result says which limit it was", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(call("noop", {}), call("add", { a: 1, b: 1 })), say("That is all.")],
      limits: { calls: 1 },
    });
    const result = await runAgent(agent, "Go", options);
    expect(result).toMatchObject({ status: "incomplete", stopReason: "max-calls", limit: "calls" });
    expect(result.toolCalls.map(({ status, isError }) => [status, isError])).toEqual([
      ["succeeded", false],
      ["not-run", true],
    ]);
    expect(result.toolCalls[1]?.output).toMatch(/^The tool was NOT run: blocked by the app's policy: /);
  });
});

describe("time", () => {
  const slow = tool({
    description: "x",
    inputSchema: z.object({}),
    readOnly: true,
    execute: (_input, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const late = () =>
    scriptedAgent({ script: [call("noop", {}), call("slow", {})], tools: { noop, slow }, limits: { timeMs: 1_000 } });

  it("a run whose time is over is incomplete, with the work so far", async () => {
    const { agent, clock, options } = late();
    const running = runAgent(agent, "Go", options);
    await clock.advance(5_000);
    const result = await running;
    expect(result).toMatchObject({ status: "incomplete", stopReason: "timeout", limit: "time", turnsCount: 2 });
    expect(result.toolCalls.map(({ status }) => status)).toEqual(["succeeded", "failed"]);
    expect(() => checkPairing(result.messages)).not.toThrow();
    expect(clock.armed).toBe(0);
  });

  it("with timeoutMode throw it rejects", async () => {
    const { agent, clock, options } = late();
    const rejected = expect(runAgent(agent, "Go", { ...options, timeoutMode: "throw" })).rejects.toMatchObject({
      code: "unavailable",
      message: "The run took longer than 1000 ms.",
    });
    await clock.advance(5_000);
    await rejected;
  });
});

describe("a run that needs a person", () => {
  it("is pending, with the steps that wait, and a transcript that is whole", async () => {
    const { agent, model, options } = scriptedAgent({
      script: [calls(call("noop", {}), call("refund", { orderId: "1042" }))],
      tools: { noop, refund },
    });
    const turns: (readonly TurnRecord[])[] = [];
    const result = await runAgent(agent, "Refund 1042", { ...options, onTurns: (each) => turns.push(each) });
    expect(result).toMatchObject({
      status: "pending",
      stopReason: "pending",
      text: "",
      turnsCount: 1,
      toolCallCount: 2,
    });
    expect(result.pending).toMatchObject([{ tool: "refund", input: { orderId: "1042" }, status: "waiting" }]);
    expect(result.toolCalls).toMatchObject([
      { name: "noop", status: "succeeded", output: "ok" },
      { name: "refund", status: "waiting", isError: false },
    ]);
    expect(result.toolCalls[1]).not.toHaveProperty("output");
    expect(() => checkPairing(result.messages)).not.toThrow();
    expect(model.requests).toHaveLength(1);
    expect(turns).toEqual([]);
  });
});

describe("[M-5] the transcript is balanced in every exit, results in call order", () => {
  const wait = (ms: number) =>
    tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: async () => ms });
  const both = calls(
    call("slow", {}),
    call("fast", {}),
    call("broken", {}),
    call("ghost", {}),
    call("add", { a: "x" }),
  );
  const tools = { slow: wait(2), fast: wait(1), broken, add, refund };

  it.each([
    ["done", [both, say("Done")], {}],
    ["incomplete", [both], { limits: { turns: 1 }, onLimit: "stop" }],
    ["incomplete", [both, say("Done")], { limits: { turns: 2 } }],
    ["pending", [both, calls(call("refund", { orderId: "1" }), call("fast", {}))], {}],
    ["error", [both, fail(refused)], {}],
  ] as const)("%s", async (status, script, settings) => {
    const { agent, options } = scriptedAgent({ script, tools, ...settings });
    const result = await runAgent(agent, "Go", options);
    expect(result.status).toBe(status);
    expect(() => checkPairing(result.messages)).not.toThrow();
    expect(result.toolCalls.slice(0, 5).map(({ name }) => name)).toEqual(["slow", "fast", "broken", "ghost", "add"]);
    const outputs: readonly (Json | undefined)[] = result.toolCalls.slice(0, 5).map(({ output }) => output);
    expect(outputs.slice(0, 4)).toEqual([2, 1, "no connection", "There is no tool named ghost."]);
    expect(outputs[4]).toMatch(/^The arguments do not fit add: /);
  });
});

describe("the same limits as on a server", () => {
  const forever = Array.from({ length: 5 }, (_, index) => call("add", { a: index, b: 1 }));

  it("[#94] case 1 of 3: to the end, the limit of three is three model calls", async () => {
    const { agent, model, options } = scriptedAgent({ script: forever, limits: { turns: 3 }, onLimit: "stop" });
    expect(await runAgent(agent, "Go", options)).toMatchObject({ stopReason: "max-turns", turnsCount: 3 });
    expect(model.requests).toHaveLength(3);
  });

  it("[#94] case 2 of 3: on a server, the limit of two is two model calls", async () => {
    const run = agentRun({ script: forever, tools: { add }, limits: { turns: 2 }, onLimit: "stop" });
    expect(await run.start()).toMatchObject({ outcome: "limited", limit: "turns" });
    expect(run.model.requests).toHaveLength(2);
  });

  it("[#103] case 1 of 4: to the end, time that is over starts nothing", async () => {
    const { agent, model, clock, options } = scriptedAgent({ script: [say("never")], limits: { timeMs: 1 } });
    const result = await runAgent(agent, "Go", { ...options, clock: ticking(clock) });
    expect(result).toMatchObject({ status: "incomplete", stopReason: "timeout", limit: "time", text: "", turns: [] });
    expect(model.requests).toEqual([]);
  });

  it("[#103] case 2 of 4: on a server, too", async () => {
    const run = agentRun({ script: [say("never")], limits: { timeMs: 1 }, clock: ticking(fakeClock()) });
    expect(await run.start()).toMatchObject({ outcome: "limited", limit: "time" });
    expect(run.model.requests).toEqual([]);
  });

  it("[#103] case 3 of 4: without a limit time does not matter", async () => {
    const { agent, clock, options } = scriptedAgent({
      script: [[delay(3_600_000), say("Done")]],
      limits: { timeMs: Number.POSITIVE_INFINITY },
      modelSilenceMs: 7_200_000,
    });
    const running = runAgent(agent, "Go", options);
    await clock.advance(3_600_000);
    expect(await running).toMatchObject({ status: "done", text: "Done" });
  });
});

/** A clock on which a millisecond passes with each of the first looks at it. */
function ticking<Clock extends { now(): number }>(clock: Clock): Clock {
  let ticks = 0;
  const now = (): number => clock.now() + (ticks < 40 ? ++ticks : ticks);
  return Object.assign(Object.create(clock) as Clock, { now }); // the same but for now
}
