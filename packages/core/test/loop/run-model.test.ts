import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { ModelPart } from "../../src/model/model.ts";
import { ModelError } from "../../src/model/model.ts";
import type { ScriptedPart } from "../../src/testing/scripted-model.ts";
import { call, calls, cut, delay, fail, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk, endpoint } from "../server/endpoint.ts";
import { agentRun, lastResults, told } from "./agent-run.ts";

const PROVIDER_TEXT = "org-4711 has no credit";

function failure(status: number | undefined, retryable: boolean, retryAfterMs?: number): ModelError {
  return new ModelError(PROVIDER_TEXT, { status, retryable, retryAfterMs });
}

const noop = tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => "ok" });

describe("a model attempt that fails", () => {
  const once = (...turn: readonly ScriptedPart[]) =>
    agentRun({ script: [calls(...turn), say("Hello again")], tools: { noop }, modelSilenceMs: 10_000 });

  it.each([
    ["a 500", [fail(failure(500, true))], 500],
    ["a 429 without a time", [fail(failure(429, true))], 500],
    ["a 429 with a Retry-After of 7 seconds", [fail(failure(429, true, 7_000))], 7_000],
    ["a Retry-After of 0", [fail(failure(429, true, 0))], 500],
    ["an error that is none of ours", [fail(new TypeError("fetch failed"))], 500],
    ["a stream that breaks off in a text", [say("Half a sent"), fail("socket closed")], 500],
    ["a stream without an end", [say("Half a sent"), cut()], 500],
    [
      "an answer that ends inside the arguments of a call",
      [
        { type: "call-start", id: "1", name: "noop" },
        { type: "call-input", id: "1", text: '{"a' },
        { type: "end", reason: "length" },
      ],
      500,
    ],
    ["an empty stream", [cut()], 500],
  ] as const)("%s: it is tried again after a while, and its text is dropped", async (_title, turn, wait) => {
    const run = once(...turn);
    const threadId = await run.begin();
    await run.clock.advance(wait - 1);
    expect(run.model.requests).toHaveLength(1);
    await run.clock.advance(1);
    expect(run.model.requests).toHaveLength(2);
    const [ended] = (await run.thread(threadId)).runs;
    expect(ended).toMatchObject({ outcome: "completed", text: "Hello again" });
    expect(ended?.turn?.parts).toEqual([{ type: "text", text: "Hello again" }]);
    expect(ended?.turn?.calls).toEqual([]);
    expect(run.clock.armed).toBe(0);
  });

  it.each([
    ["before its first part", [delay(Number.POSITIVE_INFINITY)]],
    ["between two parts", [say("Half"), delay(Number.POSITIVE_INFINITY)]],
  ] as const)("is silent %s: the attempt ends and its signal is aborted", async (_title, turn) => {
    const run = once(...turn);
    const threadId = await run.begin();
    await run.clock.advance(10_000);
    const failed = (await run.events(threadId)).find(({ type }) => type === "attempt-failed");
    expect(failed).toMatchObject({ error: { code: "model-timed-out" } });
    await run.clock.advance(500);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed" });
    expect(run.clock.armed).toBe(0);
  });

  it("speaks again before it was silent too long: nothing is lost", async () => {
    const run = once(say("One "), delay(9_999), say("two "), delay(9_999), say("three"));
    await run.begin();
    await run.clock.advance(30_000);
    const [row] = (await run.list({ user: clerk })).rows;
    expect((await run.thread(row?.id ?? "")).runs[0]?.text).toBe("One two three");
    expect(run.model.requests).toHaveLength(1);
  });

  it("ignores its signal and speaks later: nothing of it reaches the log", async () => {
    const clock = fakeClock();
    let speak: () => void = () => undefined;
    let answers = 0;
    const model = {
      async *stream(): AsyncGenerator<ModelPart> {
        answers++;
        if (answers === 1) await new Promise<void>((resolve) => (speak = resolve));
        yield { type: "text", text: `answer ${answers}` };
        yield { type: "end", reason: "stop" };
      },
    };
    const server = endpoint({ agent: defineAgent({ model, modelSilenceMs: 1_000 }), clock });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(2_000);
    const before = await server.events(threadId);
    speak();
    await clock.advance(2_000);
    expect(await server.events(threadId)).toEqual(before);
    expect((await server.thread(threadId)).runs[0]?.text).toBe("answer 2");
  });

  it("waits half a second, then a second, and fails the run after three attempts", async () => {
    const run = agentRun({ script: [fail(failure(500, true)), fail(failure(503, true)), fail(failure(529, true))] });
    const threadId = await run.begin();
    await run.clock.advance(500);
    expect(run.model.requests).toHaveLength(2);
    await run.clock.advance(999);
    expect(run.model.requests).toHaveLength(2);
    await run.clock.advance(1);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "model-failed" });
  });

  it("with a 400 is not tried again", async () => {
    const run = agentRun({ script: [fail(failure(400, false))] });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "failed", code: "model-failed" });
    expect(run.model.requests).toHaveLength(1);
  });

  it("leaves the provider's words on the server", async () => {
    const run = agentRun({ script: [fail(failure(400, false))] });
    const thread = await run.start();
    expect(JSON.stringify(await run.events(thread.id))).not.toContain(PROVIDER_TEXT);
    expect(String(run.errors[0])).toContain(PROVIDER_TEXT);
  });

  it("after a tool ran does not run the tool again", async () => {
    let count = 0;
    const act = tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => ++count });
    const run = agentRun({ script: [call("act", {}), fail("busy"), say("Done.")], tools: { act } });
    const threadId = await run.begin();
    await run.clock.advance(500);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect(count).toBe(1);
  });

  it("and fails the run after turns that worked keeps their calls", async () => {
    const run = agentRun({ script: [call("noop", {}), fail(failure(400, false))], tools: { noop } });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "succeeded" });
    expect(thread.outcome).toBe("failed");
  });

  it("with calls half written asks nobody about them", async () => {
    const act = tool({ description: "x", inputSchema: z.object({}), execute: () => "ok" });
    const run = agentRun({ script: [calls(call("act", {}), cut()), say("Done.")], tools: { act } });
    const threadId = await run.begin();
    await run.clock.advance(500);
    const types = (await run.events(threadId)).map(({ type }) => type);
    expect(types).not.toContain("decision-requested");
    expect(types).not.toContain("call-ready");
  });
});

describe("a call the model got wrong", () => {
  const inputSchema = z.object({ orderId: z.string(), amount: z.number().positive() });
  const refund = tool({ description: "Refund.", inputSchema, execute: () => "ok" });

  it.each([
    ["names no tool there is", { name: "ghost", input: "{}" }, "unknown-tool", "There is no tool named ghost."],
    ["has no name", { name: "", input: "{}" }, "unknown-tool", "There is no tool named"],
    ["is named as a property every object has", { name: "constructor", input: "{}" }, "unknown-tool", "constructor"],
    ["is not JSON", { name: "refund", input: '{"orderId":' }, "invalid-input", "not valid JSON"],
    ["is JSON and no object", { name: "refund", input: "[]" }, "invalid-input", "do not fit refund"],
    ["lacks a field", { name: "refund", input: '{"orderId":"1"}' }, "invalid-input", "amount"],
    ["has a field of another type", { name: "refund", input: '{"orderId":1,"amount":2}' }, "invalid-input", "orderId"],
    ["has no arguments at all", { name: "refund", input: "" }, "invalid-input", "orderId"],
    ["is longer than allowed", { name: "refund", input: `"${"x".repeat(262_144)}"` }, "invalid-input", "longer than"],
  ] as const)("and that %s: nobody is asked, it is not run, the model is told", async (_title, wrong, code, words) => {
    const run = agentRun({
      script: [{ type: "call", id: "1", ...wrong }, say("Sorry.")],
      tools: { refund },
      policy: () => {
        throw new Error("the policy is not asked");
      },
    });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "failed", error: { code } });
    expect(thread).toMatchObject({ outcome: "completed", text: "Sorry." });
    expect(String(lastResults(run.model.requests[1])[0])).toContain(words);
    expect(run.errors).toEqual([]);
  });

  it("fails alone: its sibling runs", async () => {
    const run = agentRun({
      script: [calls(call("noop", {}), call("ghost", {})), say("Done.")],
      tools: { noop },
    });
    const thread = await run.start();
    expect(thread.steps.map(({ status }) => status)).toEqual(["succeeded", "failed"]);
  });

  it("the same provider id twice in one answer is one call, in two answers it is two", async () => {
    const twice = { type: "call", id: "call_0", name: "noop", input: "{}" } as const;
    const run = agentRun({ script: [calls(twice, twice), twice, say("Done.")], tools: { noop } });
    const thread = await run.start();
    expect(thread.steps).toHaveLength(2);
    expect(new Set(thread.steps.map(({ id }) => id)).size).toBe(2);
  });

  it("defaults the model never wrote are shown, digested and run", async () => {
    const inputs: unknown[] = [];
    const importOrders = tool({
      description: "Import.",
      inputSchema: z.object({ url: z.string(), dryRun: z.boolean().default(true) }),
      readOnly: true,
      execute: (input) => {
        inputs.push(input);
      },
    });
    const run = agentRun({ script: [call("importOrders", { url: "u" }), say("Done.")], tools: { importOrders } });
    const thread = await run.start();
    expect(inputs).toEqual([{ url: "u", dryRun: true }]);
    expect(thread.steps[0]?.input).toEqual({ url: "u", dryRun: true });
  });
});

describe("limits", () => {
  const endless = (count: number, more: Partial<Parameters<typeof agentRun>[0]> = {}) =>
    agentRun({ script: Array.from({ length: count }, () => call("noop", {})), tools: { noop }, ...more });

  it("10 turns are 10 model calls, the last one without tools and with a note", async () => {
    const run = agentRun({
      script: [...Array.from({ length: 9 }, () => call("noop", {})), say("All I found.")],
      tools: { noop },
      limits: { repeats: false },
    });
    const thread = await run.start();
    expect(run.model.requests).toHaveLength(10);
    expect(run.model.requests.map(({ tools }) => tools.length)).toEqual([...Array.from({ length: 9 }, () => 1), 0]);
    expect(told(run.model.requests[9])).toContain("No more tools can be used in this run.");
    expect(told(run.model.requests[8])).not.toContain("No more tools can be used in this run.");
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns", text: "All I found." });
    expect(thread.steps).toHaveLength(9);
  });

  it("a call the model makes in the last answer is dropped, and its text is no answer", async () => {
    const run = agentRun({
      script: [call("noop", {}), calls(say("Let me look."), call("noop", {}))],
      tools: { noop },
      limits: { turns: 2 },
    });
    const thread = await run.start();
    expect(run.model.requests).toHaveLength(2);
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns", text: "" });
    expect(thread.steps).toHaveLength(1);
  });

  it("one turn is one tool-less answer", async () => {
    const run = agentRun({ script: [say("Hello")], tools: { noop }, limits: { turns: 1 } });
    const thread = await run.start();
    expect(run.model.requests.map(({ tools }) => tools)).toEqual([[]]);
    expect(thread).toMatchObject({ outcome: "limited", text: "Hello" });
  });

  it.each([1, 3])("with onLimit stop, %i turns are as many model calls, all with tools and all run", async (turns) => {
    const run = endless(9, { limits: { turns }, onLimit: "stop" });
    const thread = await run.start();
    expect(run.model.requests).toHaveLength(turns);
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns", text: "" });
    expect(thread.steps.map(({ status }) => status)).toEqual(Array.from({ length: turns }, () => "succeeded"));
  });

  it("the limit of calls is followed by a last answer", async () => {
    const run = agentRun({
      script: [call("noop", {}), call("noop", {}), say("That is all.")],
      tools: { noop },
      limits: { calls: 2 },
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "calls", text: "That is all." });
    expect(run.model.requests.at(-1)?.tools).toEqual([]);
  });

  it("calls of one answer beyond the limit are not run, and nobody is asked about them", async () => {
    let count = 0;
    const act = tool({ description: "x", inputSchema: z.object({}), approval: "allow", execute: () => ++count });
    const run = agentRun({
      script: [calls(...Array.from({ length: 5 }, () => call("act", {}))), say("That is all.")],
      tools: { act },
      limits: { calls: 2 },
    });
    const thread = await run.start();
    expect(count).toBe(2);
    expect(thread.steps.map(({ status }) => status)).toEqual([
      "succeeded",
      "succeeded",
      "not-run",
      "not-run",
      "not-run",
    ]);
    expect(thread).toMatchObject({ outcome: "limited", limit: "calls" });
    expect(String(lastResults(run.model.requests.at(-1))[2])).toContain("may not make more calls");
  });

  it("active time over while the model answers ends the run with what there is", async () => {
    const run = agentRun({
      script: [calls(say("Half a sent"), delay(Number.POSITIVE_INFINITY))],
      limits: { timeMs: 5_000 },
    });
    const threadId = await run.begin();
    await run.clock.advance(5_000);
    const [ended] = (await run.thread(threadId)).runs;
    expect(ended).toMatchObject({ outcome: "limited", limit: "time" });
    expect(ended?.turn?.parts).toEqual([{ type: "text", text: "Half a sent" }]);
  });

  it("time in which it waits for a person is not active time", async () => {
    const act = tool({ description: "x", inputSchema: z.object({}), execute: () => "ok" });
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act }, limits: { timeMs: 5_000 } });
    const asked = await run.start();
    await run.clock.advance(3_600_000);
    const [step] = asked.pending;
    if (!step) throw new Error("nothing asked");
    const ended = await (await run.approve(step, { user: clerk })).settled();
    expect(ended).toMatchObject({ outcome: "completed" });
  });

  it("each end says why, and its text is the final answer only", async () => {
    const run = agentRun({
      script: [calls(say("Let me search."), call("noop", {})), say("final answer")],
      tools: { noop },
    });
    expect((await run.start()).text).toBe("final answer");
  });
});

describe("usage", () => {
  it("adds up over the turns and keeps what nobody reported unreported", async () => {
    const usage = { inputTokens: 100, outputTokens: 50 };
    const run = agentRun({
      script: [
        calls(call("noop", {}), { type: "end", reason: "tools", usage }),
        calls(say("Done."), { type: "end", reason: "stop", usage }),
      ],
      tools: { noop },
    });
    expect((await run.start()).usage).toEqual({ inputTokens: 200, outputTokens: 100 });
  });
});

describe("an agent whose own code fails", () => {
  it.each([
    [
      "instructions throw",
      {
        instructions: () => {
          throw new Error("no tenant");
        },
      },
    ],
  ])("%s: the run ends failed, settled and with a reference on the server", async (_title, more) => {
    const run = agentRun({ script: [say("never")], ...more });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "failed", code: "hook-failed" });
    expect(run.errors).toHaveLength(1);
  });
});

describe("an observer", () => {
  it("that throws, or reports its error by throwing, changes nothing", async () => {
    const seen: string[] = [];
    const run = agentRun({
      script: [call("noop", {}), say("Done.")],
      tools: { noop },
      server: {
        onEvent: ({ type }) => {
          seen.push(type);
          throw new Error("an observer broke");
        },
        onError: () => {
          throw new Error("the reporter broke too");
        },
      },
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", text: "Done." });
    expect(seen).toEqual((await run.events(thread.id)).map(({ type }) => type));
  });
});
