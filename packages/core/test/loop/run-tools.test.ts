import { describe, expect, it } from "vitest";
import * as z from "zod";
import { DefiniteFailure, tool } from "../../src/agent/tool.ts";
import { EFFECT_UNKNOWN } from "../../src/model/call-result.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { clerk } from "../server/endpoint.ts";
import { agentRun, lastResults, told } from "./agent-run.ts";

const inputSchema = z.object({});

function readOnly(execute: Parameters<typeof tool<typeof inputSchema, unknown>>[0]["execute"], more: object = {}) {
  return tool({ description: "Does something.", inputSchema, readOnly: true, ...more, execute });
}

/** One call of one tool, then the answer. */
function oneCall(execute: Parameters<typeof readOnly>[0], more: object = {}) {
  return agentRun({ script: [call("act", {}), say("Done.")], tools: { act: readOnly(execute, more) } });
}

describe("a run without tools", () => {
  it("ends with the model's text", async () => {
    const run = agentRun({ script: [say("Hello world")] });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "completed", text: "Hello world", steps: [] });
    expect(run.model.requests).toHaveLength(1);
    expect(run.errors).toEqual([]);
  });

  it("leaves no timer behind", async () => {
    const run = agentRun({ script: [say("Hello world")] });
    await run.start();
    await run.clock.advance(0);
    expect(run.clock.armed).toBe(0);
  });
});

describe("calls of one turn", () => {
  it("are told to the model in call order and reported in the order of their end", async () => {
    const ends: Record<string, () => void> = {};
    const wait = (name: string) => readOnly(() => new Promise((resolve) => (ends[name] = () => resolve(name))));
    const run = agentRun({
      script: [calls(call("slow", {}), call("fast", {})), say("Done.")],
      tools: { slow: wait("slow"), fast: wait("fast") },
    });
    const threadId = await run.begin();
    ends.fast?.();
    await run.clock.advance(0);
    ends.slow?.();
    await run.clock.advance(0);
    const events = await run.events(threadId);
    const [slow, fast] = (await run.thread(threadId)).runs[0]?.turns[0]?.calls ?? [];
    const settled = events.flatMap((event) => (event.type === "call-settled" ? [event.callId] : []));
    expect(settled).toEqual([fast?.callId, slow?.callId]);
    expect(lastResults(run.model.requests[1])).toEqual(["slow", "fast"]);
  });

  it("[T24] start in the log before any of them runs", async () => {
    const seen: string[] = [];
    const act = readOnly(async (_input, { threadId }) => {
      seen.push(...(await run.events(threadId)).map(({ type }) => type));
    });
    const run = agentRun({ script: [calls(call("act", {}), call("act", {})), say("Done.")], tools: { act } });
    await run.start();
    expect(seen.filter((type) => type === "call-started")).toHaveLength(4);
  });
});

describe("a tool that fails", () => {
  it.each([
    ["throws an error", () => Promise.reject(new Error("No stock.")), "No stock."],
    [
      "throws before it returns a promise",
      () => {
        throw new Error("No stock.");
      },
      "No stock.",
    ],
    ["throws a text", () => Promise.reject("No stock."), "No stock."],
    ["throws an object", () => Promise.reject({ secret: "s3cret" }), "The tool failed."],
    ["throws nothing", () => Promise.reject(undefined), "The tool failed."],
  ])("%s: the step failed, the model is told, the run goes on", async (_title, execute, message) => {
    const run = oneCall(execute);
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "failed", error: { code: "tool-error", message } });
    expect(thread).toMatchObject({ outcome: "completed", text: "Done." });
    expect(told(run.model.requests[1])).toContain(message);
    expect(told(run.model.requests[1])).not.toContain("s3cret");
  });

  it("keeps the stack on the server", async () => {
    const run = oneCall(() => Promise.reject(new Error("No stock.")));
    const thread = await run.start();
    expect(run.errors).toHaveLength(1);
    expect(JSON.stringify(await run.events(thread.id))).not.toContain(".test.ts");
  });
});

describe("a tool that hangs", () => {
  it("is settled at its timeout, its signal is aborted and its late result is ignored", async () => {
    let signal: AbortSignal | undefined;
    let answer: (value: string) => void = () => undefined;
    const run = oneCall(
      (_input, context) => {
        signal = context.signal;
        return new Promise((resolve) => (answer = resolve));
      },
      { timeoutMs: 5_000, readOnly: false, approval: "allow" },
    );
    const threadId = await run.begin();
    await run.clock.advance(4_999);
    expect(signal?.aborted).toBe(false);
    await run.clock.advance(1);
    expect(signal?.aborted).toBe(true);
    const before = await run.thread(threadId);
    expect(before.runs[0]?.turns[0]?.calls[0]).toMatchObject({
      status: "failed",
      error: { code: "timed-out" },
      effect: "unknown",
    });
    expect(told(run.model.requests[1])).toContain(EFFECT_UNKNOWN);
    answer("late");
    await run.clock.advance(10_000);
    expect(await run.thread(threadId)).toEqual(before);
    expect(run.clock.armed).toBe(0);
  });

  it("and ignores its signal is left behind two seconds after a stop", async () => {
    const run = oneCall(() => new Promise(() => undefined));
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(1_999);
    expect((await run.thread(threadId)).active).toHaveLength(1);
    await run.clock.advance(1);
    const [ended] = (await run.thread(threadId)).runs;
    expect(ended).toMatchObject({ outcome: "stopped" });
    expect(ended?.turn?.calls[0]).toMatchObject({ status: "failed", error: { code: "stopped" }, effect: "unknown" });
    expect(run.clock.armed).toBe(0);
  });

  it("and listens to its signal ends at once on a stop", async () => {
    const run = oneCall(
      (_input, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(0);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "stopped" });
    expect(run.model.requests).toHaveLength(1);
  });

  it("and finishes in spite of a stop keeps its result", async () => {
    let finish: (value: string) => void = () => undefined;
    const run = oneCall(() => new Promise((resolve) => (finish = resolve)));
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(500);
    finish("refunded");
    await run.clock.advance(0);
    const [ended] = (await run.thread(threadId)).runs;
    expect(ended?.turn?.calls[0]).toMatchObject({ status: "succeeded", output: "refunded" });
    expect(ended?.outcome).toBe("stopped");
  });
});

const cyclic: Record<string, unknown> = { name: "order" };
cyclic.self = cyclic;

describe("a tool that returns", () => {
  it.each<[string, () => unknown, unknown]>([
    ["nothing", () => undefined, null],
    ["a cyclic object", () => cyclic, { name: "order", self: "[circular]" }],
    ["a bigint", () => ({ total: 12n }), { total: "12" }],
    ["a function", () => () => 1, null],
    ["a date", () => new Date(0), "1970-01-01T00:00:00.000Z"],
    [
      "a value whose toJSON throws",
      () => ({
        toJSON: () => {
          throw new Error("no");
        },
      }),
      "[This result could not be read.]",
    ],
    [
      "a value whose getter throws",
      () => ({
        get total() {
          throw new Error("no");
        },
      }),
      { total: "[could not be read]" },
    ],
    ["a map", () => new Map([["a", 1]]), {}],
    ["not a number", () => Number.NaN, null],
  ])("%s: the step has it as JSON", async (_title, execute, output) => {
    const thread = await oneCall(execute).start();
    expect(thread.steps[0]).toMatchObject({ status: "succeeded", output });
    expect(thread.outcome).toBe("completed");
  });

  it("more than half a megabyte: it is cut and says so", async () => {
    const thread = await oneCall(() => "x".repeat(600_000)).start();
    const output = String(thread.steps[0]?.output);
    expect(output.length).toBeLessThan(525_000);
    expect(output).toContain("more characters]");
  });

  it("values one by one: each is the partial result, the last is the result", async () => {
    const seen: unknown[] = [];
    const run = oneCall(async function* () {
      yield "one";
      await run.clock.advance(100);
      yield "two";
    });
    const thread = await run.start();
    for (const event of await run.events(thread.id)) if (event.type === "call-progressed") seen.push(event.partial);
    expect(seen).toEqual(["one", "two"]);
    expect(thread.steps[0]).toMatchObject({ status: "succeeded", output: "two" });
  });

  it("values one by one and hangs between them: its timeout ends it", async () => {
    const run = oneCall(
      async function* () {
        yield "one";
        await new Promise(() => undefined);
      },
      { timeoutMs: 1_000 },
    );
    const threadId = await run.begin();
    await run.clock.advance(1_000);
    expect((await run.thread(threadId)).runs[0]?.turns[0]?.calls[0]).toMatchObject({ error: { code: "timed-out" } });
  });

  it("something its toModel cannot take: the effect stands and the model reads the output", async () => {
    const run = oneCall(() => ({ total: 1 }), {
      toModel: () => {
        throw new Error("toModel broke");
      },
    });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "succeeded", output: { total: 1 } });
    expect(lastResults(run.model.requests[1])).toEqual([{ total: 1 }]);
    expect(run.errors).toHaveLength(1);
  });
});

describe("progress", () => {
  it("reaches the log at most ten times a second, and nothing of it is lost", async () => {
    const run = oneCall(async (_input, { progress, log }) => {
      for (let step = 1; step <= 100; step++) {
        progress({ value: step, max: 100 });
        log(`line ${step}`);
        await run.clock.advance(10);
      }
    });
    const thread = await run.start();
    const reports = (await run.events(thread.id)).filter(({ type }) => type === "call-progressed");
    expect(reports.length).toBeLessThanOrEqual(12);
    expect(reports.length).toBeGreaterThanOrEqual(10);
    expect(thread.steps[0]?.log).toEqual(Array.from({ length: 100 }, (_, index) => `line ${index + 1}`));
    expect(thread.steps[0]?.progress).toMatchObject({ value: 100, max: 100 });
  });

  it("reported after the end of a call is ignored", async () => {
    let report: () => void = () => undefined;
    const run = oneCall((_input, { progress }) => {
      report = () => progress({ value: 1 });
    });
    const thread = await run.start();
    const before = await run.events(thread.id);
    report();
    await run.clock.advance(1_000);
    expect(await run.events(thread.id)).toEqual(before);
  });
});

describe("a tool that may be tried again", () => {
  const failing = (failures: number, more: object, error = () => new Error("Not yet.")) => {
    const keys: string[] = [];
    const run = oneCall((_input, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length <= failures) throw error();
      return "done";
    }, more);
    return { run, keys };
  };

  it("runs again after a failure, with the same key, after 500 ms and then a second: a lost reply is no failure", async () => {
    const { run, keys } = failing(2, { idempotent: true });
    const threadId = await run.begin();
    await run.clock.advance(499);
    expect(keys).toHaveLength(1);
    await run.clock.advance(1);
    expect(keys).toHaveLength(2);
    await run.clock.advance(1_000);
    expect((await run.thread(threadId)).runs[0]?.turns[0]?.calls[0]).toMatchObject({ status: "succeeded", attempt: 3 });
    expect(new Set(keys).size).toBe(1);
  });

  it("is not tried again after a final refusal", async () => {
    const { run, keys } = failing(9, { idempotent: true }, () => new DefiniteFailure("No.", { retry: false }));
    const threadId = await run.begin();
    await run.clock.advance(60_000);
    expect((await run.thread(threadId)).runs[0]?.turns[0]?.calls[0]).toMatchObject({ status: "failed", attempt: 1 });
    expect(keys).toHaveLength(1);
  });

  it("gets a new key after a definite failure", async () => {
    const { run, keys } = failing(2, { idempotent: true }, () => new DefiniteFailure("Refused by the bank."));
    await run.begin();
    await run.clock.advance(500);
    await run.clock.advance(1_000);
    expect(new Set(keys).size).toBe(3);
  });

  it("fails when its retries are used up", async () => {
    const { run, keys } = failing(9, { idempotent: true });
    const threadId = await run.begin();
    await run.clock.advance(60_000);
    expect((await run.thread(threadId)).runs[0]?.turns[0]?.calls[0]).toMatchObject({ status: "failed" });
    expect(keys).toHaveLength(3);
  });

  it("is tried again as often as maxRetries says, also where it is not idempotent: whoever sets it says so", async () => {
    const { run, keys } = failing(1, { maxRetries: 1 });
    await run.begin();
    await run.clock.advance(500);
    expect(keys).toHaveLength(2);
  });

  it("keeps its key after a timeout, because it may have had its effect", async () => {
    const keys: string[] = [];
    const run = oneCall(
      (_input, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        return keys.length === 1 ? new Promise(() => undefined) : "done";
      },
      { idempotent: true, timeoutMs: 1_000 },
    );
    await run.begin();
    await run.clock.advance(10_000);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it("is not tried again after a timeout where it is not idempotent", async () => {
    const keys: string[] = [];
    const run = oneCall(
      (_input, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        return new Promise(() => undefined);
      },
      { maxRetries: 3, timeoutMs: 1_000 },
    );
    await run.begin();
    await run.clock.advance(60_000);
    expect(keys).toHaveLength(1);
  });
});
