import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { TurnRecord } from "../../src/loop/call-record.ts";
import { observe } from "../../src/loop/observe.ts";
import type { ActionRecord, Metric, StepRecord } from "../../src/loop/observers.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { stepChannel } from "../../src/loop/step-channel.ts";
import type { ModelPart } from "../../src/model/model.ts";
import type { EventDraft, ThreadEvent } from "../../src/protocol/event.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, cut, delay, fail, say } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock, quiet } from "../fake-clock.ts";
import { clerk } from "../server/endpoint.ts";
import { agentRun } from "./agent-run.ts";
import { scriptedAgent } from "./scripted-agent.ts";

const end: ModelPart = { type: "end", reason: "tools", usage: { inputTokens: 100, outputTokens: 50 } };

const refund: Tool = tool({
  description: "Refunds an order.",
  inputSchema: z.object({ orderId: z.string(), amount: z.number() }),
  execute: ({ amount }) => ({ refunded: amount }),
});

/** A tool that takes `ms` on a clock. */
function taking(clock: FakeClock, ms: number): Tool {
  return tool({
    description: "x",
    inputSchema: z.object({ name: z.string() }),
    readOnly: true,
    execute: ({ name }) => new Promise((resolve) => clock.after(ms, () => resolve(`${name} done`))),
  });
}

describe("steps", () => {
  it("[#114 M-37] one tool is one step: exactly these fields", async () => {
    const { agent, clock, options } = scriptedAgent({ script: [call("add", { a: 2, b: 3 }), say("5")] });
    const steps: StepRecord[] = [];
    const { toolCalls } = await runAgent(agent, "Go", { ...options, onStep: (step) => steps.push(step) });
    expect(steps).toEqual([
      {
        iteration: 0,
        toolName: "add",
        toolArguments: '{"a":2,"b":3}',
        toolResult: 5,
        timestamp: clock.now(),
        isError: false,
        durationMs: 0,
        callId: toolCalls[0]?.callId,
      },
    ]);
  });

  it("[#115] steps of two turns, numbered from zero, with their times", async () => {
    const clock = fakeClock();
    const made = scriptedAgent({
      clock,
      script: [
        calls(call("slow", { name: "a" }), call("fast", { name: "b" })),
        call("fast", { name: "c" }),
        say("Done"),
      ],
      tools: { slow: taking(clock, 300), fast: taking(clock, 100) },
    });
    const steps: StepRecord[] = [];
    const started = clock.now();
    const running = runAgent(made.agent, "Go", { ...made.options, onStep: (step) => steps.push(step) });
    await clock.advance(1_000);
    await running;
    expect(
      steps.map(({ iteration, toolResult, durationMs, timestamp }) => [
        iteration,
        toolResult,
        durationMs,
        timestamp - started,
      ]),
    ).toEqual([
      [0, "b done", 100, 100],
      [0, "a done", 300, 300],
      [1, "c done", 100, 400],
    ]);
  });

  it("[M-37] what failed, was refused or was never a call is a step with its words", async () => {
    const broken = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      execute: () => Promise.reject(new Error("no connection")),
    });
    const { agent, options } = scriptedAgent({
      script: [
        calls(call("broken", {}), call("refund", { orderId: "1", amount: 1 }), call("ghost", { a: 1 }), {
          type: "call",
          id: "bad",
          name: "broken",
          input: '{"a":',
        }),
        say("Done"),
      ],
      tools: { broken, refund },
      policy: ({ tool: name }) => (name === "refund" ? { deny: "Not today." } : undefined),
    });
    const steps: StepRecord[] = [];
    await runAgent(agent, "Go", { ...options, onStep: (step) => steps.push(step) });
    const found = Object.fromEntries(steps.map((step) => [`${step.toolName} ${step.toolArguments}`, step]));
    expect(found["broken {}"]).toMatchObject({ isError: true, toolResult: "no connection" });
    expect(found['refund {"orderId":"1","amount":1}']).toMatchObject({
      isError: true,
      durationMs: 0,
      toolResult: "The tool was NOT run: blocked by the app's policy: Not today.",
    });
    expect(found['ghost {"a":1}']).toMatchObject({ isError: true, toolResult: "There is no tool named ghost." });
    expect(found['broken "{\\"a\\":"']).toMatchObject({ toolResult: "The arguments of broken are not valid JSON." });
    expect(steps).toHaveLength(4);
  });

  it("[#116 M-37] nobody reads the steps: the run takes the same time, and what did not fit is counted", async () => {
    const script = [...Array.from({ length: 8 }, (_, name) => call("work", { name: String(name) })), say("Done")];
    const run = async (channel?: ReturnType<typeof stepChannel>) => {
      const clock = fakeClock();
      const made = scriptedAgent({ clock, script, tools: { work: taking(clock, 100) } });
      const times: number[] = [];
      const running = runAgent(made.agent, "Go", {
        ...made.options,
        onStep: channel?.onStep,
        onEvent: ({ at }) => times.push(at),
      });
      await clock.advance(10_000);
      expect((await running).status).toBe("done");
      expect(made.errors).toEqual([]);
      return times;
    };
    const full = stepChannel({ capacity: 3 });
    expect(await run(full)).toEqual(await run());
    expect(full.dropped).toBe(5);
    full.close();
    const read: unknown[] = [];
    for await (const step of full) read.push(step.toolResult);
    expect(read).toEqual(["0 done", "1 done", "2 done"]);
  });

  it("[#117] case 1 of 2: a reader that goes away", async () => {
    const { agent, errors, options } = scriptedAgent({ script: [call("noop", {}), call("noop", {}), say("Done")] });
    const channel = stepChannel();
    const running = runAgent(agent, "Go", { ...options, onStep: channel.onStep });
    for await (const step of channel) {
      expect(step.iteration).toBe(0);
      break;
    }
    expect(await running).toMatchObject({ status: "done", toolCallCount: 2 });
    expect(errors).toEqual([]);
    for await (const step of channel) expect(step).toBe("nothing is left");
  });

  it("[#117] case 2 of 2: a reader that throws", async () => {
    const { agent, errors, options } = scriptedAgent({ script: [call("noop", {}), call("noop", {}), say("Done")] });
    const mistake = new Error("my screen is gone");
    const onStep = (): void => {
      throw mistake;
    };
    expect(await runAgent(agent, "Go", { ...options, onStep })).toMatchObject({ status: "done", toolCallCount: 2 });
    expect(errors).toEqual([mistake, mistake]);
  });

  it("a channel hands steps over as they come, and ends when it is closed", async () => {
    const { agent, options } = scriptedAgent({ script: [call("noop", {}), call("add", { a: 1, b: 1 }), say("Done")] });
    const channel = stepChannel();
    const read: string[] = [];
    const reading = (async () => {
      for await (const { toolName } of channel) read.push(toolName);
    })();
    await runAgent(agent, "Go", { ...options, onStep: channel.onStep });
    channel.close();
    await reading;
    expect(read).toEqual(["noop", "add"]);
    expect(channel.dropped).toBe(0);
  });
});

describe("figures", () => {
  it("[#87 M-41] of each model call, each tool, and the run last, once each", async () => {
    const clock = fakeClock();
    const made = scriptedAgent({
      clock,
      script: [
        [delay(20), call("work", { name: "a" }), end],
        [delay(30), say("Done"), end],
      ],
      tools: { work: taking(clock, 100) },
    });
    const metrics: Metric[] = [];
    const running = runAgent(made.agent, "Go", { ...made.options, onMetric: (metric) => metrics.push(metric) });
    await clock.advance(1_000);
    await running;
    const runId = metrics[0]?.runId;
    expect(metrics).toEqual([
      { type: "llm", runId, model: "scripted", status: "ok", ms: 20, tokens: 150 },
      { type: "tool", runId, tool: "work", isError: false, ms: 100 },
      { type: "llm", runId, model: "scripted", status: "ok", ms: 30, tokens: 150 },
      { type: "run", runId, turns: 2, toolCalls: 1, totalTokens: 300, ms: 150 },
    ]);
  });

  it("[M-41] a failed attempt is one of its own, with its time", async () => {
    const { agent, clock, options } = scriptedAgent({ script: [[delay(40), cut()], say("Done")] });
    const metrics: Metric[] = [];
    const running = runAgent(agent, "Go", { ...options, onMetric: (metric) => metrics.push(metric) });
    await clock.advance(1_000);
    await running;
    expect(metrics).toMatchObject([
      { type: "llm", status: "error", ms: 40, tokens: 0 },
      { type: "llm", status: "ok" },
      { type: "run", turns: 1, ms: 540 },
    ]);
  });

  it("[M-41] a model call that was stopped, and a run that failed", async () => {
    const stop = new AbortController();
    const first = scriptedAgent({ script: [[say("Half"), delay(Number.POSITIVE_INFINITY)]] });
    const metrics: Metric[] = [];
    const onMetric = (metric: Metric): unknown => metrics.push(metric);
    const running = runAgent(first.agent, "Go", { ...first.options, signal: stop.signal, onMetric });
    await quiet();
    stop.abort();
    await running;
    expect(metrics).toMatchObject([
      { type: "llm", status: "stopped" },
      { type: "run", turns: 0 },
    ]);
    expect(metrics[1]).not.toHaveProperty("error");

    metrics.length = 0;
    const second = scriptedAgent({ script: [[say("Half"), fail("busy")]], modelAttempts: 1 });
    await runAgent(second.agent, "Go", { ...second.options, onMetric });
    expect(metrics).toMatchObject([
      { type: "llm", status: "error" },
      { type: "run", error: "model-failed" },
    ]);
  });

  it("[M-41] asking a person is no error of a tool, and the run is counted though it waits", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(call("refund", { orderId: "1", amount: 1 }), end)],
      tools: { refund },
    });
    const metrics: Metric[] = [];
    await runAgent(agent, "Go", { ...options, onMetric: (metric) => metrics.push(metric) });
    expect(metrics).toMatchObject([
      { type: "llm" },
      { type: "tool", tool: "refund", isError: false, pending: true },
      { type: "run", turns: 1, toolCalls: 1, totalTokens: 150 },
    ]);
  });
});

describe("milestones", () => {
  it("[#120 M-38] start, model, first chunk once, tools, finished, with increasing times", async () => {
    const clock = fakeClock();
    const { agent, options } = scriptedAgent({
      clock,
      script: [
        [delay(10), say("Let me "), delay(10), say("look."), call("work", { name: "a" })],
        [delay(10), say("Done")],
      ],
      tools: { work: taking(clock, 100) },
    });
    const actions: ActionRecord[] = [];
    const started = clock.now();
    const running = runAgent(agent, "Go", { ...options, onAction: (action) => actions.push(action) });
    await clock.advance(1_000);
    await running;
    expect(actions.map(({ action, timestamp }) => [action, timestamp - started])).toEqual([
      ["start", 0],
      ["calling-model", 0],
      ["first-chunk", 10],
      ["calling-tools", 20],
      ["calling-model", 120],
      ["finished", 130],
    ]);
    expect(new Set(actions.map(({ runId }) => runId)).size).toBe(1);
  });

  it("[M-38] a run that says nothing before its tools has its first chunk where its first answer ends", async () => {
    const { agent, options } = scriptedAgent({ script: [calls(call("noop", {}), call("noop", {})), say("Done")] });
    const actions: string[] = [];
    await runAgent(agent, "Go", { ...options, onAction: ({ action }) => actions.push(action) });
    expect(actions.filter((action) => action === "first-chunk")).toHaveLength(1);
    expect(actions.indexOf("first-chunk")).toBeLessThan(actions.indexOf("calling-tools"));
    expect(actions.filter((action) => action === "calling-tools")).toHaveLength(1);
  });
});

describe("behind a server's onEvent", () => {
  it("[M-37] a step is what ran: with the input a person edited, from its approval on", async () => {
    const clock = fakeClock();
    const steps: StepRecord[] = [];
    const metrics: Metric[] = [];
    const run = agentRun({
      clock,
      script: [call("refund", { orderId: "1042", amount: 49.9 }), say("Done")],
      tools: { refund },
      server: { onEvent: observe({ onStep: (step) => steps.push(step), onMetric: (metric) => metrics.push(metric) }) },
    });
    const asked = await run.start();
    expect(steps).toEqual([]);
    await clock.advance(60_000);
    const input = { orderId: "1042", amount: 20 };
    await (await run.approve(asked.pending, { user: clerk, input })).settled();
    expect(steps).toMatchObject([
      {
        iteration: 0,
        toolName: "refund",
        toolArguments: JSON.stringify(input),
        toolResult: { refunded: 20 },
        durationMs: 0,
      },
    ]);
    expect(metrics.map(({ type }) => type)).toEqual(["llm", "tool", "tool", "llm", "run"]);
    expect(metrics.at(-1)).toMatchObject({ turns: 2, toolCalls: 1, ms: 60_000 });
  });

  it("[M-37] a denial is a step with the person's words", async () => {
    const steps: StepRecord[] = [];
    const run = agentRun({
      script: [call("refund", { orderId: "1042", amount: 49.9 }), say("Fine.")],
      tools: { refund },
      server: { onEvent: observe({ onStep: (step) => steps.push(step) }) },
    });
    const asked = await run.start();
    await (await run.deny(asked.pending, { user: clerk, reason: "wrong order" })).settled();
    expect(steps).toMatchObject([
      { isError: true, toolResult: "The tool was NOT run: denied by the person: wrong order", durationMs: 0 },
    ]);
  });

  it("a call that another server asked about is a step where it ran, read from the thread", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const [first, second]: StepRecord[][] = [[], []];
    const script = [call("refund", { orderId: "1042", amount: 49.9 })];
    const asking = agentRun({
      clock,
      script,
      tools: { refund },
      server: { store, onEvent: observe({ onStep: (step) => first?.push(step) }) },
    });
    const deciding = agentRun({
      clock,
      script: [say("Done")],
      tools: { refund },
      server: { store, onEvent: observe({ onStep: (step) => second?.push(step) }) },
    });
    const asked = await asking.start();
    await (await deciding.approve(asked.pending, { user: clerk })).settled();
    expect(first).toEqual([]);
    expect(second).toMatchObject([
      {
        iteration: -1,
        toolName: "refund",
        toolArguments: '{"orderId":"1042","amount":49.9}',
        toolResult: { refunded: 49.9 },
      },
    ]);
  });

  it("[M-39] each whole turn comes once, with calls, results and tokens; text says where it belongs", async () => {
    const turns: TurnRecord[] = [];
    const texts: unknown[] = [];
    const run = agentRun({
      script: [calls({ type: "reasoning", text: "Hm." }, say("On it."), call("look", {}), end), say("Done")],
      tools: { look: tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => "seen" }) },
      server: {
        onEvent: observe({
          onTurn: (turn) => turns.push(turn),
          onText: (text, { turn, attempt }) => texts.push([text, turn, attempt]),
        }),
      },
    });
    await run.start();
    expect(turns).toMatchObject([
      {
        turn: 1,
        text: "On it.",
        reasoning: "Hm.",
        usage: { inputTokens: 100, outputTokens: 50 },
        calls: [{ name: "look", args: {}, output: "seen", isError: false, status: "succeeded" }],
      },
      { turn: 2, text: "Done", calls: [] },
    ]);
    expect(turns[1]).not.toHaveProperty("reasoning");
    expect(texts).toEqual([
      ["On it.", 1, 1],
      ["Done", 2, 1],
    ]);
  });

  it("what watchers throw, or promise and break, reaches onError; the run and the other watchers go on", async () => {
    const errors: unknown[] = [];
    const steps: StepRecord[] = [];
    const run = agentRun({
      script: [call("look", {}), say("Done")],
      tools: { look: tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => "seen" }) },
      server: {
        onEvent: observe({
          onMetric: () => Promise.reject(new Error("metric")),
          onAction: () => {
            throw new Error("action");
          },
          onStep: (step) => steps.push(step),
          onError: (error) => errors.push((error as Error).message),
        }),
      },
    });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: "Done" });
    await quiet();
    expect(steps).toHaveLength(1);
    expect(new Set(errors)).toEqual(new Set(["metric", "action"]));
    expect(run.errors).toEqual([]);
  });
});

describe("a log", () => {
  const settled = { type: "call-settled", outcome: "succeeded", output: 1 } as const;
  const started = (runId: string, depth = 0): EventDraft => ({
    type: "run-started",
    runId,
    trigger: depth > 0 ? "call" : "message",
    depth,
    agentVersion: "1",
  });
  const ready = (runId: string, callId: string): EventDraft => ({
    type: "call-ready",
    runId,
    callId,
    turn: 1,
    tool: "look",
    input: {},
    ...{ toolHash: "h", salt: "s", digest: "d" },
  });
  const ended = (runId: string): EventDraft => ({
    type: "run-ended",
    runId,
    outcome: "completed",
    text: "",
    usage: {},
  });
  const turn = (runId: string): EventDraft => ({ type: "turn-started", runId, turn: 1, attempt: 1, model: "m" });
  const log = (...drafts: readonly EventDraft[]): readonly ThreadEvent[] =>
    drafts.map((draft, index) => sealEvent(draft, index + 1, 1_000 + index));

  it("of a sub-agent is watched too, and says whose run it is", () => {
    const steps: StepRecord[] = [];
    const metrics: Metric[] = [];
    const see = observe({ onStep: (step) => steps.push(step), onMetric: (metric) => metrics.push(metric) });
    const events = log(
      ...[started("r"), turn("r"), ready("r", "c1"), started("child", 1), turn("child"), ready("child", "c2")],
      ...[
        { ...settled, runId: "child", callId: "c2" },
        ended("child"),
        { ...settled, runId: "r", callId: "c1" },
        ended("r"),
      ],
    );
    for (const event of events) see(event);
    expect(steps.map(({ callId, runId }) => [callId, runId])).toEqual([
      ["c2", "child"],
      ["c1", undefined],
    ]);
    expect(steps[1]).not.toHaveProperty("runId");
    expect(metrics.filter(({ type }) => type === "run").map(({ runId }) => runId)).toEqual(["child", "r"]);
  });

  it("counts the first settlement of a call, and nothing of a run that is over", () => {
    const steps: StepRecord[] = [];
    const see = observe({ onStep: (step) => steps.push(step) });
    const twice = { ...settled, runId: "r", callId: "c1" };
    for (const event of log(started("r"), turn("r"), ready("r", "c1"), twice, twice, ended("r"), twice)) see(event);
    expect(steps).toHaveLength(1);
  });

  it("that never ends is forgotten once a thousand newer runs are watched", () => {
    const metrics: Metric[] = [];
    const see = observe({ onMetric: (metric) => metrics.push(metric) });
    const runs = Array.from({ length: 1_001 }, (_, index) => started(`r${index}`));
    for (const event of log(...runs, ended("r0"), ended("r1000"))) see(event);
    expect(metrics.map((metric) => [metric.runId, metric.type === "run" && metric.ms])).toEqual([
      ["r0", 0],
      ["r1000", 2],
    ]);
  });
});
