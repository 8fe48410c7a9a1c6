import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { eventsOf, parseFrame } from "../../src/protocol/frame.ts";
import { createToolRun, defineAgent, memoryStore, tool } from "../../src/server.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { foldStream, framesOf, parseBlocks, readStream } from "../server/sse.ts";

const BASE = "https://shop.test/api/toolrun/threads";
const REFUND = { orderId: "1042", amount: 49.9 };

/** What the test runner leaves lying about in the sandbox. */
const NODE_GLOBALS = ["Buffer", "process", "global", "setImmediate", "clearImmediate", "require"];

beforeEach(() => {
  for (const name of NODE_GLOBALS) vi.stubGlobal(name, undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

function shop(script: readonly ScriptEntry[]) {
  const ran: unknown[] = [];
  const inputSchema = z.object({ orderId: z.string(), amount: z.number().positive() });
  const refund = tool({
    description: "Refund.",
    inputSchema,
    execute: (input, { progress }) => {
      progress({ value: 1, max: 2 });
      ran.push(input);
      return { refunded: input.amount };
    },
  });
  const hangs = tool({
    description: "Hang.",
    inputSchema: z.object({}),
    readOnly: true,
    timeoutMs: 20,
    execute: () => new Promise(() => undefined),
  });
  const model = scriptedModel(script);
  const agent = defineAgent({ model, tools: { refund, hangs } });
  const toolrun = createToolRun({ agent, store: memoryStore(), identify: () => ({ id: "clerk" }) });
  const post = (path: string, body: unknown): Promise<Response> =>
    toolrun.POST(
      new Request(BASE + path, {
        method: "POST",
        headers: { "content-type": "application/json", origin: "https://shop.test" },
        body: JSON.stringify(body),
      }),
    );
  const get = (path: string, signal?: AbortSignal): Promise<Response> =>
    toolrun.GET(new Request(BASE + path, signal ? { signal } : {}));
  /** Follows until the run waits or ends. */
  const follow = async (threadId: string) => foldStream(await (await get(`/${threadId}/events`)).text(), threadId);
  const begin = async (): Promise<string> => {
    const response = await post("", { message: { text: "Refund 1042" }, key: "k1" });
    expect(response.status).toBe(201);
    return (await response.json()).threadId;
  };
  const decide = async (threadId: string, decision: object): Promise<Response> => {
    const [waiting] = (await follow(threadId)).active[0]?.turn?.calls ?? [];
    const decisions = [{ callId: waiting?.callId, digest: waiting?.digest, ...decision }];
    return post(`/${threadId}/decisions`, { decisions, key: "k2" });
  };
  return { ran, model, toolrun, post, get, follow, begin, decide };
}

const SCRIPT = [call("refund", REFUND), say("Done.")];

describe("the main job where only web standards are", () => {
  it("is not run by Node with another name", () => {
    expect("any" in AbortSignal).toBe(false);
    expect(typeof Buffer).toBe("undefined");
    expect(typeof process).toBe("undefined");
    expect(typeof navigator).toBe("undefined");
    expect(() => new Function("return 1")()).toThrow(EvalError);
  });

  it("asks, and runs what was approved", async () => {
    const made = shop(SCRIPT);
    const threadId = await made.begin();
    expect((await made.follow(threadId)).active[0]?.status).toBe("waiting");
    expect(made.ran).toEqual([]);
    expect((await made.decide(threadId, { action: "approve" })).status).toBe(200);
    expect((await made.follow(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect(made.ran).toEqual([REFUND]);
  });

  it("runs an edited input and tells the model", async () => {
    const made = shop(SCRIPT);
    const threadId = await made.begin();
    await made.decide(threadId, { action: "approve", input: { ...REFUND, amount: 20 } });
    await made.follow(threadId);
    expect(made.ran).toEqual([{ ...REFUND, amount: 20 }]);
    expect(JSON.stringify(made.model.requests[1])).toContain("The person changed the input");
  });

  it("does not run what was denied and tells the model why", async () => {
    const made = shop(SCRIPT);
    const threadId = await made.begin();
    await made.decide(threadId, { action: "deny", reason: "wrong order" });
    const [run] = (await made.follow(threadId)).runs;
    expect(run?.turns[0]?.calls[0]).toMatchObject({ status: "not-run", reason: "denied" });
    expect(JSON.stringify(made.model.requests[1])).toContain("wrong order");
    expect(made.ran).toEqual([]);
  });

  it("ends on a stop while the model answers", async () => {
    const made = shop([calls(say("Once upon"), delay(Number.POSITIVE_INFINITY))]);
    const threadId = await made.begin();
    const reader = readStream(await made.get(`/${threadId}/events`));
    while (!reader.text.includes("Once")) await reader.next();
    const { runId } = (await (await made.get(`/${threadId}`)).json()).thread.active[0];
    expect((await made.post(`/${threadId}/stop`, { runId, key: "s" })).status).toBe(202);
    expect(foldStream(await reader.rest(), threadId).runs[0]).toMatchObject({ outcome: "stopped" });
  });

  it("streams a comment first, then ranges without a gap, and resumes behind any of them", async () => {
    const made = shop(SCRIPT);
    const threadId = await made.begin();
    await made.decide(threadId, { action: "approve" });
    const reader = readStream(await made.get(`/${threadId}/events`));
    expect(await reader.next()).toMatch(/^:/);
    const whole = await reader.rest();
    let covered = 0;
    for (const { from, to } of framesOf(parseBlocks(whole))) {
      expect(from).toBe(covered + 1);
      covered = to;
    }
    const rest = await (await made.get(`/${threadId}/events?after=${covered - 1}`)).text();
    const frame = parseFrame(parseBlocks(rest).at(-1)?.data ?? "");
    expect(frame && eventsOf(frame).map(({ type }) => type)).toEqual(["run-ended"]);
  });

  it("lets go of a reader that aborts", async () => {
    const made = shop([calls(say("Once upon"), delay(Number.POSITIVE_INFINITY))]);
    const threadId = await made.begin();
    const abort = new AbortController();
    const reader = readStream(await made.get(`/${threadId}/events`, abort.signal));
    await reader.next();
    abort.abort();
    await reader.rest();
    expect(reader.done).toBe(true);
    await made.toolrun.stop({ user: { id: "clerk" }, threadId });
  });

  it("ends a tool at its timeout", async () => {
    const made = shop([call("hangs", {}), say("It took too long.")]);
    const threadId = await made.begin();
    const [run] = (await made.follow(threadId)).runs;
    expect(run?.turns[0]?.calls[0]).toMatchObject({ status: "failed", error: { code: "timed-out" } });
    expect(run?.outcome).toBe("completed");
  });

  it("takes a platform it knows nothing about for production: without identify it answers 503 with the fix", async () => {
    const toolrun = createToolRun({ agent: defineAgent({ model: scriptedModel([]) }), store: memoryStore() });
    const response = await toolrun.GET(new Request(BASE));
    expect(response.status).toBe(503);
    expect((await response.json()).error.message).toContain("identify: async (request)");
  });

  it("answers bad input with a code", async () => {
    const made = shop(SCRIPT);
    const response = await made.post("", { message: { text: "" } });
    expect(response.status).toBe(400);
    expect((await response.json()).error).toMatchObject({ code: "bad-request" });
  });
});
