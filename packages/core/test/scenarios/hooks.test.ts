import { describe, expect, it } from "vitest";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { Gate, GateContext } from "../../src/agent/gate.ts";
import type { Hooks } from "../../src/agent/hooks.ts";
import type { StopWhen } from "../../src/agent/stop-when.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import { NOT_RUN } from "../../src/model/call-result.ts";
import { call, calls, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { foldStream } from "../server/sse.ts";
import { count, recorder, resultsIn, rule, runOf, textsIn, waiting } from "./play.ts";

describe("[M-33] several rules", () => {
  it.each<[string, Verdict, Verdict, "denied" | "asked" | "ran"]>([
    [
      "[#90] case 1 of 2: the first denial wins, and its words are told",
      { deny: "first" },
      { deny: "second" },
      "denied",
    ],
    ["[#90] case 2 of 2: all allow or say nothing: then the tool's own rule counts", "allow", undefined, "asked"],
    ["[M-33] a denial of the last one wins as well", "allow", { deny: "first" }, "denied"],
  ])("%s", async (_title, one, two, expected) => {
    const act = recorder("done", { readOnly: false, approval: "ask" });
    const policy = [rule(() => one), rule(() => two)];
    const run = agentRun({ script: [call("act", {}), say("Fine.")], tools: { act: act.tool }, policy });
    const thread = await run.start();
    expect(act.ran).toEqual([]);
    expect(thread.status).toBe(expected === "asked" ? "waiting" : "ended");
    if (expected === "asked") {
      await (await run.approve(waiting(thread), { user: clerk })).settled();
      expect(act.ran).toHaveLength(1);
    } else {
      expect(resultsIn(run.model.requests[1])).toEqual([
        { output: `${NOT_RUN}: blocked by the app's policy: first`, isError: true },
      ]);
    }
  });
});

describe("[M-33] hooks", () => {
  const hooked = (hooks: Hooks, more: Partial<AgentRunOptions> = {}, tool: object = {}) => {
    const act = recorder("own", tool);
    const run = agentRun({ script: [call("act", { q: 1 }), say("Fine.")], tools: { act: act.tool }, hooks, ...more });
    return { act, run };
  };

  it("[#109] case 1 of 4: stand around model and tool, in order", async () => {
    const order: string[] = [];
    const { run } = hooked(
      {
        beforeModel: () => void order.push("before model"),
        afterModel: () => void order.push("after model"),
        beforeTool: () => void order.push("before tool"),
        afterTool: () => void order.push("after tool"),
      },
      {},
      { execute: () => void order.push("tool") },
    );
    await run.start();
    const model = ["before model", "after model"];
    expect(order).toEqual([...model, "before tool", "tool", "after tool", ...model]);
  });

  it("[#109] case 2 of 4: an output before the tool takes its place; the tool and the hook after it are not asked", async () => {
    const after: unknown[] = [];
    const { act, run } = hooked({
      beforeTool: () => ({ output: "cached" }),
      afterTool: ({ output }) => void after.push(output),
    });
    const thread = await run.start();
    expect([act.ran, after]).toEqual([[], []]);
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "cached", isError: false }]);
    expect(thread.steps).toMatchObject([{ status: "succeeded", output: "cached" }]);
  });

  it("[#109] case 3 of 4: an output after the tool takes the place of its own", async () => {
    const { act, run } = hooked({ afterTool: ({ output, input }) => ({ output: [output, input] }) });
    await run.start();
    expect(act.ran).toHaveLength(1);
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: ["own", { q: 1 }], isError: false }]);
  });

  it("[#109] case 4 of 4: one that hangs is ended by the tool's time", async () => {
    const { act, run } = hooked({ beforeTool: () => new Promise(() => undefined) }, {}, { timeoutMs: 1_000 });
    const threadId = await run.begin();
    await run.clock.advance(1_000);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Fine." });
    expect(resultsIn(run.model.requests[1])[0]?.isError).toBe(true);
    expect(act.ran).toEqual([]);
  });

  it("[M-33] before a tool cannot change its input: what was shown is what runs", async () => {
    const { act, run } = hooked({
      beforeTool: ({ input }) => void Object.assign(input as object, { q: 2 }),
    });
    await run.start();
    expect(act.ran).toEqual([{ q: 1 }]);
  });

  it.each(["beforeModel", "afterModel"] as const)(
    "[M-33] %s that throws fails the run, and no tool runs",
    async (name) => {
      const { act, run } = hooked({
        [name]: () => {
          throw new Error("hook broke");
        },
      });
      const thread = await run.start();
      expect(thread).toMatchObject({ outcome: "failed", code: "hook-failed" });
      expect(act.ran).toEqual([]);
      expect(run.model.requests).toHaveLength(name === "beforeModel" ? 0 : 1);
      expect(JSON.stringify(thread)).not.toContain("hook broke");
      expect(run.errors.length).toBeGreaterThan(0);
    },
  );

  it("[M-33] after a tool that throws fails that call, and the run goes on: it had its effect", async () => {
    const { act, run } = hooked({
      afterTool: () => {
        throw new Error("hook broke");
      },
    });
    const thread = await run.start();
    expect(act.ran).toHaveLength(1);
    expect(thread).toMatchObject({ outcome: "completed", steps: [{ status: "failed" }] });
    expect(resultsIn(run.model.requests[1])[0]?.isError).toBe(true);
  });

  it("[M-33] before the model can put other messages in place, for that request only", async () => {
    const { run } = hooked({
      beforeModel: ({ messages, turn }) =>
        turn === 1
          ? { messages: [...messages, { role: "user", parts: [{ type: "text", text: "In French." }] }] }
          : undefined,
    });
    await run.start();
    expect(run.model.requests.map((request) => textsIn(request, "user"))).toEqual([["Go", "In French."], ["Go"]]);
  });
});

describe("[M-42] the completion gate", () => {
  const gated = (gate: Gate, answers = 4, more: Partial<AgentRunOptions> = {}) => {
    const act = recorder("found", more.holdTurn ? { readOnly: false } : {});
    const script = [call("act", {}), ...Array.from({ length: answers }, (_, n) => say(`Answer ${n + 1}.`))];
    return { act, run: agentRun({ script, tools: { act: act.tool }, gate, ...more }) };
  };

  it("[#91] case 1 of 5: refuses once with what is missing, then the next answer passes", async () => {
    const { run } = gated({ check: ({ text }) => text !== "Answer 1." || "Name the order.", maxAttempts: 2 });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", text: "Answer 2." });
    expect(textsIn(run.model.requests[2], "user").at(-1)).toContain("Name the order.");
    expect(run.model.requests).toHaveLength(3);
  });

  it("[#91] case 2 of 5: refuses at most so often, then the run ends limited", async () => {
    const { run } = gated({ check: () => "More.", maxAttempts: 2 });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "completion" });
    expect(run.model.requests).toHaveLength(4);
  });

  it("[#91] case 3 of 5: sees every call so far, and how often it refused", async () => {
    const seen: GateContext[] = [];
    const { run } = gated({
      check: (context) => {
        seen.push(context);
        return seen.length === 2 || "More.";
      },
      maxAttempts: 3,
    });
    await run.start();
    expect(seen).toEqual([
      { text: "Answer 1.", attempts: 0, calls: [{ tool: "act", input: {}, status: "succeeded", output: "found" }] },
      { text: "Answer 2.", attempts: 1, calls: [{ tool: "act", input: {}, status: "succeeded", output: "found" }] },
    ]);
  });

  it.each([0, -1, Number.NaN, undefined])(
    "[#91] case 4 of 5: needs a number of attempts; %s is none",
    (maxAttempts) => {
      const gate = { check: () => true as const, maxAttempts: maxAttempts as number };
      expect(() => defineAgent({ model: scriptedModel([]), gate })).toThrow(/gate\.maxAttempts/);
    },
  );

  it("[#91] case 5 of 5: is not asked while something waits, nor about a run that ends otherwise", async () => {
    let asked = 0;
    const gate: Gate = { check: () => ++asked > 0, maxAttempts: 1 } as Gate;
    const { run } = gated(gate, 1, { holdTurn: true });
    const step = waiting(await run.start());
    expect(asked).toBe(0);
    const ended = await (await run.deny(step, { user: clerk, stop: true })).settled();
    expect([ended.outcome, asked]).toEqual(["stopped", 0]);
  });

  it("[M-42] that throws fails the run", async () => {
    const { run } = gated({
      check: () => {
        throw new Error("gate broke");
      },
      maxAttempts: 1,
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "failed" });
    expect(count(await run.events(thread.id), "run-ended")).toBe(1);
  });
});

describe("[M-26] stopWhen", () => {
  it("[M-26] ends the run before the tools of an answer run, with its reason in the log and not on screen", async () => {
    const act = recorder();
    const run = agentRun({
      script: [call("act", {}), say("Fine.")],
      tools: { act: act.tool },
      stopWhen: ({ calls }) => (calls.length > 0 ? "planned enough" : false),
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", code: "stop-when" });
    expect([act.ran, run.model.requests.length]).toEqual([[], 1]);
    expect((await run.thread(thread.id)).runs[0]?.reason).toBe("planned enough");
    for (const path of ["", "/events?after=0"]) {
      expect(await (await run.get(`/${thread.id}${path}`)).text()).not.toContain("planned enough");
    }
  });

  it.each<[string, StopWhen, number, string]>([
    ["[#99] as a stream, at the first answer: its text is there, its call did not run", () => true, 0, "I look."],
    ["[#99] as a stream, after a call: that one ran, the next did not", ({ callCount }) => callCount > 0, 1, "Again."],
  ])("%s", async (_title, stopWhen, ran, text) => {
    const act = recorder();
    const run = agentRun({
      script: [calls(say("I look."), call("act", { n: 1 })), calls(say("Again."), call("act", { n: 2 })), say("Fine.")],
      tools: { act: act.tool },
      stopWhen,
    });
    const { id } = await run.start();
    const streamed = runOf(foldStream(await (await run.get(`/${id}/events?after=0`)).text(), id));
    expect(streamed).toMatchObject({ outcome: "completed", code: "stop-when", text });
    expect(streamed.turn?.parts[0]).toEqual({ type: "text", text });
    expect(streamed.turn?.calls).toMatchObject([{ status: "not-run" }]);
    expect([act.ran.length, run.model.requests.length]).toEqual([ran, ran + 1]);
  });
});
