import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent, Tool } from "../../src/agent/agent.ts";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { ask } from "../../src/agent/ask.ts";
import { browserTool } from "../../src/agent/browser-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { ToolOptions } from "../../src/agent/tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Json } from "../../src/protocol/values.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk as user } from "../server/endpoint.ts";
import { mortal } from "../server/mortal.ts";
import { agentRun, lastResults } from "./agent-run.ts";

const input = z.record(z.string(), z.json());

function recorder(options: Partial<ToolOptions<typeof input, Json>> = {}): { tool: Tool; ran: Json[] } {
  const ran: Json[] = [];
  const made = tool({
    description: "Acts.",
    inputSchema: input,
    execute: (given) => {
      ran.push(given as Json);
      return "ok";
    },
    ...options,
  });
  return { tool: made, ran };
}

function child(tools: Readonly<Record<string, Tool>>, script: readonly ScriptEntry[], more: Partial<Agent> = {}): Tool {
  return agentTool({
    agent: { ...defineAgent({ model: scriptedModel(script), tools }), ...more },
    description: "Works.",
  });
}

describe("agents below an agent", () => {
  it.each(["run", "thread"] as const)(
    "a grant for the %s is not one for another agent's tool of the same name",
    async (scope) => {
      const approval = { ask: { scopes: ["once", "run", "thread"] as const } };
      const [sandbox, production] = [recorder({ approval }), recorder()];
      const script = [call("deploy", { id: 1 }), say("Done.")];
      const run = agentRun({
        script: [call("a", { prompt: "a" }), call("b", { prompt: "b" }), say("Done.")],
        tools: { a: child({ deploy: sandbox.tool }, script), b: child({ deploy: production.tool }, script) },
      });
      const asked = await run.start();
      const after = await (await run.approve(asked.pending, { user, scope })).settled();
      expect([sandbox.ran.length, production.ran.length, after.status]).toEqual([1, 0, "waiting"]);
    },
  );

  it("one that was answered goes on while another waits, also where only readers drive", async () => {
    const script = [call("act", {}), say("Done.")];
    const run = agentRun({
      script: [calls(call("a", { prompt: "a" }), call("b", { prompt: "b" })), say("Done.")],
      tools: { a: child({ act: recorder().tool }, script), b: child({ act: recorder().tool }, script) },
      server: { livesOn: false },
    });
    const { threadId } = await run.send({ user, message: "Go" });
    const follow = async (): Promise<void> => {
      const body = (await run.get(`/${threadId}/events?after=0`)).text();
      await run.clock.advance(0);
      await body;
    };
    await follow();
    const [first] = (await run.read({ user, threadId }))?.pending ?? [];
    if (first) await run.deny(first, { user });
    await follow();
    const thread = await run.read({ user, threadId });
    expect(thread?.steps.filter(({ tool: name }) => name !== "act").map(({ status }) => status)).toEqual([
      "succeeded",
      "running",
    ]);
  });

  it("whose instructions throw fail their call, and nothing else", async () => {
    const run = agentRun({
      script: [call("a", { prompt: "a" }), say("Without it.")],
      tools: {
        a: child({}, [say("never")], {
          instructions: () => {
            throw new Error("no tenant");
          },
        }),
      },
    });
    const ended = await run.start();
    expect(ended).toMatchObject({ outcome: "completed", text: "Without it." });
    expect(ended.steps[0]).toMatchObject({ status: "failed" });
  });
});

describe("a rule that takes its time", () => {
  it("holds back no result of another call: it is in the log when the server dies", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = mortal(clock, store);
    const pay = recorder({
      approval: "allow",
      execute: () => new Promise((done) => clock.after(1_000, () => done("paid"))),
    });
    const wait = recorder({ readOnly: true, execute: () => new Promise((done) => clock.after(500, () => done("ok"))) });
    const slow = recorder({ approval: () => new Promise((allow) => clock.after(5_000, () => allow("allow"))) });
    const tools = {
      pay: pay.tool,
      helper: child({ wait: wait.tool, slow: slow.tool }, [call("wait", {}), call("slow", {}), say("Done.")]),
    };
    const script = [calls(call("pay", {}), call("helper", { prompt: "go" })), say("Done.")];
    const one = agentRun({ script, tools, clock, server: { clock: first.clock, store: first.store } as never });
    const two = agentRun({ script: [say("Done.")], tools, clock, server: { store } });
    const threadId = await one.begin();
    await clock.advance(4_000);
    first.kill();
    await clock.advance(40_000);
    await two.sweep();
    await clock.advance(0);
    const paid = (await two.read({ user, threadId }))?.steps.find(({ tool: name }) => name === "pay");
    expect(paid).toMatchObject({ status: "succeeded", output: "paid" });
  });

  it("is asked once, however often somebody writes meanwhile", async () => {
    const clock = fakeClock();
    let asked = 0;
    const slow = recorder({
      approval: () => {
        asked += 1;
        return new Promise((allow) => clock.after(2_000, () => allow("allow")));
      },
    });
    const run = agentRun({ script: [call("slow", {}), say("Done."), say("Done.")], tools: { slow: slow.tool }, clock });
    const threadId = await run.begin();
    for (let turn = 0; turn < 3; turn++) {
      await clock.advance(500);
      await run.send({ user, threadId, message: "And?" });
    }
    await clock.advance(5_000);
    expect([asked, slow.ran.length]).toEqual([1, 1]);
  });
});

describe("deny and stop", () => {
  it("starts nothing that waited for its turn", async () => {
    const clock = fakeClock();
    const ran: Json[] = [];
    const slow = tool({
      description: "Takes a second.",
      inputSchema: input,
      approval: "allow",
      sequential: true,
      execute: (given) => {
        ran.push(given as Json);
        return new Promise<string>((done) => clock.after(1_000, () => done("ok")));
      },
    });
    const run = agentRun({
      script: [calls(call("slow", { n: 1 }), call("slow", { n: 2 }), call("act", {})), say("never")],
      tools: { slow, act: recorder().tool },
      clock,
    });
    const threadId = await run.begin();
    const [step] = (await run.read({ user, threadId }))?.pending ?? [];
    if (step) await run.deny(step, { user, stop: true });
    await clock.advance(10_000);
    expect(ran).toEqual([{ n: 1 }]);
    expect(await run.read({ user, threadId })).toMatchObject({ outcome: "stopped", code: "denied" });
  });
});

describe("what an app's own code gets", () => {
  it("cannot be changed by onEvent: what was approved is what runs", async () => {
    const act = recorder({ readOnly: true });
    const run = agentRun({
      script: [call("act", { amount: 5, card: "4242" }), say("Done.")],
      tools: { act: act.tool },
      server: {
        onEvent: (event) => {
          if (event.type === "call-ready") delete (event.input as { card?: string }).card;
        },
      },
    });
    await run.start();
    expect(act.ran).toEqual([{ amount: 5, card: "4242" }]);
    expect(run.errors.length).toBeGreaterThan(0);
  });

  it.each([true, "go", 1, {}])("a hook that returns %j is a mistake, and no result", async (garbage) => {
    const act = recorder({ readOnly: true });
    const beforeTool = (() => garbage) as never;
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool }, hooks: { beforeTool } });
    expect((await run.start()).steps[0]).toMatchObject({ status: "failed", effect: "none" });
    expect(act.ran).toEqual([]);
  });

  it("what a gate says stays on the server", async () => {
    const check = ({ attempts }: { attempts: number }): true | string => attempts > 0 || "SECRET-GATE";
    const run = agentRun({ script: [say("A"), say("B")], gate: { maxAttempts: 3, check } });
    const { id } = await run.start();
    expect(await (await run.get(`/${id}`)).text()).not.toContain("SECRET-GATE");
    expect(await (await run.get(`/${id}/events?after=0`)).text()).not.toContain("SECRET-GATE");
    expect(JSON.stringify(run.model.requests[1])).toContain("SECRET-GATE");
  });
});

describe("what a person or a browser gives", () => {
  it("with a number that no double holds is refused, and nothing runs", async () => {
    const act = recorder();
    const run = agentRun({ script: [call("act", { id: 1 })], tools: { act: act.tool } });
    const { id, pending } = await run.start();
    const { id: callId = "", digest = "" } = pending[0] ?? {};
    const decision = { callId, digest, action: "approve", input: { id: "N" } };
    const body = JSON.stringify({ decisions: [decision], key: "k" }).replace('"N"', "1234567890123456789");
    const response = await run.handle(
      new Request(`https://shop.test/api/toolrun/threads/${id}/decisions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      }),
    );
    expect(response.status).toBe(400);
    expect(act.ran).toEqual([]);
  });

  it("for another input than the model's is told as such", async () => {
    const where = browserTool({ description: "Where?", inputSchema: input, outputSchema: input });
    const run = agentRun({ script: [call("where", { a: 1 }), say("Done.")], tools: { where } });
    const asked = await run.start();
    const approved = await (await run.approve(asked.pending, { user, input: { a: 2 } })).settled();
    await (await run.answer(approved.pending, { user, value: { at: "x" } })).settled();
    expect(JSON.stringify(lastResults(run.model.requests[1]))).toContain("The person changed the input");
  });

  it("to a question without an end can be given at any time", async () => {
    const asks = recorder({
      readOnly: true,
      execute: (_given, { answer }) => answer ?? ask({ prompt: "Which?", expiresInMs: Number.POSITIVE_INFINITY }),
    });
    const run = agentRun({ script: [call("asks", {}), say("Done.")], tools: { asks: asks.tool } });
    const asked = await run.start();
    const ended = await (await run.answer(asked.pending, { user, value: "this" })).settled();
    expect(ended.steps[0]).toMatchObject({ status: "succeeded", output: "this" });
  });
});
