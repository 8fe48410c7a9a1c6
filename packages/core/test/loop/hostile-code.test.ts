import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { ModelError } from "../../src/model/model.ts";
import { digestCall } from "../../src/protocol/digest.ts";
import type { View } from "../../src/protocol/typed.ts";
import { createEngine } from "../../src/server/create-tool-run.ts";
import { createVerbs } from "../../src/server/verbs.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, delay, fail, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock, quiet } from "../fake-clock.ts";
import { clerk } from "../server/endpoint.ts";
import type { AgentRunOptions } from "./agent-run.ts";
import { agentRun, lastResults } from "./agent-run.ts";

const user = clerk;
const inputSchema = z.object({ orderId: z.string(), amount: z.number() });
const REFUND = { orderId: "1042", amount: 5 };
const never = new Promise<never>(() => undefined);

interface Refund {
  amount: number;
}

/** Changes the object it is given, as code does that counts in cents. */
function toCents(input: Refund): void {
  input.amount *= 100;
}

/** An agent that refunds; `ran` has the inputs as they were when the tool got them. */
function refundRun(options: Partial<AgentRunOptions>, more: object = {}, work: (input: Refund) => void = () => {}) {
  const ran: unknown[] = [];
  const refund = tool({
    description: "Refund.",
    inputSchema,
    ...more,
    execute: (input: Refund) => {
      ran.push({ ...input });
      work(input);
      return "refunded";
    },
  });
  const script = [call("refund", REFUND), say("Done.")];
  return { ran, run: agentRun({ script, ...options, tools: { refund, ...options.tools } }) };
}

/** One call of a tool that needs nobody, then the answer. */
function oneCall(execute: () => unknown, options: Partial<AgentRunOptions> = {}, more: object = {}) {
  const act = tool({ description: "x", inputSchema: z.looseObject({}), readOnly: true, ...more, execute });
  return agentRun({ script: [call("act", { a: 1 }), say("Done.")], ...options, tools: { act } });
}

function only(thread: View): View["pending"][number] {
  const [step, ...others] = thread.pending;
  if (!step || others.length > 0) throw new Error(`${thread.pending.length} steps wait`);
  return step;
}

/** What nobody caught while some work was done. */
async function uncaughtIn(work: () => Promise<void>): Promise<unknown[]> {
  const uncaught: unknown[] = [];
  const listener = (error: unknown): number => uncaught.push(error);
  process.on("unhandledRejection", listener);
  try {
    await work();
    await quiet();
  } finally {
    process.off("unhandledRejection", listener);
  }
  return uncaught;
}

describe("an input object that is changed", () => {
  it("by a tool that then throws is the approved one again at the next attempt", async () => {
    const { run, ran } = refundRun({}, { maxRetries: 1 }, (input) => {
      toCents(input);
      if (ran.length === 1) throw new Error("503");
    });
    const step = only(await run.start());
    const settling = await run.approve(step, { user });
    await run.clock.advance(500);
    expect((await settling.settled()).steps[0]).toMatchObject({ status: "succeeded", input: REFUND });
    expect(ran).toEqual([REFUND, REFUND]);
  });

  it("by a tool changes no grant: it covers what was approved and nothing else", async () => {
    const script = [call("refund", REFUND), call("refund", REFUND), call("refund", { ...REFUND, amount: 500 })];
    const { run, ran } = refundRun({ script }, {}, toCents);
    const next = await (await run.approve(only(await run.start()), { user, scope: "run" })).settled();
    expect(ran).toEqual([REFUND, REFUND]);
    expect(next.grants).toMatchObject([{ input: REFUND }]);
    expect(only(next).input).toEqual({ ...REFUND, amount: 500 });
  });

  const changing = (input: unknown): "ask" => {
    toCents(input as Refund);
    return "ask";
  };
  it.each<[string, Partial<AgentRunOptions>, object]>([
    ["a policy", { policy: ({ input }) => changing(input) }, {}],
    ["a tool's rule", {}, { approval: changing }],
    ["a summary", {}, { summary: changing }],
  ])("by %s is shown, digested, edited and run as it was", async (_title, options, more) => {
    const { run, ran } = refundRun(options, more);
    const step = only(await run.start());
    expect(step.input).toEqual(REFUND);
    const ready = (await run.events(step.threadId)).find((event) => event.type === "call-ready");
    if (!ready) throw new Error("no call");
    const { tool = "", toolHash = "", salt = "", input } = ready;
    expect(input).toEqual(REFUND);
    expect(digestCall({ tool, toolHash, input, salt })).toBe(step.digest);
    const edited = { ...REFUND, amount: 4 };
    const ended = await (await run.approve(step, { user, input: edited })).settled();
    expect(ended.steps[0]?.input).toEqual(edited);
    expect(ran).toEqual([edited]);
  });

  it("by a tool reaches no reader, fast or slow", async () => {
    const act = tool({
      description: "x",
      inputSchema: z.looseObject({}),
      readOnly: true,
      execute: (input: object) => void Object.assign(input, { token: "s3cret" }),
    });
    const run = agentRun({ script: [calls(delay(1_000), call("act", { a: 1 })), say("Done.")], tools: { act } });
    const threadId = await run.begin();
    const slow = await run.get(`/${threadId}/events`);
    const fast = run.get(`/${threadId}/events`).then((response) => response.text());
    await run.clock.advance(1_000);
    const snapshot = await (await run.get(`/${threadId}`)).text();
    for (const text of [await slow.text(), await fast, snapshot]) {
      expect(text).toContain('"succeeded"');
      expect(text).not.toContain("s3cret");
    }
  });
});

describe("what a tool gives", () => {
  const broken = (name: string) =>
    Object.defineProperty(new Error("x"), name, {
      get: () => {
        throw new Error("inner");
      },
    });
  const trap = () => {
    throw new Error("trap");
  };
  it.each<[string, unknown]>([
    ["an error whose message is an object", Object.assign(new Error(), { message: { code: 12 } })],
    ["an error whose message throws", broken("message")],
    ["an error whose name throws", broken("name")],
    ["a proxy that throws whatever is asked", new Proxy({}, { getPrototypeOf: trap, get: trap, has: trap })],
    ["null", null],
  ])("as %s is a failed step, and the run goes on", async (_title, thrown) => {
    const run = oneCall(() => {
      throw thrown;
    });
    const uncaught = await uncaughtIn(async () => {
      const thread = await run.start();
      expect(thread.steps[0]).toMatchObject({ status: "failed", error: { code: "tool-error" } });
      expect(typeof thread.steps[0]?.error?.message).toBe("string");
      expect(thread).toMatchObject({ outcome: "completed", text: "Done." });
    });
    expect(uncaught).toEqual([]);
  });

  it("has U+FFFD for half characters, and whole ones as they are", async () => {
    const run = oneCall(() => ({ cut: "a\ud83d", list: ["\ude00b", "😀", "\\ud83d"], "k\ud83d": 1 }));
    await run.start();
    expect(lastResults(run.model.requests[1])).toEqual([
      { cut: "a\ufffd", list: ["\ufffdb", "😀", "\\ud83d"], "k\ufffd": 1 },
    ]);
  });
});

describe("a rule or schema that never answers", () => {
  const six = { modify: { ...REFUND, amount: 6 } };
  const hangingOver5 = inputSchema.refine(({ amount }) => amount <= 5 || never);
  it.each<[string, Partial<AgentRunOptions>, object]>([
    ["a policy", { policy: () => never }, {}],
    ["a tool's rule", {}, { approval: () => never }],
    ["a schema for what a policy changed", { policy: () => six }, { inputSchema: hangingOver5 }],
  ])("%s: the call is not run after 10 seconds, and the run goes on", async (_title, options, more) => {
    const { run, ran } = refundRun(options, more);
    const threadId = await run.begin();
    await run.clock.advance(9_999);
    expect((await run.thread(threadId)).active).toHaveLength(1);
    await run.clock.advance(1);
    const thread = await run.read({ user, threadId });
    expect(thread).toMatchObject({ outcome: "completed", steps: [{ status: "not-run", reason: "blocked" }] });
    expect(String(lastResults(run.model.requests[1])[0])).toContain("did not answer in time");
    expect([ran, run.clock.armed]).toEqual([[], 0]);
  });

  it("a schema: the call is invalid after 10 seconds, and the run goes on", async () => {
    const run = oneCall(() => "ran", {}, { inputSchema: z.looseObject({}).refine(() => never) });
    const threadId = await run.begin();
    await run.clock.advance(9_999);
    expect(run.model.requests).toHaveLength(1);
    await run.clock.advance(1);
    const thread = await run.read({ user, threadId });
    expect(thread?.steps[0]).toMatchObject({ status: "failed", error: { code: "invalid-input" } });
    expect(thread?.outcome).toBe("completed");
  });
});

describe("an input that a policy puts in the model's place", () => {
  const policy = () => ({ modify: { ...REFUND, amount: 5_000 }, ask: {} });
  const summary = ({ amount }: Refund) => `Refund ${amount} EUR`;

  it("is not run where the tool's own rule denies it", async () => {
    const approval = ({ amount }: Refund) => (amount > 100 ? { deny: "Too much." } : "allow");
    const { run, ran } = refundRun({ policy }, { approval });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", steps: [{ status: "not-run", reason: "blocked" }] });
    expect(String(lastResults(run.model.requests[1])[0])).toContain("Too much.");
    expect(ran).toEqual([]);
  });

  it("is shown without the summary of what the model wrote, and so is what a person put there", async () => {
    const changed = only(await refundRun({ policy }, { summary }).run.start());
    expect([changed.input, changed.summary]).toEqual([{ ...REFUND, amount: 5_000 }, undefined]);
    const { run } = refundRun({}, { summary });
    const step = only(await run.start());
    expect(step.summary).toBe("Refund 5 EUR");
    const ended = await (await run.approve(step, { user, input: { ...REFUND, amount: 9 } })).settled();
    expect(ended.steps[0]?.summary).toBeUndefined();
  });
});

describe("a model", () => {
  it("that asks for more than 500 calls in one answer has failed this attempt, and nothing runs", async () => {
    const many = Array.from({ length: 501 }, (_, index) => ({ ...call("act", {}), id: `c${index}` }) as const);
    const run = oneCall(() => "ran", { script: [many, say("Sorry.")] });
    const threadId = await run.begin();
    expect((await run.thread(threadId)).active[0]?.turn).toMatchObject({ status: "failed", attempt: 1 });
    await run.clock.advance(500);
    expect(await run.read({ user, threadId })).toMatchObject({ outcome: "completed", text: "Sorry.", steps: [] });
  });

  it("that nests arguments 100,000 deep made an invalid call, and the run goes on", async () => {
    const input = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const run = oneCall(() => "ran", { script: [{ type: "call", id: "1", name: "act", input }, say("Done.")] });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "failed", error: { code: "invalid-input" } });
    expect([thread.outcome, run.errors]).toEqual(["completed", []]);
  });

  it("that wants to be asked after the time limit ends the run limited by time, at the limit", async () => {
    const later = fail(new ModelError("429", { retryable: true, status: 429, retryAfterMs: 3_600_000 }));
    const run = agentRun({ script: [later, say("late")], limits: { timeMs: 60_000 } });
    const threadId = await run.begin();
    await run.clock.advance(59_999);
    expect((await run.thread(threadId)).active).toHaveLength(1);
    await run.clock.advance(1);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "limited", limit: "time" });
    expect([run.model.requests.length, run.clock.armed]).toEqual([1, 0]);
  });
});

describe("a server whose own functions fail", () => {
  const broken = (): never => {
    throw new Error("outside a request");
  };
  const rejecting = (): Promise<never> => Promise.reject(new Error("no network"));

  it.each<[string, NonNullable<AgentRunOptions["server"]>]>([
    ["waitUntil throws", { waitUntil: broken }],
    ["onEvent rejects", { onEvent: rejecting }],
    ["onError rejects", { onError: rejecting }],
  ])("%s: the request is answered, the run goes on and nothing stays uncaught", async (_title, server) => {
    const run = oneCall(() => rejecting(), { server });
    const uncaught = await uncaughtIn(async () => {
      const response = await run.post("", { message: { text: "Go" }, key: "k" });
      expect(response.status).toBe(201);
      await run.clock.advance(0);
      const [row] = (await run.store.list(undefined)).rows;
      expect((await run.thread(row?.id ?? "")).runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    });
    expect(uncaught).toEqual([]);
  });

  it("an agent function throws for a run that began: the run ends failed, and a reader sees so", async () => {
    const clock = fakeClock();
    const errors: unknown[] = [];
    const made = defineAgent({ model: scriptedModel([say("Hi")], { clock }) });
    const seen: unknown[] = [];
    const options = {
      agent: () => (seen.length > 0 ? broken() : made),
      store: memoryStore({ clock }),
      onEvent: (event: unknown) => void seen.push(event),
      onError: (error: unknown) => void errors.push(error),
    };
    const runtime = { production: false, livesOn: true, waitUntil: undefined };
    const verbs = createVerbs(createEngine(options, runtime, { clock }));
    const ended = await (await verbs.send({ user, message: "Go" })).settled();
    expect(ended).toMatchObject({ status: "ended", outcome: "failed", code: "internal" });
    expect([errors.length, clock.armed]).toEqual([1, 0]);
  });
});
