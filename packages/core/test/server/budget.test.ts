import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk, endpoint } from "./endpoint.ts";
import { mortal } from "./mortal.ts";

const inputSchema = z.object({});
const quick = tool({ description: "x", inputSchema, readOnly: true, execute: () => "ok" });

describe("a request with a time limit", () => {
  it.each([10_000, 30_000, 60_000])("of %i ms runs an agent with all its defaults", async (maxRequestMs) => {
    const clock = fakeClock();
    const model = scriptedModel([call("quick", {}), delay(5), say("Done.")], { clock });
    const server = endpoint({ agent: defineAgent({ model, tools: { quick } }), clock, maxRequestMs });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(100);
    expect((await server.thread(threadId)).runs[0]?.outcome).toBe("completed");
  });

  it("starts a model call although a moment of it has passed", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const slow = {
      ...store,
      append: async (...args: Parameters<typeof store.append>) => {
        await new Promise<void>((resolve) => void clock.after(20, resolve));
        return store.append(...args);
      },
    };
    const model = scriptedModel([say("Done.")], { clock });
    const server = endpoint({ agent: defineAgent({ model }), clock, store: slow, maxRequestMs: 30_000 });
    const sending = server.send({ user: clerk, message: "Go" });
    await clock.advance(1_000);
    const { threadId } = await sending;
    expect((await server.thread(threadId)).runs[0]?.outcome).toBe("completed");
  });

  it("ends its event stream with a handover before the platform would cut it", async () => {
    const clock = fakeClock();
    const model = scriptedModel([delay(Number.POSITIVE_INFINITY)], { clock });
    const agent = defineAgent({ model, modelSilenceMs: 1_000_000 });
    const server = endpoint({ agent, clock, maxRequestMs: 30_000, wake: () => undefined });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    const response = await server.get(`/${threadId}/events`);
    const text = response.text();
    await clock.advance(28_499);
    await clock.advance(1);
    expect(await text).toMatch(/\nevent: handover\ndata: \{\}\n\n$/);
    expect(clock.armed).toBeLessThanOrEqual(3); // the driver's own: nothing of the stream is left
  });

  it("goes on by itself after a hand-over where the process lives on, also when it has to wait for its time", async () => {
    const clock = fakeClock();
    let tries = 0;
    const flaky = tool({
      description: "Fails once.",
      inputSchema: z.object({}),
      readOnly: true,
      maxRetries: 1,
      retry: { delayMs: 30_000, jitter: 0 },
      execute: () => {
        tries += 1;
        if (tries === 1) throw new Error("busy");
        return "done";
      },
    });
    const model = scriptedModel([call("flaky", {}), say("Done.")], { clock });
    const server = endpoint({ agent: defineAgent({ model, tools: { flaky } }), clock, maxRequestMs: 20_000 });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(29_000);
    expect((await server.thread(threadId)).driverId).toBeNull();
    await clock.advance(1_000);
    expect(await server.read({ user: clerk, threadId })).toMatchObject({ outcome: "completed", text: "Done." });
    expect(tries).toBe(2);
    expect(clock.armed).toBe(0);
  });

  it("refuses a tool that was given more time than it has, and says which", () => {
    const long = tool({ description: "x", inputSchema, timeoutMs: 29_000, execute: () => "ok" });
    const agent = defineAgent({ model: scriptedModel([]), tools: { long } });
    expect(() => endpoint({ agent, maxRequestMs: 30_000 })).toThrow(/maxRequestMs is 30000.*long.*29000/);
  });

  it("gives a tool without a time of its own no more than the request has", async () => {
    const clock = fakeClock();
    const hangs = tool({ description: "x", inputSchema, readOnly: true, execute: () => new Promise(() => undefined) });
    const model = scriptedModel([call("hangs", {}), say("Done.")], { clock });
    const server = endpoint({ agent: defineAgent({ model, tools: { hangs } }), clock, maxRequestMs: 30_000 });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(27_000);
    const calls = (await server.thread(threadId)).runs.concat((await server.thread(threadId)).active)[0];
    expect((calls?.turns[0] ?? calls?.turn)?.calls[0]).toMatchObject({
      status: "failed",
      error: { code: "timed-out" },
    });
  });

  it("[A13] hands over before what does not fit, asks to be woken, and the next one goes on", async () => {
    const clock = fakeClock();
    const counts = { first: 0, second: 0 };
    const takes = (name: keyof typeof counts) =>
      tool({
        description: "x",
        inputSchema,
        readOnly: true,
        timeoutMs: 20_000,
        execute: () => {
          counts[name]++;
          return new Promise<void>((resolve) => void clock.after(15_000, resolve));
        },
      });
    const model = scriptedModel([call("first", {}), call("second", {}), say("Done.")], { clock });
    const agent = defineAgent({
      model,
      tools: { first: takes("first"), second: takes("second") },
      modelSilenceMs: 1_000,
    });
    const woken: unknown[] = [];
    const server = endpoint({ agent, clock, maxRequestMs: 30_000, wake: (...call) => void woken.push(call) });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(15_000);
    expect((await server.events(threadId)).at(-1)?.type).toBe("run-handed-over");
    expect(woken).toEqual([[threadId, { dueAt: undefined }]]);
    expect(clock.armed).toBe(0);
    await server.sweep();
    await clock.advance(15_000);
    expect((await server.thread(threadId)).runs[0]?.outcome).toBe("completed");
    expect(counts).toEqual({ first: 1, second: 1 });
  });

  it.each([
    ["[A13] twice ends the run as too short", 100_000, 3, "request-too-short"],
    ["[A13] twice, without a limit, asks the model again", undefined, 3, undefined],
    ["[A13] three times, without a limit, is a model that fails", undefined, 4, "model-failed"],
  ])("%s: a request that cuts the model off", async (_title, maxRequestMs, requests, code) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const agent = defineAgent({ model: scriptedModel(() => delay(Number.POSITIVE_INFINITY), { clock }) });
    let threadId = "";
    for (let request = 0; request < requests; request++) {
      const life = mortal(clock, store);
      const server = endpoint({ agent, clock: life.clock, store: life.store, maxRequestMs });
      if (request === 0) threadId = (await server.send({ user: clerk, message: "Go" })).threadId;
      else await server.sweep();
      await clock.advance(0);
      life.kill();
      await clock.advance(31_000);
    }
    const { runs } = await endpoint({ agent, clock, store }).thread(threadId);
    expect(runs[0]?.code).toBe(code);
  });
});
