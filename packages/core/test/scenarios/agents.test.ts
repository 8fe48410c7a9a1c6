import { describe, expect, it } from "vitest";
import type { Agent, Tool } from "../../src/agent/agent.ts";
import { agentTool } from "../../src/agent/agent-tool.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { ModelError } from "../../src/model/model.ts";
import type { Script, ScriptedModel } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, fail, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { callsOf, count, recorder, resultsIn, runOf, textsIn, waiting } from "./play.ts";

const user = clerk;
const usage = (inputTokens: number, outputTokens: number, reason: string) =>
  ({ type: "end", reason, usage: { inputTokens, outputTokens } }) as const;

type Options = Omit<AgentOptions<Readonly<Record<string, Tool>>>, "model">;

function agentOf(script: Script, options: Options = {}): { agent: Agent; model: ScriptedModel } {
  const model = scriptedModel(script);
  return { agent: defineAgent({ ...options, model }), model };
}

/** A manager that hands its task to a researcher, and then answers. */
function managed(researcher: Agent, options: Partial<AgentRunOptions> = {}) {
  const research = agentTool({ agent: researcher, description: "Ask the researcher." });
  return agentRun({
    script: [call("research", { prompt: "Find order 1042." }), say("Done.")],
    tools: { research },
    ...options,
  });
}

describe("[M-31] agents as tools", () => {
  it("[M-31] the result is the last words only; the task is all it is told; usage is rolled up", async () => {
    const find = recorder("paid");
    const { agent, model } = agentOf(
      [
        calls(say("Let me look."), call("find", {}), usage(10, 1, "tools")),
        calls(say("It is paid."), usage(20, 2, "stop")),
      ],
      { tools: { find: find.tool }, instructions: "Be exact." },
    );
    const run = managed(agent, { instructions: "Be kind." });
    const thread = await run.start("What about it?");
    expect(thread).toMatchObject({ outcome: "completed", text: "Done." });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "It is paid.", isError: false }]);
    expect(textsIn(model.requests[0], "user")).toEqual(["Find order 1042."]);
    expect(textsIn(model.requests[0], "system")).toEqual(["Be exact."]);
    expect(thread.usage).toEqual({ inputTokens: 30, outputTokens: 3 });
    expect(thread.steps.map(({ tool, children }) => [tool, children.length])).toEqual([
      ["research", 1],
      ["find", 0],
    ]);
  });

  it("[M-31 A24] what one waits for is in the same list, and its answer goes to it", async () => {
    const refund = recorder("refunded", { readOnly: false });
    const { agent, model } = agentOf([call("refund", { id: 1 }), say("Refunded.")], { tools: { refund: refund.tool } });
    const run = managed(agent);
    const thread = await run.start();
    expect(thread.status).toBe("waiting");
    const step = waiting(thread);
    expect([step.tool, refund.ran]).toEqual(["refund", []]);
    const ended = await (await run.approve(step, { user })).settled();
    expect(refund.ran).toEqual([{ id: 1 }]);
    expect(ended).toMatchObject({ outcome: "completed", text: "Done." });
    expect([run.model.requests.length, model.requests.length]).toEqual([2, 2]);
  });

  it("[M-31] one that fails is a failed call, and the run that asked goes on", async () => {
    const { agent } = agentOf([fail(new ModelError("secret words", { retryable: false }))]);
    const run = managed(agent);
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", steps: [{ status: "failed" }] });
    expect(JSON.stringify(run.model.requests[1])).not.toContain("secret words");
    expect(resultsIn(run.model.requests[1])[0]?.isError).toBe(true);
  });

  it("[M-31 M-30 A17] a stop ends both: leaf first, one end each, and no model is asked again", async () => {
    const { agent, model } = agentOf([calls(say("Looking"), delay(Number.POSITIVE_INFINITY))]);
    const run = managed(agent);
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    await run.clock.advance(2_000);
    const events = await run.events(threadId);
    const [root, child] = events.flatMap((event) => (event.type === "run-started" ? [event.runId] : []));
    const ends = events.flatMap((event) => (event.type === "run-ended" ? [event.runId] : []));
    expect(ends).toEqual([child, root]);
    expect([run.model.requests.length, model.requests.length]).toEqual([1, 1]);
    const open = callsOf(runOf(await run.thread(threadId))).filter(({ status }) => status === "running");
    expect(open).toEqual([]);
  });

  it("[M-31] calls of one count for the limit of the agent above it", async () => {
    const find = recorder("paid");
    const { agent } = agentOf([call("find", { n: 1 }), call("find", { n: 2 }), say("It is paid.")], {
      tools: { find: find.tool },
    });
    const run = managed(agent, { limits: { calls: 2 } });
    const thread = await run.start();
    expect(find.ran).toHaveLength(1);
    expect(thread).toMatchObject({ outcome: "limited", limit: "calls" });
  });
});

describe("[M-31] depth", () => {
  /** Agents below agents, the innermost of which answers. */
  const nested = (levels: number): { agent: Agent; models: ScriptedModel[] } => {
    const innermost = agentOf([say("deep")]);
    const models = [innermost.model];
    let { agent } = innermost;
    for (let level = 1; level < levels; level++) {
      const made = agentOf(
        [call("down", { prompt: "go" }), ([result]) => say(String(result?.output ?? result?.status))],
        {
          tools: { down: agentTool({ agent, description: "Go down." }) },
        },
      );
      models.unshift(made.model);
      agent = made.agent;
    }
    return { agent, models };
  };

  const below = async (levels: number, depth: number | undefined) => {
    const { agent, models } = nested(levels);
    const run = managed(agent, { limits: depth === undefined ? {} : { depth } });
    const thread = await run.start();
    return { thread, run, asked: models.map((model) => model.requests.length) };
  };

  it("[#105] case 1 of 3: one level may be one deep; the next is not started, and its call says why", async () => {
    const { thread, run, asked } = await below(2, 1);
    expect(asked).toEqual([2, 0]);
    expect(thread.outcome).toBe("completed");
    const blocked = thread.steps.find(({ tool }) => tool === "down");
    expect(blocked).toMatchObject({ status: "not-run", reason: "blocked" });
    const reached = (await run.events(thread.id)).filter(({ type }) => type === "limit-reached");
    expect(reached).toMatchObject([{ limit: "depth" }]);
  });

  it("[#105] case 2 of 3: depth grows from agent to agent, three by default", async () => {
    const { thread, run, asked } = await below(3, undefined);
    expect(asked).toEqual([2, 2, 1]);
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "deep", isError: false }]);
    const depths = (await run.events(thread.id)).flatMap((event) =>
      event.type === "run-started" ? [event.depth] : [],
    );
    expect(depths).toEqual([0, 1, 2, 3]);
    expect(count(await run.events(thread.id), "run-ended")).toBe(4);
  });

  it("[#105] case 3 of 3: a fourth level is not started", async () => {
    const { thread, asked } = await below(4, undefined);
    expect(asked).toEqual([2, 2, 2, 0]);
    expect(thread.outcome).toBe("completed");
  });
});
