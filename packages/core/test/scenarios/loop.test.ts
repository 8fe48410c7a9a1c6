import { describe, expect, it } from "vitest";
import { call, calls, delay, say } from "../../src/testing/scripted-model.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { readStream } from "../server/sse.ts";
import { count, failing, held, recorder, resultsIn, settlements, waiting } from "./play.ts";
import { sdkModel, sdkRun, toolCall, words } from "./sdk-model.ts";

const user = clerk;
const asking = (output: unknown = "done") => recorder(output, { readOnly: false });

describe("honest work goes on", () => {
  it("[L+] nine turns of it, with failures between successes, are completed", async () => {
    const act = recorder();
    const script = Array.from({ length: 9 }, (_, n) => call(n % 3 === 2 ? "act" : "bad", { n }));
    const run = agentRun({
      script: [...script, say("Done.")],
      tools: { act: act.tool, bad: failing("no").tool },
      limits: { turns: 12 },
    });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: "Done." });
    expect(run.model.requests).toHaveLength(10);
    expect(run.model.requests.every(({ tools }) => tools.length === 2)).toBe(true);
  });

  it("[L05 L+] the same call, approved again and again, keeps asking and keeps running", async () => {
    const act = asking();
    const run = agentRun({
      script: [...Array.from({ length: 8 }, () => call("act", { same: true })), say("Done.")],
      tools: { act: act.tool },
    });
    let thread = await run.start();
    for (let approved = 1; approved <= 8; approved++) {
      thread = await (await run.approve(waiting(thread), { user })).settled();
      expect(act.ran).toHaveLength(approved);
    }
    expect(thread).toMatchObject({ outcome: "completed", text: "Done." });
  });
});

describe("who goes on", () => {
  it("[L01] reading, reconnecting and coming back later start nothing", async () => {
    const act = recorder();
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    const { id, seq } = await run.start();
    for (const after of [0, 1, seq - 1, seq]) {
      await (await run.get(`/${id}/events?after=${after}`)).text();
      await run.get(`/${id}`);
      await run.clock.advance(60_000);
    }
    expect(await run.sweep()).toBe(0);
    expect([run.model.requests.length, act.ran.length]).toEqual([2, 1]);
    expect((await run.thread(id)).seq).toBe(seq);
  });

  it("[L02] no tool is ever forced, in any turn", async () => {
    const answers = [[toolCall("a", "act", '{"n":1}')], [toolCall("b", "act", '{"n":2}')], [words("Done.")]];
    const model = sdkModel(answers);
    expect(await sdkRun({ model, tools: { act: recorder().tool } }).start()).toMatchObject({ text: "Done." });
    const choices = model.calls.map((options) => (options as { toolChoice?: { type: string } }).toolChoice?.type);
    expect(choices.every((type) => type === undefined || type === "auto")).toBe(true);
    expect(model.calls).toHaveLength(3);
  });

  it.each([
    ["[#88 M-35] case 1 of 2: an agent without tools sends none, and no choice of them", false],
    ["[#88 M-35] case 2 of 2: the last answer sends none either, and the one before it does", true],
  ])("%s", async (_title, withTools) => {
    const answers = withTools ? [[toolCall("a", "act", "{}")], [words("Done.")]] : [[words("Hi.")]];
    const model = sdkModel(answers);
    await sdkRun({ model, tools: withTools ? { act: recorder().tool } : {}, limits: { turns: 2 } }).start();
    expect(model.calls.at(-1)).not.toHaveProperty("tools");
    expect(model.calls.at(-1)).not.toHaveProperty("toolChoice");
    expect(model.calls).toHaveLength(withTools ? 2 : 1);
    if (withTools) expect(model.calls[0]).toHaveProperty("tools");
  });

  it("[L20] a waiting call holds the next turn back although all the others are done", async () => {
    const [a, b, gated] = [recorder(), failing("no"), asking()];
    const run = agentRun({
      script: [calls(call("a", {}), call("gated", {}), call("b", {})), say("Done.")],
      tools: { a: a.tool, b: b.tool, gated: gated.tool },
    });
    const thread = await run.start();
    expect(thread.steps.map(({ status }) => status)).toEqual(["succeeded", "waiting", "failed"]);
    await run.clock.advance(60_000);
    expect([run.model.requests.length, gated.ran.length]).toEqual([1, 0]);
  });

  it("[L11] a slow tool beside a waiting call finishes although its reader went away, and only then the run waits", async () => {
    const [slow, gated] = [held(), asking()];
    const run = agentRun({
      script: [calls(call("slow", {}), call("gated", {})), say("Done.")],
      tools: { slow: slow.tool, gated: gated.tool },
    });
    const threadId = await run.begin();
    const reader = readStream(await run.get(`/${threadId}/events?after=0`));
    await reader.next();
    await reader.cancel();
    await run.clock.advance(10_000);
    expect((await run.read({ user, threadId }))?.status).toBe("running");
    slow.end("whole");
    await run.clock.advance(0);
    const thread = await run.read({ user, threadId });
    expect(thread).toMatchObject({ status: "waiting", steps: [{ status: "succeeded", output: "whole" }, {}] });
    expect((await run.events(threadId)).at(-1)?.type).toBe("run-waiting");
  });
});

describe("one result for each call", () => {
  it("[L04 M-5] when the time is over while a tool works, and it answers after all", async () => {
    const slow = held();
    const run = agentRun({
      script: [calls(call("slow", {}), call("gated", {}))],
      tools: { slow: slow.tool, gated: asking().tool },
      limits: { timeMs: 1_000 },
    });
    const threadId = await run.begin();
    await run.clock.advance(1_000 + 2_000);
    slow.end("late");
    await run.clock.advance(1_000);
    expect(settlements(await run.events(threadId))).toEqual([1, 1]);
    expect((await run.thread(threadId)).anomalies).toBe(0);
  });

  it("[L04] when a guard ends the run in the turn it guards", async () => {
    const act = recorder();
    const run = agentRun({ script: Array.from({ length: 9 }, () => call("act", {})), tools: { act: act.tool } });
    const thread = await run.start();
    expect(thread.limit).toBe("repeats");
    const counts = settlements(await run.events(thread.id));
    expect(counts.length).toBeGreaterThan(act.ran.length);
    expect(new Set(counts)).toEqual(new Set([1]));
  });

  it("[L08] a tool that throws shows as failed, and nothing of it runs on", async () => {
    const run = agentRun({
      script: [call("bad", {}), calls(say("Half"), delay(Number.POSITIVE_INFINITY))],
      tools: { bad: failing("No stock.").tool },
    });
    const threadId = await run.begin();
    const thread = await run.read({ user, threadId });
    expect(thread).toMatchObject({
      status: "running",
      phase: "writing",
      steps: [{ status: "failed", error: { message: "No stock." } }],
    });
  });

  it("[L16] results go to the model in call order, whichever ended first", async () => {
    const [slow, fast] = [held(), recorder("fast")];
    const run = agentRun({
      script: [calls(call("slow", {}), call("fast", {})), say("Done.")],
      tools: { slow: slow.tool, fast: fast.tool },
    });
    await run.begin();
    slow.end("slow");
    await run.clock.advance(0);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual(["slow", "fast"]);
  });

  it.each([
    ["[M-6] side by side by default", {}, {}, 2],
    ["[M-6] one at a time", { concurrency: 1 }, {}, 1],
    ["[M-6] one that insists on being alone is alone", {}, { sequential: true }, 1],
  ])("%s", async (_title, options, more, running) => {
    const [one, two] = [held(more), held()];
    const run = agentRun({
      script: [calls(call("one", {}), call("two", {})), say("Done.")],
      tools: { one: one.tool, two: two.tool },
      ...options,
    });
    await run.begin();
    expect(one.ran.length + two.ran.length).toBe(running);
    one.end(1);
    await run.clock.advance(0);
    two.end(2);
    await run.clock.advance(0);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual([1, 2]);
  });
});

describe("limits and rules", () => {
  it("[L22] a call that waits when the limit is reached still waits; approved, it runs and the run is limited", async () => {
    const act = asking();
    const run = agentRun({
      script: [call("act", {}), say("never")],
      tools: { act: act.tool },
      limits: { turns: 1 },
      onLimit: "stop",
    });
    const thread = await run.start();
    expect(thread.status).toBe("waiting");
    const ended = await (await run.approve(waiting(thread), { user })).settled();
    expect(ended).toMatchObject({ outcome: "limited", limit: "turns", steps: [{ status: "succeeded" }] });
    expect([act.ran.length, run.model.requests.length]).toEqual([1, 1]);
  });

  it.each([
    ["[L23] rules that always allow do not make a run endless: turns", 1, {}, "turns"],
    ["[L23] rules that always allow do not make a run endless: calls", 40, {}, "calls"],
    ["[L23] rules that always allow do not make a run endless: tokens", 1, { tokens: 50 }, "tokens"],
  ])("%s", async (_title, perTurn, limits, limit) => {
    const act = asking();
    const usage = { inputTokens: 10, outputTokens: 1 };
    let turn = 0;
    const entry = () => {
      turn++;
      const asked = Array.from({ length: perTurn }, (_, n) => call("act", { turn, n }));
      return calls(...asked, { type: "end", reason: "tools", usage });
    };
    const run = agentRun({
      script: Array.from({ length: 50 }, () => entry),
      tools: { act: act.tool },
      policy: () => "allow",
      limits,
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "limited", limit });
    expect(run.model.requests.length).toBeLessThanOrEqual(10);
    expect(act.ran.length).toBeLessThanOrEqual(100);
    expect(count(await run.events(thread.id), "run-ended")).toBe(1);
  });
});
