import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { TurnContext } from "../../src/agent/prepare-turn.ts";
import { tool } from "../../src/agent/tool.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import type { Model } from "../../src/model/model.ts";
import { ModelError } from "../../src/model/model.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ScriptEntry, ScriptedModel } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, fail, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import { sdkModel, toolCall, words } from "../scenarios/sdk-model.ts";
import type { EndpointOptions } from "../server/endpoint.ts";
import { clerk, endpoint } from "../server/endpoint.ts";
import { mortal } from "../server/mortal.ts";
import { told } from "./agent-run.ts";

const noop = tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => "ok" });
const busy = (retryAfterMs?: number) => fail(new ModelError("busy", { retryable: true, status: 503, retryAfterMs }));
const refused = fail(new ModelError("no such key", { retryable: false, status: 401 }));
const DEAD: readonly ScriptEntry[] = Array.from({ length: 20 }, () => busy());

type Options = Partial<AgentOptions<{ noop: typeof noop }>>;

/** A server whose agent has these models, named a, b, c. */
function withModels(
  scripts: readonly (readonly ScriptEntry[])[],
  options: Options = {},
  server: Partial<EndpointOptions> = {},
) {
  const clock: FakeClock = server.clock ?? fakeClock();
  const models = scripts.map((script, index) => scriptedModel(script, { id: "abc"[index], clock }));
  const agent = defineAgent({ model: models, tools: { noop }, ...options });
  const made = endpoint({ ...server, agent, clock });
  return {
    ...made,
    models: models as unknown as readonly [ScriptedModel, ScriptedModel], // as many as the test gives scripts
    /** Sends a message, and lets this many milliseconds pass. */
    async run(ms = 0) {
      const { threadId } = await made.send({ user: clerk, message: "Go" });
      await clock.advance(ms);
      return threadId;
    },
    async started(threadId: string) {
      return (await made.events(threadId)).flatMap((event) =>
        event.type === "turn-started" ? `${event.turn}.${event.attempt} ${event.model}` : [],
      );
    },
  };
}

const failures = (events: readonly ThreadEvent[]) =>
  events.flatMap((event) => (event.type === "attempt-failed" ? [event] : []));

describe("a list of models", () => {
  it("asks the first alone while it answers", async () => {
    const run = withModels([[call("noop", {}), say("Done.")], []]);
    const threadId = await run.run();
    expect(await run.started(threadId)).toEqual(["1.1 a", "2.1 a"]);
  });

  it("asks the next at once when the attempts of one are used up, each with its own", async () => {
    const run = withModels([DEAD, DEAD, [say("From c.")]]);
    const threadId = await run.run(1_500);
    expect(await run.started(threadId)).toEqual(["1.1 a", "1.2 a", "1.3 a", "1.4 b"]);
    await run.clock.advance(1_500);
    expect(await run.started(threadId)).toEqual(["1.1 a", "1.2 a", "1.3 a", "1.4 b", "1.5 b", "1.6 b", "1.7 c"]);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "From c." });
    const times = failures(await run.events(threadId)).map(({ at, retryAt = 0 }) => retryAt - at);
    expect(times).toEqual([500, 1_000, 0, 500, 1_000, 0]);
    expect(run.clock.armed).toBe(0);
  });

  it("fails the run when the attempts of the last are used up", async () => {
    const run = withModels([DEAD, DEAD], { modelAttempts: 2 });
    const threadId = await run.run(10_000);
    expect(await run.started(threadId)).toEqual(["1.1 a", "1.2 a", "1.3 b", "1.4 b"]);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "model-failed" });
  });

  it("does not wait for the next as long as the last one asked to", async () => {
    const run = withModels([[busy(60_000)], [say("From b.")]], { modelAttempts: 1 });
    const threadId = await run.run();
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ text: "From b." });
  });

  it("does not ask the next after a failure that another attempt would repeat", async () => {
    const run = withModels([[refused], [say("From b.")]]);
    const threadId = await run.run(10_000);
    expect(await run.started(threadId)).toEqual(["1.1 a"]);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "model-failed" });
  });

  it("asks the next after such a failure where modelRetry says that it is worth it", async () => {
    const run = withModels([[refused], [say("From b.")]], { modelAttempts: 1, modelRetry: () => true });
    const threadId = await run.run();
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ text: "From b." });
  });

  it("asks the next after one that is silent", async () => {
    const run = withModels([[delay(Number.POSITIVE_INFINITY)], [say("From b.")]], {
      modelAttempts: 1,
      modelSilenceMs: 5_000,
    });
    const threadId = await run.run(5_000);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ text: "From b." });
  });

  it("drops what the one before had written, calls included", async () => {
    const run = withModels([[calls(say("Half a"), call("noop", {}), busy())], [say("From b.")]], { modelAttempts: 1 });
    const threadId = await run.run();
    const [ended] = (await run.thread(threadId)).runs;
    expect(ended?.turn).toMatchObject({ model: "b", parts: [{ type: "text", text: "From b." }], calls: [] });
    expect(told(run.models[1].requests[0])).not.toContain("Half a");
  });

  it("stays with the one that answered for the rest of the run, and the next run begins with the first", async () => {
    const run = withModels(
      [
        [busy(), say("a again.")],
        [call("noop", {}), call("noop", {}), say("From b.")],
      ],
      { modelAttempts: 1 },
    );
    const threadId = await run.run();
    expect(await run.started(threadId)).toEqual(["1.1 a", "1.2 b", "2.1 b", "3.1 b"]);
    await run.send({ user: clerk, threadId, message: "And now?" });
    await run.clock.advance(0);
    expect((await run.started(threadId)).slice(4)).toEqual(["1.1 a"]);
    expect((await run.thread(threadId)).runs[1]?.text).toBe("a again.");
  });

  it("goes on behind the one that answered when that fails too, and never back", async () => {
    const run = withModels([[busy()], [call("noop", {}), busy()], [say("From c.")]], { modelAttempts: 1 });
    const threadId = await run.run();
    expect(await run.started(threadId)).toEqual(["1.1 a", "1.2 b", "2.1 b", "2.2 c"]);
  });

  it("tells two models of one name apart", async () => {
    const same = (script: readonly ScriptEntry[]) => scriptedModel(script, { id: "same" });
    const [first, second] = [same([busy()]), same([call("noop", {}), say("Done.")])];
    const run = withModels([], { model: [first, second], modelAttempts: 1 });
    const threadId = await run.run();
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
  });

  it("is gone on with by who takes over, at the same place", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = mortal(clock, store);
    const script = [[busy()], [call("noop", {}), delay(Number.POSITIVE_INFINITY)]];
    const dead = withModels(script, { modelAttempts: 1 }, { clock: first.clock, store: first.store });
    const alive = withModels([[say("From a.")], [say("From b.")]], { modelAttempts: 1 }, { clock, store });
    const { threadId } = await dead.send({ user: clerk, message: "Go" });
    await clock.advance(0);
    expect(await alive.started(threadId)).toEqual(["1.1 a", "1.2 b", "2.1 b"]);
    first.kill();
    await clock.advance(30_000);
    await alive.sweep();
    await clock.advance(0);
    expect(alive.models[0].requests).toEqual([]);
    expect((await alive.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "From b." });
  });

  it("takes at least one model and at most ten", () => {
    const model = scriptedModel([]);
    expect(() => defineAgent({ model: [] })).toThrow(/model lists 0 models; give 1 to 10/);
    expect(() => defineAgent({ model: Array.from({ length: 11 }, () => model) })).toThrow(/lists 11 models/);
    expect(() => defineAgent({ model: [model, "gpt-5" as unknown as Model] })).toThrow(/the text "gpt-5"/);
    expect(defineAgent({ model: Array.from({ length: 10 }, () => model) }).models).toHaveLength(10);
  });

  it("works in runAgent, whose result names the model that answered", async () => {
    const a = scriptedModel([busy()], { id: "a" });
    const b = scriptedModel([say("From b.")], { id: "b" });
    const agent = defineAgent({ model: [a, b], modelAttempts: 1 });
    expect(await runAgent(agent, "Go", { onError: () => undefined })).toMatchObject({ text: "From b.", model: "b" });
  });

  it.each([
    ["of another provider do not get", "two", undefined],
    ["of the same provider get", "one", { one: { signature: "s1" } }],
  ])("those %s what the first one's reasoning was signed with", async (_whose, provider, expected) => {
    const signed = { type: "reasoning-end", id: "r", providerMetadata: { one: { signature: "s1" } } };
    const thought = { type: "reasoning-delta", id: "r", delta: "Hm." };
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "busy" } };
    const first = sdkModel([[thought, signed, toolCall("1", "noop", "{}")], [overloaded]], "one");
    const second = sdkModel([[words("Done.")]], provider);
    const run = withModels([], { model: [first, second], modelAttempts: 1 });
    const threadId = await run.run();
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    const answer = second.calls[0]?.prompt.find(({ role }) => role === "assistant");
    const reasoning = Array.isArray(answer?.content) && answer.content.find(({ type }) => type === "reasoning");
    expect(reasoning ? reasoning.providerOptions : undefined).toEqual(expected);
    expect(JSON.stringify(second.calls[0]?.prompt)).toContain("noop");
  });
});

describe("prepareTurn and a list of models", () => {
  it("is told which model is next, fallbacks included", async () => {
    const seen: string[] = [];
    const run = withModels([[busy()], [call("noop", {}), say("Done.")]], {
      modelAttempts: 1,
      prepareTurn: ({ turn, attempt, model }: TurnContext) => void seen.push(`${turn}.${attempt} ${model}`),
    });
    await run.run();
    expect(seen).toEqual(["1.1 a", "1.2 b", "2.1 b"]);
  });

  it("may give a list of its own, for its turn", async () => {
    const x = scriptedModel(DEAD, { id: "x" });
    const y = scriptedModel([call("noop", {})], { id: "y" });
    const run = withModels([[say("From a.")], []], {
      modelAttempts: 2,
      prepareTurn: ({ turn }: TurnContext) => (turn === 1 ? { model: [x, y] } : undefined),
    });
    const threadId = await run.run(500);
    expect(await run.started(threadId)).toEqual(["1.1 x", "1.2 x", "1.3 y", "2.1 a"]);
  });

  it("a single model of its own has no fallback", async () => {
    const x = scriptedModel(DEAD, { id: "x" });
    const run = withModels([[say("From a.")], []], { modelAttempts: 2, prepareTurn: () => ({ model: x }) });
    const threadId = await run.run(10_000);
    expect(await run.started(threadId)).toEqual(["1.1 x", "1.2 x"]);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "model-failed" });
  });

  it("one of the list that it chose for a turn is no fallback: the next turn asks the first", async () => {
    const run = withModels([[say("From a.")], [call("noop", {})]]);
    const [, b] = run.models;
    const chosen = withModels([[say("From a.")], []], {
      prepareTurn: ({ turn }: TurnContext) => (turn === 1 ? { model: b } : undefined),
    });
    const threadId = await chosen.run();
    expect(await chosen.started(threadId)).toEqual(["1.1 b", "2.1 a"]);
  });
});

describe("tokens of attempts that failed", () => {
  const usage = { inputTokens: 100, outputTokens: 5, cachedInputTokens: 40, reasoningTokens: 2 };

  it("count where the provider named them: with the error, or with an end that was none", async () => {
    const withError = fail(new ModelError("ended with an error", { retryable: true, usage }));
    const cutArguments = calls(
      { type: "call-start", id: "1", name: "noop" },
      { type: "call-input", id: "1", text: '{"a' },
      { type: "end", reason: "length", usage },
    );
    const run = withModels([[withError, cutArguments, calls(say("Done."), { type: "end", reason: "stop", usage })]]);
    const threadId = await run.run(1_500);
    expect(failures(await run.events(threadId)).map((event) => event.usage)).toEqual([usage, usage]);
    const view = await run.read({ user: clerk, threadId });
    expect(view?.usage).toEqual({ inputTokens: 300, outputTokens: 15, cachedInputTokens: 120, reasoningTokens: 6 });
    expect((await run.events(threadId)).at(-1)).toMatchObject({ type: "run-ended", usage: view?.usage });
  });

  it("count against the limit of tokens", async () => {
    const costly = fail(new ModelError("x", { retryable: true, usage: { inputTokens: 1_000 } }));
    const run = withModels([[costly, call("noop", {}), say("Too much.")]], { limits: { tokens: 500 } });
    const threadId = await run.run(500);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "limited", limit: "tokens" });
  });

  it("are those of numbers only", async () => {
    const odd = { inputTokens: Number.NaN, outputTokens: -3, reasoningTokens: 4 };
    const run = withModels([[fail(new ModelError("x", { retryable: false, usage: odd }))]]);
    const threadId = await run.run();
    expect(failures(await run.events(threadId))[0]?.usage).toEqual({ reasoningTokens: 4 });
  });

  it("stay out where nobody named any", async () => {
    const run = withModels([[busy(), say("Done.")]]);
    const threadId = await run.run(500);
    expect(failures(await run.events(threadId))[0]).not.toHaveProperty("usage");
  });
});
