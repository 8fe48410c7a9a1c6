import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Verdict } from "../../src/agent/verdict.ts";
import { NOT_RUN } from "../../src/model/call-result.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { callsOf, count, recorder, resultsIn, rule, runOf, waiting } from "./play.ts";

const user = clerk;
const asking = (output: unknown = "done", more: object = {}) => recorder(output, { readOnly: false, ...more });

describe("what waits", () => {
  it("[#4 M-15] a call that needs a person: nothing of it runs, the model is not asked again", async () => {
    const danger = asking();
    const run = agentRun({
      script: [calls(say("I will delete it."), call("danger", {})), say("Done.")],
      tools: { danger: danger.tool },
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "waiting", pending: [{ tool: "danger", ask: { kind: "approval" } }] });
    expect(thread.messages.at(-1)?.parts[0]).toEqual({ type: "text", text: "I will delete it." });
    expect(danger.ran).toEqual([]);
    expect(run.model.requests).toHaveLength(1);
  });

  it("[#5 M-15] with holdTurn an allowed call beside one that asks does not run either, and both are in order", async () => {
    const [read, write] = [recorder("read"), asking("written")];
    const run = agentRun({
      script: [calls(call("read", {}), call("write", {})), say("Done.")],
      tools: { read: read.tool, write: write.tool },
      holdTurn: true,
    });
    const thread = await run.start();
    expect(thread.status).toBe("waiting");
    expect(thread.steps.map(({ tool, status }) => [tool, status])).toEqual([
      ["read", "queued"],
      ["write", "waiting"],
    ]);
    expect([read.ran, write.ran]).toEqual([[], []]);
    const ended = await (await run.approve(waiting(thread), { user })).settled();
    expect(ended.outcome).toBe("completed");
    expect([read.ran.length, write.ran.length]).toEqual([1, 1]);
  });

  it("[#6] both are judged once, and the log tells which one would have run by itself", async () => {
    const policy = rule((tool) => (tool === "read" ? "allow" : "ask"));
    const run = agentRun({
      script: [calls(call("read", {}), call("write", {}))],
      tools: { read: recorder().tool, write: asking().tool },
      holdTurn: true,
      policy,
    });
    const thread = await run.start();
    expect(policy.asked).toEqual(["read", "write"]);
    const verdicts = callsOf(runOf(await run.thread(thread.id))).map(({ verdict }) => verdict?.verdict);
    expect(verdicts).toEqual(["allow", "ask"]);
  });

  it("[#7] a turn that ran, then one that waits: two model calls, one effect", async () => {
    const [safe, danger] = [recorder(), asking()];
    const run = agentRun({
      script: [call("safe", {}), calls(say("Now the rest."), call("danger", {}))],
      tools: { safe: safe.tool, danger: danger.tool },
    });
    const thread = await run.start();
    expect(thread.steps.map(({ status }) => status)).toEqual(["succeeded", "waiting"]);
    expect(run.model.requests).toHaveLength(2);
    expect([safe.ran.length, danger.ran.length]).toEqual([1, 0]);
  });
});

describe("[M-14] when a call runs by itself", () => {
  it.each<[string, object, Partial<AgentRunOptions>, "runs" | "asks"]>([
    ["[#38] case 1 of 8: no rule and readOnly", { readOnly: true }, {}, "runs"],
    ["[#38] case 2 of 8: no rule and not readOnly", {}, {}, "asks"],
    ["[#38] case 3 of 8: a policy allows", {}, { policy: () => "allow" }, "runs"],
    ["[#38] case 4 of 8: a policy asks for a readOnly tool", { readOnly: true }, { policy: () => "ask" }, "asks"],
    ["[#38] case 5 of 8: the tool itself allows", { approval: "allow" }, {}, "runs"],
    ["[#38] case 6 of 8: the policy allows and the tool asks", { approval: "ask" }, { policy: () => "allow" }, "asks"],
  ])("%s", async (_title, more, options, expected) => {
    const act = asking("done", more);
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool }, ...options });
    const thread = await run.start();
    expect([thread.status, act.ran.length]).toEqual(expected === "runs" ? ["ended", 1] : ["waiting", 0]);
  });

  it.each<[string, object, "run" | "once", number]>([
    ["[#38] case 7 of 8: approved for the run, the same input again runs", {}, "run", 2],
    ["[#38] case 8 of 8: approved once, the same input again asks", {}, "once", 1],
  ])("%s", async (_title, more, scope, ran) => {
    const act = asking("done", more);
    const run = agentRun({ script: [call("act", {}), call("act", {}), say("Done.")], tools: { act: act.tool } });
    const next = await (await run.approve(waiting(await run.start()), { user, scope })).settled();
    expect([act.ran.length, next.status]).toEqual([ran, ran === 2 ? "ended" : "waiting"]);
  });
});

describe("[M-14] which rule is asked", () => {
  const find = () => recorder("found", { readOnly: false });

  it("[#39] case 1 of 4: there is no rule at all: a person is asked", async () => {
    const act = find();
    const run = agentRun({ script: [call("find", {})], tools: { find: act.tool } });
    expect((await run.start()).pending).toHaveLength(1);
    expect(act.ran).toEqual([]);
  });

  it.each([
    ["[#39] case 2 of 4: an unknown name asks no rule", "ghost", [], 0],
    ["[#39] case 3 of 4: a name without its server's part is unknown", "find", [], 0],
    ["[#39] case 4 of 4: the whole name is found, and no other server's", "shop__find", ["shop__find"], 1],
  ])("%s", async (_title, name, asked, ran) => {
    const policy = rule(() => "allow");
    const [shop, bank] = [find(), find()];
    const tools = { shop__find: shop.tool, bank__find: bank.tool };
    const run = agentRun({ script: [call(name, {}), say("Done.")], tools, policy });
    await run.start();
    expect(policy.asked).toEqual(asked);
    expect([shop.ran.length, bank.ran.length]).toEqual([ran, 0]);
  });
});

describe("[M-18] a decision", () => {
  const two = async () => {
    const act = asking();
    const run = agentRun({
      script: [calls(call("act", { id: 1 }), call("act", { id: 2 })), say("Done.")],
      tools: { act: act.tool },
    });
    const thread = await run.start();
    const [first, second] = thread.pending;
    if (!first || !second) throw new Error("two should wait");
    return { act, run, first, second };
  };

  it("[#40] case 1 of 3: meets the call that was shown, and no other", async () => {
    const { act, run, first, second } = await two();
    const thread = await (await run.approve(second, { user })).settled();
    expect(act.ran).toEqual([{ id: 2 }]);
    expect(thread.pending.map(({ id }) => id)).toEqual([first.id]);
    expect(run.model.requests).toHaveLength(1);
  });

  it("[#40] case 2 of 3: with the digest of another call is stale, and nothing runs", async () => {
    const { act, run, first, second } = await two();
    await expect(run.approve({ ...first, digest: second.digest }, { user })).rejects.toMatchObject({ code: "stale" });
    expect(act.ran).toEqual([]);
  });

  it("[#40] case 3 of 3: about a call that was decided is refused, with the real state", async () => {
    const { act, run, first } = await two();
    await (await run.deny(first, { user })).settled();
    await expect(run.approve(first, { user })).rejects.toMatchObject({
      code: "decided",
      step: { status: "not-run", decision: { action: "deny" } },
    });
    expect(act.ran).toEqual([]);
  });

  it("[M-17] about two calls in one write counts for both; what is not in it still waits", async () => {
    const act = asking();
    const run = agentRun({
      script: [calls(call("act", { id: 1 }), call("act", { id: 2 }), call("act", { id: 3 })), say("Done.")],
      tools: { act: act.tool },
    });
    const asked = await run.start();
    const thread = await (await run.approve(asked.pending.slice(0, 2), { user })).settled();
    expect(act.ran).toEqual([{ id: 1 }, { id: 2 }]);
    expect(thread).toMatchObject({ status: "waiting", pending: [{ input: { id: 3 } }] });
  });

  it("[#47 M-21] twice at once: one counts, the other is told, and it ran once", async () => {
    const { act, run, first } = await two();
    const both = await Promise.allSettled([run.approve(first, { user }), run.approve(first, { user })]);
    await run.clock.advance(0);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "decided" } });
    expect(act.ran).toEqual([{ id: 1 }]);
    expect(count(await run.events(first.threadId), "decision-recorded")).toBe(1);
  });
});

describe("rules that deny or change", () => {
  const add = () => {
    const inputSchema = z.object({ a: z.number(), b: z.number() });
    return recorder(({ a, b }: { a: number; b: number }) => a + b, { inputSchema });
  };
  const script = [call("add", { a: 2, b: 3 }), say("Done.")];

  it("[#92 M-14] a rule denies: its words are the result, nothing ran, the model is asked again", async () => {
    const { tool, ran } = add();
    const run = agentRun({ script, tools: { add: tool }, policy: () => ({ deny: "not allowed" }) });
    const thread = await run.start();
    expect(ran).toEqual([]);
    const [result] = resultsIn(run.model.requests[1]);
    expect(result).toEqual({ output: `${NOT_RUN}: blocked by the app's policy: not allowed`, isError: true });
    expect(thread).toMatchObject({ outcome: "completed", steps: [{ status: "not-run", reason: "blocked" }] });
  });

  it.each<[string, Verdict, unknown[], boolean]>([
    ["[#93 M-14] case 1 of 2: a rule changes the input", { modify: { a: 100, b: 200 } }, [{ a: 100, b: 200 }], false],
    ["[#93 M-14] case 2 of 2: a change that does not fit", { modify: { a: "x" } }, [], true],
  ])("%s", async (_title, verdict, inputs, isError) => {
    const { tool, ran } = add();
    const run = agentRun({ script, tools: { add: tool }, policy: () => verdict });
    const thread = await run.start();
    expect(ran).toEqual(inputs);
    expect(resultsIn(run.model.requests[1])[0]?.isError).toBe(isError);
    expect(thread.steps[0]?.output).toBe(isError ? undefined : 300);
    expect(thread.outcome).toBe("completed");
  });
});
