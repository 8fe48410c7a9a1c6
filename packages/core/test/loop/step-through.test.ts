import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { StepThrough, Yielded } from "../../src/loop/step-through.ts";
import { stepThrough } from "../../src/loop/step-through.ts";
import type { ModelMessage, ModelPart } from "../../src/model/model.ts";
import { ModelError } from "../../src/model/model.ts";
import { call, calls, delay, fail, say } from "../../src/testing/scripted-model.ts";
import { quiet } from "../fake-clock.ts";
import type { ScriptedAgentOptions } from "./scripted-agent.ts";
import { add, scriptedAgent } from "./scripted-agent.ts";

const refused = new ModelError("no such model", { retryable: false, status: 404 });
const end: ModelPart = { type: "end", reason: "tools", usage: { inputTokens: 100, outputTokens: 50 } };
const twoTurns = [call("add", { a: 1, b: 1 }), call("add", { a: 2, b: 2 }), say("Done")];

function driven(options: ScriptedAgentOptions) {
  const made = scriptedAgent(options);
  return { ...made, run: stepThrough(made.agent, "Go", made.options) };
}

/** The next turn; it fails where the run is over. */
async function turnOf(run: StepThrough): Promise<Yielded> {
  const step = await run.next();
  if (step.type !== "yielded") throw new Error(`It is ${step.type}.`);
  return step;
}

function user(text: string): ModelMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

describe("[M-32] a loop the caller drives", () => {
  it("[#107] case 1 of 9: it yields after each turn with tools, before the model is asked again", async () => {
    const { run, model } = driven({ script: twoTurns });
    const first = await turnOf(run);
    expect(first).toMatchObject({ turn: 1, calls: [{ name: "add", args: { a: 1, b: 1 } }], results: [{ output: 2 }] });
    expect(model.requests).toHaveLength(1);
    first.continue();
    const second = await turnOf(run);
    expect(second).toMatchObject({ turn: 2, results: [{ name: "add", output: 4, isError: false }] });
    expect(model.requests).toHaveLength(2);
    second.continue();
    const last = await run.next();
    expect(last).toMatchObject({ type: "completed", result: { status: "done", stopReason: "complete", text: "Done" } });
    expect(model.requests).toHaveLength(3);
  });

  it("[#107] case 2 of 9: without tools it is completed at once", async () => {
    const { run } = driven({ script: [say("Paris")] });
    expect(await run.next()).toMatchObject({ type: "completed", result: { text: "Paris", turnsCount: 1 } });
  });

  it("[#107] case 3 of 9: an injected message comes behind the results, and the model reads it next", async () => {
    const { run, model } = driven({ script: twoTurns });
    (await turnOf(run)).inject("In words, please.");
    await turnOf(run);
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(model.requests[1]?.messages.at(-1)).toEqual(user("In words, please."));
  });

  it("[#107] case 4 of 9: a stop with a reason is one model call, done by a stop condition", async () => {
    const { run, model } = driven({ script: [calls(say("Adding."), call("add", { a: 1, b: 1 })), say("never")] });
    (await turnOf(run)).stop("seen enough");
    const last = await run.next();
    expect(last).toMatchObject({
      type: "completed",
      result: { status: "done", stopReason: "stop-condition", reason: "seen enough", text: "Adding.", turnsCount: 1 },
    });
    expect(model.requests).toHaveLength(1);
  });

  it("[#107] case 5 of 9: continue, inject and stop, one after the other", async () => {
    const { run, model } = driven({ script: [...twoTurns.slice(0, 2), call("noop", {}), say("never")] });
    (await turnOf(run)).continue();
    (await turnOf(run)).inject(["One.", { text: "Two." }]);
    const third = await turnOf(run);
    expect(model.requests[2]?.messages.slice(-2)).toEqual([user("One."), user("Two.")]);
    third.stop();
    const last = await run.next();
    expect(last).toMatchObject({ type: "completed", result: { stopReason: "stop-condition", toolCallCount: 3 } });
    expect(last.type === "completed" && "reason" in last.result).toBe(false);
    expect(model.requests).toHaveLength(3);
  });

  it("[#107] case 6 of 9: after the end it is the same end again, and answers are ignored", async () => {
    const { run, model } = driven({ script: twoTurns });
    const first = await turnOf(run);
    first.continue();
    (await turnOf(run)).stop();
    const last = await run.next();
    first.continue();
    first.inject("Hello?");
    first.stop("late");
    expect(await run.next()).toBe(last);
    expect(await run.finish()).toBe(last.type === "completed" && last.result);
    expect(model.requests).toHaveLength(2);
  });

  it("[#107] case 7 of 9: an error stays an error", async () => {
    const { run, model } = driven({ script: [call("noop", {}), fail(refused)] });
    (await turnOf(run)).continue();
    const last = await run.next();
    expect(last).toMatchObject({
      type: "failed",
      error: { name: "ToolRunError", code: "model-failed", cause: refused },
      result: { status: "error", turnsCount: 1, toolCallCount: 1 },
    });
    expect(await run.next()).toBe(last);
    expect(model.requests).toHaveLength(2);
  });

  it("[#107] case 8 of 9: finish goes on to the result, from wherever it stands", async () => {
    const { run } = driven({ script: twoTurns });
    await turnOf(run);
    const result = await run.finish();
    expect(result).toMatchObject({ status: "done", text: "Done", turnsCount: 3, toolCallCount: 2 });
    expect(await driven({ script: twoTurns }).run.finish()).toMatchObject({ status: "done", toolCallCount: 2 });
  });

  it("[#107] case 9 of 9: the messages grow from one to three", async () => {
    const { run, model } = driven({ script: twoTurns, instructions: "Add." });
    const { messages } = await turnOf(run);
    expect(model.requests[0]?.messages.slice(1)).toEqual([user("Go")]);
    expect(messages).toEqual([
      user("Go"),
      { role: "assistant", parts: [{ type: "call", id: "call_1", name: "add", inputText: '{"a":1,"b":1}' }] },
      { role: "tool", results: [{ id: "call_1", name: "add", output: 2, isError: false }] },
    ]);
  });
});

describe("what a turn yields", () => {
  it("[#108] case 1 of 3: the text beside its calls", async () => {
    const { run } = driven({ script: [calls(say("Let me add."), call("add", { a: 1, b: 1 }), end), say("2")] });
    expect(await turnOf(run)).toMatchObject({ text: "Let me add.", usage: { inputTokens: 100, outputTokens: 50 } });
  });

  it("[#108] case 2 of 3: no text where there is none", async () => {
    expect((await turnOf(driven({ script: twoTurns }).run)).text).toBe("");
  });

  it("[#108] case 3 of 3: the events since the turn before, each once", async () => {
    const { run } = driven({ script: twoTurns });
    const first = await turnOf(run);
    const types = first.events.map(({ type }) => type);
    expect(types.slice(0, 4)).toEqual(["thread-created", "message-added", "run-started", "turn-started"]);
    expect(types.at(-1)).toBe("call-settled");
    first.continue();
    const second = await turnOf(run);
    expect(second.events.map(({ type }) => type)).toEqual([
      "run-resumed",
      "turn-started",
      "turn-ended",
      "call-ready",
      "call-judged",
      "call-started",
      "call-settled",
    ]);
    const numbers = [...first.events, ...second.events].map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  it("results of failed, unknown and refused calls, in call order", async () => {
    const broken = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      execute: () => Promise.reject(new Error("no connection")),
    });
    const { run } = driven({
      script: [calls(call("broken", {}), call("ghost", {}), call("add", { a: "x" })), say("Done")],
      tools: { broken },
      policy: () => undefined,
    });
    const { results } = await turnOf(run);
    expect(results.map(({ name, isError }) => [name, isError])).toEqual([
      ["broken", true],
      ["ghost", true],
      ["add", true],
    ]);
    expect(results[0]?.output).toBe("no connection");
  });

  it("a turn whose calls a rule refused all at once: the rule is asked once", async () => {
    let asked = 0;
    const { run, model } = driven({
      script: [call("noop", {}), say("Done")],
      policy: () => {
        asked++;
        return { deny: "Not today." };
      },
    });
    const turn = await turnOf(run);
    expect(turn.results).toMatchObject([{ isError: true, output: expect.stringContaining("Not today.") }]);
    turn.continue();
    expect(await run.next()).toMatchObject({ type: "completed", result: { text: "Done" } });
    expect(asked).toBe(1);
    expect(model.requests).toHaveLength(2);
  });
});

describe("[M-32] a turn takes one answer", () => {
  it("next without one is refused and says what to do; the turn still waits", async () => {
    const { run } = driven({ script: twoTurns });
    const turn = await turnOf(run);
    await expect(run.next()).rejects.toMatchObject({
      code: "bad-request",
      message: "Turn 1 waits for an answer: call continue(), inject(messages) or stop() on it.",
    });
    turn.continue();
    expect(await turnOf(run)).toMatchObject({ turn: 2 });
  });

  it("a second answer is refused", async () => {
    const { run } = driven({ script: twoTurns });
    const turn = await turnOf(run);
    turn.continue();
    expect(() => turn.stop()).toThrow("Turn 1 has its answer already.");
    const second = await turnOf(run);
    expect(() => turn.inject("Hello?")).toThrow("Turn 1 has its answer already.");
    expect(() => second.inject("")).toThrow("A message needs a text or a file.");
    second.continue();
    expect(await run.next()).toMatchObject({ type: "completed", result: { text: "Done" } });
  });

  it("two at once are refused", async () => {
    const { run } = driven({ script: twoTurns });
    const first = run.next();
    await expect(run.next()).rejects.toMatchObject({ code: "bad-request" });
    expect(await first).toMatchObject({ type: "yielded", turn: 1 });
  });
});

describe("[M-32] edited messages", () => {
  it("go out in the place of the history, from the next request on", async () => {
    const { run, model } = driven({
      script: [...twoTurns.slice(0, 2), call("noop", {}), say("Done")],
      instructions: "Add.",
    });
    const first = await turnOf(run);
    first.messages[0] = user("Add one and one");
    const [, , results] = first.messages;
    if (results?.role !== "tool") throw new Error("There are no results.");
    first.messages[2] = { ...results, results: results.results.map((each) => ({ ...each, output: "[cut]" })) };
    first.inject("And then?");
    const second = await turnOf(run);
    const sent = model.requests[1]?.messages ?? [];
    expect(sent[0]).toEqual({ role: "system", text: "Add." });
    expect(sent[1]).toEqual(user("Add one and one"));
    expect(sent[3]).toMatchObject({ role: "tool", results: [{ output: "[cut]" }] });
    expect(sent[4]).toEqual(user("And then?"));
    expect(second.messages).toEqual([...sent.slice(1), ...second.messages.slice(-2)]);
    second.continue();
    const third = await turnOf(run);
    expect(model.requests[2]?.messages.slice(0, 5)).toEqual(sent);
    third.messages.splice(1, 2); // the first call and its result
    third.continue();
    const last = await run.next();
    expect(model.requests[3]?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    if (last.type !== "completed") throw new Error(`It is ${last.type}.`);
    expect(last.result.messages.slice(0, -1)).toEqual(model.requests[3]?.messages);
    expect(last.result.toolCalls[0]).toMatchObject({ output: 2 });
  });

  it("a system message takes the place of the instructions for the rest of the run", async () => {
    const { run, model } = driven({ script: twoTurns, instructions: "Add." });
    const first = await turnOf(run);
    first.messages.unshift({ role: "system", text: "Be brief." });
    first.continue();
    const second = await turnOf(run);
    second.messages.pop();
    second.messages.pop();
    second.continue();
    await run.next();
    for (const { messages } of model.requests.slice(1)) {
      expect(messages.filter(({ role }) => role === "system")).toEqual([{ role: "system", text: "Be brief." }]);
    }
  });

  it.each<[string, (messages: ModelMessage[]) => void, string]>([
    ["a call without its result", (messages) => messages.pop(), "each call needs exactly one result"],
    ["a result without its call", (messages) => messages.splice(1, 1), "each call needs exactly one result"],
    ["nothing at all", (messages) => messages.splice(0), "at least one message has to be left"],
    ["a system message in the middle", (messages) => messages.push({ role: "system", text: "x" }), "only the first"],
    ["what is no message", (messages) => messages.push({ role: "tool" } as ModelMessage), "each call needs"],
  ])("with %s are refused, and the turn can be answered again", async (_title, edit, words) => {
    const { run, model } = driven({ script: twoTurns });
    const turn = await turnOf(run);
    const whole = [...turn.messages];
    edit(turn.messages);
    expect(() => turn.continue()).toThrow(
      expect.objectContaining({ code: "invalid-config", message: expect.stringContaining(words) }),
    );
    turn.messages.splice(0, turn.messages.length, ...whole);
    turn.continue();
    expect(await turnOf(run)).toMatchObject({ turn: 2 });
    expect(model.requests[1]?.messages).toEqual(whole);
  });

  it("come before what the agent's own settings do to a history: masked, and shown to its hook", async () => {
    const long = "long ".repeat(1_000);
    const seen: (readonly ModelMessage[])[] = [];
    const { run, model } = driven({
      script: [call("read", {}), call("add", { a: 1, b: 1 }), call("add", { a: 2, b: 2 }), say("Done")],
      tools: { add, read: tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => long }) },
      history: { mask: { olderThanTurns: 1, atLeastTokens: 100 } },
      hooks: {
        beforeModel: ({ messages, turn }) => {
          seen.push(messages);
          return turn === 3 ? { messages: [...messages, user("And be kind.")] } : undefined;
        },
      },
    });
    const first = await turnOf(run);
    first.messages[0] = user("Read it");
    first.continue();
    (await turnOf(run)).continue();
    const third = await turnOf(run);
    expect(seen.map(([message]) => message)).toEqual([user("Go"), user("Read it"), user("Read it")]);
    const sent = model.requests[2]?.messages ?? [];
    expect(sent[0]).toEqual(user("Read it"));
    expect(JSON.stringify(sent[2])).toContain("was left out to save room");
    expect(sent.at(-1)).toEqual(user("And be kind."));
    expect(JSON.stringify(third.messages[2])).toContain(long);
  });

  it("what is changed in a message reaches neither the log nor the result of the run", async () => {
    const { run, model } = driven({ script: twoTurns });
    const turn = await turnOf(run);
    const [first] = turn.messages;
    if (first?.role !== "user") throw new Error("It begins otherwise.");
    Object.assign(first.parts[0] ?? {}, { text: "changed" });
    turn.stop();
    const last = await run.next();
    expect(last).toMatchObject({ result: { messages: [user("Go"), { role: "assistant" }, { role: "tool" }] } });
    expect(model.requests[0]?.messages).toEqual([user("Go")]);
  });

  it("what is changed after the answer changes nothing", async () => {
    const { run, model } = driven({ script: twoTurns });
    const turn = await turnOf(run);
    const { messages } = turn;
    turn.continue();
    messages.length = 0;
    await turnOf(run);
    expect(model.requests[1]?.messages).toHaveLength(3);
  });
});

describe("with conditions and sub-agents", () => {
  it("a stop condition is asked once for each turn, and ends the run before its calls", async () => {
    const asked: number[] = [];
    const { run } = driven({
      script: twoTurns,
      stopWhen: ({ turn }) => {
        asked.push(turn);
        return turn === 2 && "two is enough";
      },
    });
    (await turnOf(run)).continue();
    const last = await run.next();
    expect(last).toMatchObject({ result: { stopReason: "stop-condition", reason: "two is enough", toolCallCount: 2 } });
    expect(asked).toEqual([1, 2]);
  });

  it("an answer that the gate sends back is a turn without calls", async () => {
    const { run } = driven({
      script: [say("Short."), say("Longer.")],
      gate: { check: ({ text }) => text === "Longer." || "Longer, please.", maxAttempts: 2 },
    });
    const turn = await turnOf(run);
    expect(turn).toMatchObject({ turn: 1, text: "Short.", calls: [], results: [] });
    turn.continue();
    expect(await run.next()).toMatchObject({ type: "completed", result: { text: "Longer." } });
  });

  it("the turns of a sub-agent are not yielded", async () => {
    const child = scriptedAgent({ script: [call("add", { a: 1, b: 1 }), call("add", { a: 2, b: 2 }), say("Four.")] });
    const { run } = driven({
      script: [call("research", { prompt: "?" }), say("Done")],
      tools: { research: agentTool({ agent: child.agent, description: "x" }) },
    });
    const turn = await turnOf(run);
    expect(turn).toMatchObject({ turn: 1, results: [{ name: "research", output: "Four." }] });
    turn.continue();
    expect(await run.next()).toMatchObject({ type: "completed", result: { turnsCount: 2 } });
  });
});

describe("other ends", () => {
  it("a step that needs a person: waiting, with the step, and again", async () => {
    const refund = tool({ description: "x", inputSchema: z.object({}), execute: () => "refunded" });
    const { run, model } = driven({ script: [call("refund", {})], tools: { refund } });
    const last = await run.next();
    expect(last).toMatchObject({
      type: "waiting",
      pending: [{ tool: "refund", status: "waiting" }],
      result: { status: "pending" },
    });
    expect(await run.next()).toBe(last);
    expect(model.requests).toHaveLength(1);
  });

  it("a first call that fails: failed, as a value", async () => {
    const { run } = driven({ script: [fail(refused)] });
    expect(await run.next()).toMatchObject({ type: "failed", error: { code: "model-failed" }, result: { turns: [] } });
  });

  it("[#94] case 3 of 3: driven by its caller, the limit of two is two model calls", async () => {
    const { run, model } = driven({ script: twoTurns, limits: { turns: 2 }, onLimit: "stop" });
    const result = await run.finish();
    expect(result).toMatchObject({ status: "incomplete", stopReason: "max-turns", limit: "turns", turnsCount: 2 });
    expect(model.requests).toHaveLength(2);
  });

  it("the last answer at a limit keeps its note after a turn was held before it", async () => {
    const { run, model } = driven({ script: [call("noop", {}), say("That is all.")], limits: { turns: 2 } });
    const turn = await turnOf(run);
    expect(turn.events.some(({ type }) => type === "limit-reached")).toBe(false);
    turn.continue();
    expect(await run.next()).toMatchObject({ result: { status: "incomplete", limit: "turns", text: "That is all." } });
    expect(model.requests[1]?.tools).toEqual([]);
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("No more tools");
  });

  it("[#103] case 4 of 4: driven by its caller, active time that is over starts nothing", async () => {
    const { agent, model, clock, options } = scriptedAgent({ script: [say("never")], limits: { timeMs: 1 } });
    let ticks = 0;
    const now = (): number => clock.now() + ++ticks;
    const run = stepThrough(agent, "Go", { ...options, clock: Object.assign(Object.create(clock), { now }) });
    expect(await run.next()).toMatchObject({ type: "completed", result: { stopReason: "timeout", turns: [] } });
    expect(model.requests).toEqual([]);
  });

  it("the time for which a caller thinks does not count", async () => {
    const { run, clock } = driven({ script: twoTurns, limits: { timeMs: 1_000 } });
    await clock.advance(3_600_000);
    const turn = await turnOf(run);
    await clock.advance(3_600_000);
    turn.inject("Still there?");
    expect(await turnOf(run)).toMatchObject({ turn: 2 });
    expect(clock.armed).toBe(0);
  });

  it("[M-30] a signal ends a turn that is under way, and one that waits for its answer", async () => {
    const made = scriptedAgent({ script: [call("noop", {}), [say("Half"), delay(Number.POSITIVE_INFINITY)]] });
    const stop = new AbortController();
    const run = stepThrough(made.agent, "Go", { ...made.options, signal: stop.signal });
    (await turnOf(run)).continue();
    const next = run.next();
    await quiet();
    stop.abort();
    expect(await next).toMatchObject({ type: "completed", result: { status: "aborted", turnsCount: 1 } });

    const again = scriptedAgent({ script: twoTurns });
    const held = new AbortController();
    const other = stepThrough(again.agent, "Go", { ...again.options, signal: held.signal });
    await turnOf(other);
    held.abort();
    expect(await other.next()).toMatchObject({ type: "completed", result: { status: "aborted", toolCallCount: 1 } });
    expect(again.model.requests).toHaveLength(1);
  });

  it("nothing happens before the first next", async () => {
    const made = scriptedAgent({ script: [say("Done")] });
    const types: string[] = [];
    const run = stepThrough(made.agent, "Go", { ...made.options, onEvent: ({ type }) => types.push(type) });
    await quiet();
    expect([types, made.model.requests]).toEqual([[], []]);
    await run.next();
    expect(types[0]).toBe("thread-created");
  });

  it("a turn that is tried again after a failure is not yielded twice", async () => {
    const { run, clock } = driven({ script: [call("noop", {}), fail("busy"), say("Done")] });
    (await turnOf(run)).continue();
    const next = run.next();
    await clock.advance(500);
    expect(await next).toMatchObject({ type: "completed", result: { text: "Done" } });
  });

  it("watchers see the run as if nobody had held it", async () => {
    const made = scriptedAgent({ script: twoTurns });
    const seen: string[] = [];
    const run = stepThrough(made.agent, "Go", {
      ...made.options,
      onStep: ({ iteration, toolResult }) => seen.push(`step ${iteration} ${toolResult}`),
      onText: (text) => seen.push(text),
      onTurns: (turns) => seen.push(`${turns.length} turns`),
      onMetric: ({ type }) => seen.push(type),
    });
    await run.finish();
    expect(seen).toEqual(["llm", "tool", "step 0 2", "llm", "tool", "step 1 4", "Done", "llm", "2 turns", "run"]);
  });
});
