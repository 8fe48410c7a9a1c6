import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import { EFFECT_UNKNOWN, INPUT_CHANGED, NOT_RUN } from "../../src/model/call-result.ts";
import type { View } from "../../src/protocol/typed.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk, endpoint } from "../server/endpoint.ts";
import { mortal } from "../server/mortal.ts";
import type { AgentRunOptions } from "./agent-run.ts";
import { agentRun, lastResults, told } from "./agent-run.ts";

const inputSchema = z.object({ orderId: z.string(), amount: z.number().positive() });
const REFUND = { orderId: "1042", amount: 49.9 };
const user = clerk;

/** A tool that records what it ran with. */
function refunding(more: object = {}) {
  const ran: unknown[] = [];
  const refund = tool({
    description: "Refund.",
    inputSchema,
    ...more,
    execute: (input: unknown) => {
      ran.push(input);
      return "refunded";
    },
  });
  return { ran, refund };
}

function refundRun(options: Partial<AgentRunOptions> = {}, more: object = {}) {
  const { ran, refund } = refunding(more);
  const run = agentRun({ script: [call("refund", REFUND), say("Done.")], tools: { refund }, ...options });
  return { run, ran };
}

function only(thread: View): View["pending"][number] {
  const [step, ...others] = thread.pending;
  if (!step || others.length > 0) throw new Error(`${thread.pending.length} steps wait`);
  return step;
}

describe("what waits for a person", () => {
  it("is in the log before anybody sees it, and nothing ran", async () => {
    const { run, ran } = refundRun();
    const asked = await run.start();
    expect(asked.status).toBe("waiting");
    expect(only(asked)).toMatchObject({ tool: "refund", input: REFUND, ask: { kind: "approval", editable: true } });
    expect(ran).toEqual([]);
    const types = (await run.events(asked.id)).map(({ type }) => type);
    expect(types.indexOf("turn-ended")).toBeLessThan(types.indexOf("decision-requested"));
    expect(types.at(-1)).toBe("run-waiting");
    expect(run.clock.armed).toBe(0);
  });

  it("runs once it is approved, with the digest that was shown", async () => {
    const { run, ran } = refundRun();
    const step = only(await run.start());
    const ended = await (await run.approve(step, { user })).settled();
    expect(ended.outcome).toBe("completed");
    expect(ran).toEqual([REFUND]);
    const started = (await run.events(ended.id)).find(({ type }) => type === "call-started");
    expect(started).toMatchObject({ digest: step.digest });
    expect(ended.steps[0]?.decision).toMatchObject({ action: "approve", by: user, via: "code" });
  });

  it("that is denied is not run; the reason is in the model's next request, and so is that it was NOT run", async () => {
    const { run, ran } = refundRun();
    const step = only(await run.start());
    const ended = await (await run.deny(step, { user, reason: "wrong order" })).settled();
    expect(ran).toEqual([]);
    expect(ended.steps[0]).toMatchObject({ status: "not-run", reason: "denied" });
    expect(String(lastResults(run.model.requests[1])[0])).toMatch(new RegExp(`^${NOT_RUN}`));
    expect(told(run.model.requests[1])).toContain("wrong order");
    expect(ended.outcome).toBe("completed");
  });

  it("that is denied with stop ends the run without asking the model again", async () => {
    const { run } = refundRun();
    const ended = await (await run.deny(only(await run.start()), { user, stop: true })).settled();
    expect(ended).toMatchObject({ outcome: "stopped", code: "denied" });
    expect(run.model.requests).toHaveLength(1);
  });

  it("that is denied ends the run where onDenied is stop", async () => {
    const { run } = refundRun({ onDenied: "stop" });
    const ended = await (await run.deny(only(await run.start()), { user })).settled();
    expect(ended).toMatchObject({ outcome: "stopped", code: "denied" });
  });

  it("runs with the input a person put in its place, and the model is told so", async () => {
    const { run, ran } = refundRun();
    const edited = { orderId: "1042", amount: 20 };
    const ended = await (await run.approve(only(await run.start()), { user, input: edited })).settled();
    expect(ran).toEqual([edited]);
    expect(ended.steps[0]?.decision?.originalInput).toEqual(REFUND);
    expect(lastResults(run.model.requests[1])[0]).toEqual({
      note: INPUT_CHANGED.person,
      input: edited,
      output: "refunded",
    });
  });

  it("edited to what it was is no edit", async () => {
    const { run } = refundRun();
    const ended = await (await run.approve(only(await run.start()), { user, input: { ...REFUND } })).settled();
    expect(ended.steps[0]?.decision?.originalInput).toBeUndefined();
    expect(lastResults(run.model.requests[1])).toEqual(["refunded"]);
  });

  it("runs out, is recorded as expired and never as denied", async () => {
    const { run, ran } = refundRun({}, { approval: { ask: { expiresInMs: 1_000 } } });
    const step = only(await run.start());
    await run.clock.advance(1_000);
    await expect(run.approve(step, { user })).rejects.toMatchObject({ code: "expired" });
    await run.clock.advance(0);
    const [ended] = (await run.thread(step.threadId)).runs;
    expect(ended?.turns[0]?.calls[0]).toMatchObject({ status: "not-run", reason: "expired" });
    expect(told(run.model.requests[1])).toContain("nobody answered in time");
    expect(ran).toEqual([]);
  });

  it("[A14] runs out without anybody, once a sweep comes by", async () => {
    const { run } = refundRun({}, { approval: { ask: { expiresInMs: 1_000 } } });
    const step = only(await run.start());
    expect(await run.sweep()).toBe(0);
    await run.clock.advance(1_000);
    expect(await run.sweep()).toBe(1);
    await run.clock.advance(0);
    expect((await run.thread(step.threadId)).runs[0]).toMatchObject({ outcome: "completed" });
  });
});

describe("a deploy between the approval and the start", () => {
  const changed = async (second: object | undefined) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const old = refunding();
    const next = refunding(second);
    // The platform of the first server ends its work with the response: it writes the approval and starts nothing.
    const before = agentRun({
      script: [call("refund", REFUND)],
      tools: { refund: old.refund },
      clock,
      server: { store, livesOn: false },
    });
    const after = agentRun({
      script: [say("Done.")],
      tools: second ? { refund: next.refund } : {},
      clock,
      server: { store },
    });
    const { threadId } = await before.send({ user, message: "Go" });
    const reader = before.get(`/${threadId}/events`).then((response) => response.text());
    await clock.advance(0);
    await reader;
    const asked = await before.read({ user, threadId });
    if (!asked) throw new Error("no thread");
    await before.approve(only(asked), { user });
    await after.sweep();
    await clock.advance(0);
    const thread = await after.read({ user, threadId });
    return { step: thread?.steps[0], outcome: thread?.outcome, ran: [...old.ran, ...next.ran] };
  };

  it.each([
    ["made the tool destructive", { destructive: true }],
    ["took the tool away", undefined],
  ])("that %s: it is not run, and the run goes on", async (_title, second) => {
    const { step, outcome, ran } = await changed(second);
    expect(step).toMatchObject({ status: "not-run", reason: "blocked", effect: "none" });
    expect(ran).toEqual([]);
    expect(outcome).toBe("completed");
  });

  it("that changed its description only: it runs", async () => {
    const { ran, outcome } = await changed({ description: "Refund an order." });
    expect(ran).toEqual([REFUND]);
    expect(outcome).toBe("completed");
  });
});

describe("several calls of one turn", () => {
  const two = calls(call("refund", REFUND), call("refund", { orderId: "7", amount: 1 }));

  it("wait singly: an approved one runs at once, the model is asked when all are settled", async () => {
    const { run, ran } = refundRun({ script: [two, say("Done.")] });
    const asked = await run.start();
    const [first, second] = asked.pending;
    if (!first || !second) throw new Error("two should wait");
    const between = await (await run.approve(second, { user })).settled();
    expect(ran).toEqual([{ orderId: "7", amount: 1 }]);
    expect(between.status).toBe("waiting");
    expect(run.model.requests).toHaveLength(1);
    const ended = await (await run.approve(first, { user })).settled();
    expect(ended.outcome).toBe("completed");
    expect(ran).toHaveLength(2);
  });

  it("with holdTurn none runs before all are decided", async () => {
    const { run, ran } = refundRun({ script: [two, say("Done.")], holdTurn: true });
    const [first, second] = (await run.start()).pending;
    if (!first || !second) throw new Error("two should wait");
    await (await run.approve(second, { user })).settled();
    expect(ran).toEqual([]);
    await (await run.deny(first, { user })).settled();
    expect(ran).toEqual([{ orderId: "7", amount: 1 }]);
  });

  it("are decided together in one write", async () => {
    const { run, ran } = refundRun({ script: [two, say("Done.")] });
    const asked = await run.start();
    const ended = await (await run.approve(asked.pending, { user })).settled();
    expect(ended.outcome).toBe("completed");
    expect(ran).toHaveLength(2);
  });

  it("an allowed sibling of a waiting call runs once and keeps its result", async () => {
    let looked = 0;
    const look = tool({ description: "Look.", inputSchema: z.object({}), readOnly: true, execute: () => ++looked });
    const { refund, ran } = refunding();
    const run = agentRun({
      script: [calls(call("look", {}), call("refund", REFUND)), say("Done.")],
      tools: { look, refund },
    });
    const asked = await run.start();
    expect(asked.steps[0]).toMatchObject({ status: "succeeded", output: 1 });
    await (await run.approve(only(asked), { user })).settled();
    expect(looked).toBe(1);
    expect(lastResults(run.model.requests[1])).toEqual([1, "refunded"]);
    expect(ran).toHaveLength(1);
  });
});

describe("grants", () => {
  const again = [call("refund", REFUND), call("refund", REFUND), say("Done."), call("refund", REFUND), say("Done.")];

  it("of scope run allow the same input again in this run, and the step shows it", async () => {
    const { run, ran } = refundRun({ script: again });
    const ended = await (await run.approve(only(await run.start()), { user, scope: "run" })).settled();
    expect(ended.outcome).toBe("completed");
    expect(ran).toHaveLength(2);
    expect(ended.steps[1]?.grantId).toMatch(/^g-/);
    const next = await (await run.send({ user, threadId: ended.id, message: "Again" })).settled();
    expect(next.status).toBe("waiting");
    expect(next.grants).toEqual([]);
  });

  it("of scope thread allow it in later runs, until they are revoked", async () => {
    const script = [...again.slice(0, 1), say("Done."), ...again.slice(0, 1), say("Done."), ...again.slice(0, 1)];
    const { run, ran } = refundRun({ script }, { approval: { ask: { scopes: ["once", "thread"] } } });
    const first = await (await run.approve(only(await run.start()), { user, scope: "thread" })).settled();
    const second = await (await run.send({ user, threadId: first.id, message: "Again" })).settled();
    expect(second.outcome).toBe("completed");
    expect(ran).toHaveLength(2);
    const [grant] = second.grants;
    await run.revoke({ user, threadId: first.id, grantId: grant?.grantId ?? "" });
    const third = await (await run.send({ user, threadId: first.id, message: "Again" })).settled();
    expect(third.status).toBe("waiting");
    expect(ran).toHaveLength(2);
  });

  it("cover exactly one input", async () => {
    const { run } = refundRun({ script: [call("refund", REFUND), call("refund", { ...REFUND, amount: 50 })] });
    const next = await (await run.approve(only(await run.start()), { user, scope: "run" })).settled();
    expect(next.status).toBe("waiting");
  });

  it("cover the input as it was edited, not as the model wrote it", async () => {
    const { run } = refundRun({ script: [call("refund", REFUND), call("refund", REFUND)] });
    const input = { ...REFUND, amount: 20 };
    const next = await (await run.approve(only(await run.start()), { user, scope: "run", input })).settled();
    expect(next.status).toBe("waiting");
  });

  it("do not beat a policy that denies", async () => {
    let seen = 0;
    const policy = (): Verdict => (++seen > 1 ? { deny: "Closed." } : "ask");
    const { run, ran } = refundRun({ script: again, policy });
    const ended = await (await run.approve(only(await run.start()), { user, scope: "run" })).settled();
    expect(ran).toHaveLength(1);
    expect(ended.steps[1]).toMatchObject({ status: "not-run", reason: "blocked" });
  });

  it.each([
    ["thread, where only once and run are offered", {}, "thread"],
    ["run, where the tool is destructive", { destructive: true }, "run"],
  ] as const)("of scope %s are refused, and it still waits", async (_title, more, scope) => {
    const { run, ran } = refundRun({}, more);
    const step = only(await run.start());
    await expect(run.approve(step, { user, scope })).rejects.toMatchObject({ code: "bad-request" });
    expect(ran).toEqual([]);
    expect((await run.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
  });
});

describe("an edit", () => {
  const denyHigh = (call: { readonly input: unknown }): Verdict =>
    (call.input as typeof REFUND).amount > 100 ? { deny: "At most 100." } : "ask";

  it.each<[string, Partial<AgentRunOptions>, object, unknown, string]>([
    ["cannot escape a policy's deny", { policy: denyHigh }, {}, { ...REFUND, amount: 5_000 }, "forbidden"],
    [
      "cannot escape a rule of the tool",
      {},
      { approval: (input: typeof REFUND) => denyHigh({ input }) },
      { ...REFUND, amount: 5_000 },
      "forbidden",
    ],
    [
      "cannot escape what a policy would change",
      {
        policy: (call) => ((call.input as typeof REFUND).amount > 100 ? { modify: { ...REFUND, amount: 100 } } : "ask"),
      },
      {},
      { ...REFUND, amount: 5_000 },
      "forbidden",
    ],
    ["must fit the schema", {}, {}, { ...REFUND, amount: -1 }, "invalid-input"],
    ["is a full replacement", {}, {}, { amount: 1 }, "invalid-input"],
    [
      "is refused where nothing may be changed",
      {},
      { approval: { ask: { editable: false } } },
      { ...REFUND, amount: 1 },
      "invalid-input",
    ],
    [
      "is refused for a field that may not be changed",
      {},
      { approval: { ask: { editable: ["amount"] } } },
      { orderId: "7", amount: 1 },
      "invalid-input",
    ],
  ])("%s", async (_title, options, more, input, code) => {
    const { run, ran } = refundRun(options, more);
    const step = only(await run.start());
    const before = await run.events(step.threadId);
    await expect(run.approve(step, { user, input: input as never })).rejects.toMatchObject({ code });
    expect(await run.events(step.threadId)).toEqual(before);
    expect(ran).toEqual([]);
  });

  it("of a field that may be changed is taken", async () => {
    const { run, ran } = refundRun({}, { approval: { ask: { editable: ["amount"] } } });
    await (await run.approve(only(await run.start()), { user, input: { ...REFUND, amount: 1 } })).settled();
    expect(ran).toEqual([{ ...REFUND, amount: 1 }]);
  });

  it("that a policy would ask about again is taken: a person decided", async () => {
    const { run, ran } = refundRun({ policy: () => "ask" });
    await (await run.approve(only(await run.start()), { user, input: { ...REFUND, amount: 1 } })).settled();
    expect(ran).toHaveLength(1);
  });
});

describe("a policy", () => {
  it("that denies: the reason is the model's result, nobody is asked, the run goes on", async () => {
    const { run, ran } = refundRun({ policy: () => ({ deny: "not allowed" }) });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "not-run", reason: "blocked" });
    expect(String(lastResults(run.model.requests[1])[0])).toContain("not allowed");
    expect(thread.outcome).toBe("completed");
    expect(ran).toEqual([]);
  });

  it("that changes the input: the changed one runs and the model is told", async () => {
    const { run, ran } = refundRun({ policy: () => ({ modify: { orderId: "1042", amount: 10 } }) });
    await run.start();
    expect(ran).toEqual([{ orderId: "1042", amount: 10 }]);
    expect(lastResults(run.model.requests[1])[0]).toMatchObject({ note: INPUT_CHANGED.policy, input: { amount: 10 } });
  });

  it("that changes the input and asks: the changed one is shown, and runs when approved", async () => {
    const changing = (): Verdict => ({ modify: { orderId: "1042", amount: 10 }, ask: {} });
    const { run, ran } = refundRun({ policy: changing });
    const step = only(await run.start());
    expect(step.input).toEqual({ orderId: "1042", amount: 10 });
    await (await run.approve(step, { user })).settled();
    expect(ran).toEqual([{ orderId: "1042", amount: 10 }]);
  });

  it("that changes the input to what does not fit: it is not run", async () => {
    const { run, ran } = refundRun({ policy: () => ({ modify: { amount: "much" } }) });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "not-run", reason: "blocked" });
    expect(ran).toEqual([]);
  });

  it("is asked once for each call, also when the run is taken up again", async () => {
    let seen = 0;
    const { run } = refundRun({
      policy: () => {
        seen++;
        return "ask";
      },
    });
    await (await run.approve(only(await run.start()), { user })).settled();
    expect(seen).toBe(1);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("policy s3cret");
      },
    ],
    ["rejects", () => Promise.reject(new Error("policy s3cret"))],
    ["answers null", () => null],
    ["answers a word that is no verdict", () => "deny"],
    ["answers true", () => true],
    ["answers an empty object", () => ({})],
  ])("that %s: the call is not run, the run goes on, the words stay on the server", async (_title, policy) => {
    const { ran, refund } = refunding({ readOnly: true });
    const run = agentRun({
      script: [call("refund", REFUND), say("Done.")],
      tools: { refund },
      policy: policy as never,
    });
    const thread = await run.start();
    expect(thread.steps[0]).toMatchObject({ status: "not-run", reason: "blocked" });
    expect(thread.outcome).toBe("completed");
    expect(ran).toEqual([]);
    expect(JSON.stringify(await run.events(thread.id))).not.toContain("s3cret");
    expect(run.errors).toHaveLength(1);
  });
});

describe("a message", () => {
  it("[A23] while the model answers is read in the next turn", async () => {
    const run = agentRun({ script: [calls(say("Working"), delay(1_000)), say("In French.")] });
    const threadId = await run.begin();
    await run.send({ user, threadId, message: "In French, please" });
    await run.clock.advance(1_000);
    const thread = await run.thread(threadId);
    expect(told(run.model.requests[0])).not.toContain("French");
    expect(told(run.model.requests[1])).toContain("In French, please");
    expect(thread.runs).toHaveLength(1);
  });

  it("while a tool runs steers the run, and the tool runs once", async () => {
    let count = 0;
    let finish: () => void = () => undefined;
    const act = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      execute: () =>
        new Promise<void>((resolve) => {
          count++;
          finish = resolve;
        }),
    });
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act } });
    const threadId = await run.begin();
    await run.send({ user, threadId, message: "Hurry" });
    await run.clock.advance(0);
    finish();
    await run.clock.advance(0);
    expect(count).toBe(1);
    expect(told(run.model.requests[1])).toContain("Hurry");
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed" });
  });

  it("while a call waits is queued behind it", async () => {
    const { run } = refundRun();
    const asked = await run.start();
    await run.send({ user, threadId: asked.id, message: "And be quick" });
    await run.clock.advance(0);
    const queued = await run.read({ user, threadId: asked.id });
    expect(queued).toMatchObject({ status: "waiting" });
    expect(queued?.queued).toHaveLength(1);
    expect(run.model.requests).toHaveLength(1);
    await (await run.approve(only(asked), { user })).settled();
    expect(told(run.model.requests[1])).toContain("And be quick");
  });

  it("with pending deny settles what waits first", async () => {
    const { run, ran } = refundRun();
    const asked = await run.start();
    const ended = await (await run.send({ user, threadId: asked.id, message: "No, do 7", pending: "deny" })).settled();
    expect(ended.steps[0]).toMatchObject({ status: "not-run", reason: "denied" });
    expect(told(run.model.requests[1])).toContain("No, do 7");
    expect(ran).toEqual([]);
    expect(ended.outcome).toBe("completed");
  });

  it("[A23] left over at the end starts the next run in the same batch", async () => {
    const run = agentRun({ script: [calls(say("Answer one"), delay(1_000)), say("Answer two")], limits: { turns: 1 } });
    const threadId = await run.begin();
    await run.send({ user, threadId, message: "One more thing" });
    await run.clock.advance(1_000);
    const thread = await run.thread(threadId);
    expect(thread.runs.map(({ text }) => text)).toEqual(["Answer one", "Answer two"]);
    const read = await run.store.read(threadId);
    if (!read || "gone" in read) throw new Error("no log");
    const batchOf = (type: string) =>
      read.events.filter(({ data }) => data.includes(`"type":"${type}"`)).map(({ batch }) => batch);
    expect(batchOf("run-started")[1]).toBe(batchOf("run-ended")[0]);
  });

  it("[A23] after a stop stays unsent until the person sends again, and then both are read in order", async () => {
    const run = agentRun({ script: [delay(Number.POSITIVE_INFINITY), say("Both read.")] });
    const threadId = await run.begin();
    await run.send({ user, threadId, message: "First extra" });
    await run.stop({ user, threadId });
    await run.clock.advance(0);
    expect((await run.read({ user, threadId }))?.queued).toHaveLength(1);
    await (await run.send({ user, threadId, message: "Second extra" })).settled();
    expect(told(run.model.requests[1])).toMatch(/First extra.*Second extra/);
  });
});

describe("stop", () => {
  it("while text streams ends the run and keeps the text", async () => {
    const run = agentRun({ script: [calls(say("Once upon a time"), delay(Number.POSITIVE_INFINITY))] });
    const threadId = await run.begin();
    await run.stop({ user, threadId, reason: "enough" });
    await run.clock.advance(0);
    const [ended] = (await run.thread(threadId)).runs;
    expect(ended).toMatchObject({ outcome: "stopped", stop: { by: user, reason: "enough" } });
    expect(ended?.turn?.parts).toEqual([{ type: "text", text: "Once upon a time" }]);
    expect(ended?.text).toBe(""); // half an answer is none
    expect(run.clock.armed).toBe(0);
  });

  it("is heard while text streams faster than the store writes", async () => {
    const clock = fakeClock();
    const memory = memoryStore({ clock });
    const store: typeof memory = {
      ...memory,
      append: async (...given) => {
        await new Promise<void>((resolve) => clock.after(20, resolve));
        return memory.append(...given);
      },
    };
    const words = Array.from({ length: 4_000 }, () => "word ").join("");
    const model = scriptedModel([say(words)], { clock, delayMs: 5 });
    const server = endpoint({ agent: defineAgent({ model }), clock, store });
    const sending = server.send({ user, message: "Go" });
    await clock.advance(500);
    const { threadId } = await sending;
    const stopping = server.stop({ user, threadId });
    await clock.advance(150);
    await stopping;
    expect(await server.read({ user, threadId })).toMatchObject({ status: "ended", outcome: "stopped" });
  });

  it("while a call waits settles it as not run, in one batch", async () => {
    const { run, ran } = refundRun();
    const asked = await run.start();
    await run.stop({ user, threadId: asked.id });
    const [ended] = (await run.thread(asked.id)).runs;
    expect(ended?.turn?.calls[0]).toMatchObject({ status: "not-run", reason: "stopped", effect: "none" });
    expect(ran).toEqual([]);
    await expect(run.approve(only(asked), { user })).rejects.toMatchObject({ code: "stopped" });
  });

  it("is the same stop when it is asked for twice", async () => {
    const { run } = refundRun();
    const asked = await run.start();
    await run.stop({ user, threadId: asked.id });
    const before = await run.events(asked.id);
    await run.stop({ user, threadId: asked.id });
    expect(await run.events(asked.id)).toEqual(before);
  });

  it("can be followed by going on", async () => {
    const run = agentRun({ script: [delay(Number.POSITIVE_INFINITY), say("Went on.")] });
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    await run.clock.advance(0);
    const ended = await (await run.continue({ user, threadId })).settled();
    expect(ended).toMatchObject({ outcome: "completed", text: "Went on." });
  });
});

describe("a server that dies while a tool runs", () => {
  /** Two servers over one store. The first dies inside its tool; the second looks again when the lease is over. */
  const crash = async (more: object = {}, answer: () => unknown = () => new Promise(() => undefined)) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = mortal(clock, store);
    const keys: string[] = [];
    const users: unknown[] = [];
    const act = tool({
      description: "x",
      inputSchema: z.object({}),
      approval: "allow",
      ...more,
      execute: (_input: unknown, context) => {
        keys.push(context.idempotencyKey);
        users.push(context.user);
        return keys.length === 1 ? answer() : "done";
      },
    });
    const dead = agentRun({
      script: [call("act", {}), say("Done.")],
      tools: { act },
      clock: first.clock,
      server: { store: first.store },
    });
    const alive = agentRun({ script: [say("Done.")], tools: { act }, clock, server: { store } });
    const threadId = await dead.begin();
    first.kill();
    const takeOver = async (): Promise<View> => {
      await clock.advance(30_000);
      await alive.sweep();
      await clock.advance(0);
      const thread = await alive.read({ user, threadId });
      if (!thread) throw new Error("no thread");
      return thread;
    };
    return { keys, users, alive, threadId, clock, takeOver };
  };

  it("is not taken over while its lease is valid", async () => {
    const { alive, keys, clock, threadId } = await crash({ idempotent: true });
    await clock.advance(29_999);
    await alive.sweep();
    await clock.advance(0);
    expect(keys).toHaveLength(1);
    expect((await alive.thread(threadId)).epoch).toBe(1);
  });

  it("leaves an interrupted call that waits for a person, and nothing runs again", async () => {
    const { keys, takeOver } = await crash();
    const thread = await takeOver();
    expect(thread.status).toBe("waiting");
    expect(only(thread)).toMatchObject({ ask: { kind: "interrupted" } });
    expect(keys).toHaveLength(1);
  });

  it("and let run again by a person: the tool runs with the same key and for the same user", async () => {
    const { keys, users, alive, takeOver } = await crash();
    const ended = await (await alive.retry(only(await takeOver()), { user: { id: user.id, role: "other" } })).settled();
    expect(ended.outcome).toBe("completed");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(users).toEqual([user, user]);
  });

  it("and skipped by a person: the model hears that it may have had an effect", async () => {
    const { keys, alive, takeOver } = await crash();
    const ended = await (await alive.skip(only(await takeOver()), { user })).settled();
    expect(ended.steps[0]).toMatchObject({ status: "not-run", reason: "skipped", effect: "unknown" });
    expect(told(alive.model.requests[0])).toContain(EFFECT_UNKNOWN);
    expect(keys).toHaveLength(1);
  });

  it("and answered by a person: that is the result", async () => {
    const { alive, takeOver } = await crash();
    const ended = await (await alive.answer(only(await takeOver()), { user, value: { refunded: 1 } })).settled();
    expect(ended.steps[0]).toMatchObject({ status: "succeeded", output: { refunded: 1 } });
    expect(lastResults(alive.model.requests[0])).toEqual([{ refunded: 1 }]);
  });

  it("and answered with what went wrong: that is the error", async () => {
    const { alive, takeOver } = await crash();
    const ended = await (await alive.answer(only(await takeOver()), { user, error: "It bounced." })).settled();
    expect(ended.steps[0]).toMatchObject({ status: "failed", error: { message: "It bounced." } });
  });

  it("and cannot be approved: it is a question of another kind", async () => {
    const { alive, takeOver } = await crash();
    const step = only(await takeOver());
    await expect(alive.approve(step, { user })).rejects.toMatchObject({ code: "not-waiting" });
  });

  it("and is idempotent restarts by itself with the same key", async () => {
    const { keys, takeOver } = await crash({ idempotent: true });
    const thread = await takeOver();
    expect(thread).toMatchObject({ status: "ended", outcome: "completed" });
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it("and stopped while interrupted is settled with an unknown effect", async () => {
    const { alive, takeOver, threadId } = await crash();
    await takeOver();
    await alive.stop({ user, threadId });
    const thread = await alive.read({ user, threadId });
    expect(thread?.steps[0]).toMatchObject({ status: "failed", effect: "unknown" });
    expect(thread?.outcome).toBe("stopped");
  });
});

describe("a server that was superseded while its tool ran", () => {
  it("hands in the result late, and it is taken while the call is interrupted", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    let finish: (value: string) => void = () => undefined;
    const act = tool({
      description: "x",
      inputSchema: z.object({}),
      approval: "allow",
      execute: () => new Promise((resolve) => (finish = resolve)),
    });
    // Its renewals do not reach the store: the lease runs out although it lives.
    const deaf = { ...store, lease: async () => ({ status: "lost" }) as const };
    const slow = agentRun({ script: [call("act", {}), say("Done.")], tools: { act }, clock, server: { store: deaf } });
    const other = agentRun({ script: [say("Done.")], tools: { act }, clock, server: { store } });
    const threadId = await slow.begin();
    await clock.advance(30_000);
    await other.sweep();
    await clock.advance(0);
    expect((await other.read({ user, threadId }))?.pending[0]?.ask?.kind).toBe("interrupted");
    finish("refunded");
    await clock.advance(0);
    await other.sweep();
    await clock.advance(0);
    const thread = await other.read({ user, threadId });
    expect(thread?.steps[0]).toMatchObject({ status: "succeeded", output: "refunded" });
    expect(thread?.outcome).toBe("completed");
  });
});

describe("a stop that another server took", () => {
  it("reaches a driver inside a silent tool with its next renewal", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    let signal: AbortSignal | undefined;
    const act = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      execute: (_input, context) => {
        signal = context.signal;
        return new Promise(() => undefined);
      },
    });
    const driver = agentRun({ script: [call("act", {})], tools: { act }, clock, server: { store } });
    const other = agentRun({ script: [], tools: { act }, clock, server: { store } });
    const threadId = await driver.begin();
    await clock.advance(3_000);
    await other.stop({ user, threadId });
    await clock.advance(7_000);
    expect(signal?.aborted).toBe(true);
    await clock.advance(2_000);
    expect((await other.thread(threadId)).runs[0]).toMatchObject({ outcome: "stopped" });
    expect(clock.armed).toBe(0);
  });
});

describe("a decision that lands while another call of the turn runs", () => {
  it("runs its call once, and never the running one again", async () => {
    const counts = { slow: 0, refund: 0 };
    let finish: () => void = () => undefined;
    const slow = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      execute: () => {
        counts.slow++;
        return new Promise<void>((resolve) => (finish = resolve));
      },
    });
    const refund = tool({ description: "x", inputSchema, execute: () => ++counts.refund });
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const driver = agentRun({
      script: [calls(call("slow", {}), call("refund", REFUND)), say("Done.")],
      tools: { slow, refund },
      clock,
      server: { store },
    });
    const other = agentRun({ script: [], tools: { slow, refund }, clock, server: { store } });
    const threadId = await driver.begin();
    const asked = await other.read({ user, threadId });
    if (!asked) throw new Error("no thread");
    await other.approve(only(asked), { user });
    finish(); // its result meets the other server's decision in the log
    await clock.advance(10_000);
    expect((await driver.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed" });
    expect(counts).toEqual({ slow: 1, refund: 1 });
  });
});
