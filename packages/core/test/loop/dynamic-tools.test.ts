import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { DynamicToolsContext, Tool } from "../../src/agent/agent.ts";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { wireToolName } from "../../src/model/tool-name.ts";
import type { View } from "../../src/protocol/typed.ts";
import { call, calls, delay, fail, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { clerk } from "../server/endpoint.ts";
import { agentRun, lastResults } from "./agent-run.ts";

const ran: string[] = [];

function named(name: string, options: Partial<Parameters<typeof tool>[0]> = {}): Tool {
  const execute = (): string => {
    ran.push(name);
    return `${name} ran`;
  };
  return tool({ description: name, inputSchema: z.object({}), readOnly: true, execute, ...options });
}

/** A source of tools that counts, and may be other next time. */
function source(first: Readonly<Record<string, Tool>>) {
  const asked: DynamicToolsContext[] = [];
  const made = { asked, tools: first, failures: 0, load };
  function load(context: DynamicToolsContext): Readonly<Record<string, Tool>> {
    asked.push(context);
    if (made.failures > 0) {
      made.failures--;
      throw new Error("The server of the tools is down.");
    }
    return made.tools;
  }
  return made;
}

const only = (view: View) => {
  const [step] = view.pending;
  if (!step) throw new Error("Nothing waits.");
  return step;
};

describe("[M-50] dynamicTools", () => {
  test("are offered beside the agent's own and run like them", async () => {
    const from = source({ search: named("search") });
    const run = agentRun({
      tools: { own: named("own") },
      dynamicTools: from.load,
      script: [calls(call("search", {}), call("own", {})), say("Done.")],
    });
    const view = await run.start();
    expect(view).toMatchObject({ outcome: "completed", steps: [{ status: "succeeded" }, { status: "succeeded" }] });
    expect(run.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["own", "search"]);
    expect(from.asked[0]).toMatchObject({ user: clerk, threadId: view.id, runId: expect.any(String) });
    expect(run.errors).toEqual([]);
  });

  test("are loaded once for each turn, however many attempts it takes", async () => {
    const from = source({ search: named("search") });
    const run = agentRun({ dynamicTools: from.load, script: [fail("busy"), call("search", {}), say("Done.")] });
    await run.begin();
    await run.clock.advance(1_000);
    expect(run.model.requests).toHaveLength(3);
    expect(from.asked).toHaveLength(2);
  });

  test("a turn sees the tools of its own time", async () => {
    const from = source({ search: named("search") });
    const script = [
      call("search", {}),
      () => {
        from.tools = {};
        return call("search", {});
      },
      say("Done."),
    ];
    const run = agentRun({ dynamicTools: from.load, script });
    await run.start();
    expect(run.model.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 0]);
  });

  test("that have the name of another tool, for us or for the model, are left out and reported", async () => {
    const own = named("own");
    const from = source({
      search: named("other search"),
      "a b": named("one"),
      // What "a b" is called for the model.
      [wireToolName("a b")]: named("two"),
      sub: agentTool({ agent: defineAgent({ model: scriptedModel([]) }), description: "x" }),
      nonsense: {} as never,
    });
    const run = agentRun({
      tools: { search: own },
      dynamicTools: from.load,
      script: [call("search", {}), say("Done.")],
    });
    ran.length = 0;
    await run.start();
    expect(ran).toEqual(["own"]);
    expect(run.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["search", wireToolName("a b")]);
    const reasons = run.errors.slice(0, 4).map(String);
    expect(reasons).toEqual([
      expect.stringContaining('"search" was left out: search has that name'),
      expect.stringContaining("was left out: a b has that name"),
      expect.stringContaining('"sub" was left out: an agent tool belongs into `tools`'),
      expect.stringContaining("tools.nonsense is not a tool"),
    ]);
  });

  test.each(["__proto__", "constructor", "toString"])("may be called %s", async (name) => {
    const from = source(JSON.parse(`{${JSON.stringify(name)}:null}`));
    from.tools = Object.fromEntries([[name, named(name)]]);
    const run = agentRun({ dynamicTools: from.load, script: [call(name, {}), say("Done.")] });
    expect((await run.start()).steps).toMatchObject([{ tool: name, status: "succeeded", output: `${name} ran` }]);
  });

  test("a failure to load them fails the attempt, which is tried again", async () => {
    const from = source({ search: named("search") });
    from.failures = 2;
    const run = agentRun({ dynamicTools: from.load, script: [call("search", {}), say("Done.")] });
    const threadId = await run.begin();
    expect(run.model.requests).toHaveLength(0);
    await run.clock.advance(500);
    expect(run.model.requests).toHaveLength(0);
    await run.clock.advance(1_000);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed" });
    expect(from.asked).toHaveLength(4);
    const failures = (await run.events(threadId)).filter(({ type }) => type === "attempt-failed");
    expect(failures).toMatchObject([{ error: { code: "tools-failed" } }, { error: { code: "tools-failed" } }]);
    expect(JSON.stringify(failures)).not.toContain("is down");
    expect(run.errors.map(String)).toEqual(Array(2).fill("Error: The server of the tools is down."));
  });

  test("a run whose tools never load fails as tools-failed, without asking the model", async () => {
    const from = source({});
    from.failures = Number.POSITIVE_INFINITY;
    const run = agentRun({ dynamicTools: from.load, script: [] });
    const threadId = await run.begin();
    await run.clock.advance(10_000);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "tools-failed" });
    expect(run.model.requests).toHaveLength(0);
    expect(run.clock.armed).toBe(0);
  });

  test("that never come are waited for 10 s, and their signal aborts", async () => {
    const signals: AbortSignal[] = [];
    const run = agentRun({
      dynamicTools: ({ signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
      modelAttempts: 1,
      script: [],
    });
    const threadId = await run.begin();
    await run.clock.advance(9_999);
    expect((await run.thread(threadId)).active).toHaveLength(1);
    await run.clock.advance(1);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "tools-failed" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test.each([[undefined], [null], ["search"], [3]])("%s in their place fails the attempt", async (given) => {
    const run = agentRun({ dynamicTools: () => given as never, modelAttempts: 1, script: [] });
    expect(await run.start()).toMatchObject({ outcome: "failed" });
    expect(String(run.errors[0])).toContain("dynamicTools returned no record of tools");
  });

  test("a stop is heard while they load", async () => {
    const signals: AbortSignal[] = [];
    const run = agentRun({
      dynamicTools: ({ signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
      script: [],
    });
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(0);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "stopped" });
    expect(signals[0]?.aborted).toBe(true);
    expect(run.clock.armed).toBe(0);
  });

  test("an approved call finds its tool again in another drive", async () => {
    const from = source({ pay: named("pay", { readOnly: false }) });
    const run = agentRun({ dynamicTools: from.load, script: [call("pay", {}), say("Done.")] });
    const waiting = await run.start();
    const done = await (await run.approve(only(waiting), { user: clerk })).settled();
    expect(done.steps).toMatchObject([{ status: "succeeded", output: "pay ran" }]);
    expect(done.outcome).toBe("completed");
  });

  test("a definition that changed while its call waited cannot be approved any more", async () => {
    const from = source({ pay: named("pay", { readOnly: false }) });
    const run = agentRun({ dynamicTools: from.load, script: [call("pay", {})] });
    const waiting = await run.start();
    from.tools = { pay: named("pay", { readOnly: false, inputSchema: z.object({ all: z.boolean() }) }) };
    await expect(run.approve(only(waiting), { user: clerk })).rejects.toMatchObject({ code: "tool-changed" });
    from.tools = {};
    await expect(run.approve(only(waiting), { user: clerk })).rejects.toMatchObject({ code: "tool-changed" });
  });

  test("a definition that changed between approval and start is not run; the new one asks anew", async () => {
    const from = source({ pay: named("pay", { readOnly: false }) });
    const later = { pay: named("pay", { readOnly: false, destructive: true }) };
    const load = (context: DynamicToolsContext): Readonly<Record<string, Tool>> => {
      const given = from.load(context);
      if (from.asked.length === 2) from.tools = later; // the approval has looked at it
      return given;
    };
    const run = agentRun({ dynamicTools: load, script: [call("pay", {}), call("pay", {}), say("Done.")] });
    ran.length = 0;
    const waiting = await run.start();
    const again = await (await run.approve(only(waiting), { user: clerk })).settled();
    expect(again.steps).toMatchObject([
      { status: "not-run", reason: "blocked" },
      { status: "waiting", destructive: true },
    ]);
    expect(ran).toEqual([]);
    expect(lastResults(run.model.requests[1])).toEqual([expect.stringContaining("NOT run")]);
  });

  test("when they cannot be loaded for a decision, the step goes on waiting", async () => {
    const from = source({ pay: named("pay", { readOnly: false }) });
    const run = agentRun({ dynamicTools: from.load, script: [call("pay", {}), say("Done.")] });
    const waiting = await run.start();
    from.failures = 1;
    await expect(run.approve(only(waiting), { user: clerk })).rejects.toMatchObject({ code: "unavailable" });
    const done = await (await run.approve(only(waiting), { user: clerk })).settled();
    expect(done.steps).toMatchObject([{ status: "succeeded" }]);
  });

  test("when they are back at the third try after a decision, the call runs", async () => {
    const from = source({ pay: named("pay", { readOnly: false }) });
    const load = (context: DynamicToolsContext): Readonly<Record<string, Tool>> => {
      if (from.asked.length === 2) from.failures = 2;
      return from.load(context);
    };
    const run = agentRun({ dynamicTools: load, script: [call("pay", {}), say("Done.")] });
    const waiting = await run.start();
    await run.approve(only(waiting), { user: clerk });
    await run.clock.advance(5_000);
    const thread = await run.thread(waiting.id);
    expect(thread.runs[0]?.turns[0]?.calls).toMatchObject([{ status: "succeeded", attempt: 1 }]);
  });

  test("when they cannot be loaded after a decision, the call is not run after three tries", async () => {
    const from = source({ pay: named("pay", { readOnly: false }) });
    const load = (context: DynamicToolsContext): Readonly<Record<string, Tool>> => {
      if (from.asked.length === 2) from.failures = 3;
      return from.load(context);
    };
    const run = agentRun({ dynamicTools: load, script: [call("pay", {}), say("Done.")] });
    ran.length = 0;
    const waiting = await run.start();
    await run.approve(only(waiting), { user: clerk });
    await run.clock.advance(5_000);
    const thread = await run.thread(waiting.id);
    expect(thread.runs[0]?.turns[0]?.calls).toMatchObject([{ status: "not-run", reason: "blocked", effect: "none" }]);
    expect(thread.runs[0]?.outcome).toBe("completed");
    expect(ran).toEqual([]);
  });

  test("of a sub-agent are its own", async () => {
    const from = source({ search: named("search") });
    const below = scriptedModel([call("search", {}), say("Found.")]);
    const helper = defineAgent({ model: below, dynamicTools: from.load });
    const run = agentRun({
      tools: { help: agentTool({ agent: helper, description: "Helps." }) },
      script: [call("help", { prompt: "Look" }), say("Done.")],
    });
    const view = await run.start();
    expect(view.steps).toMatchObject([
      { tool: "help", status: "succeeded", output: "Found." },
      { tool: "search", status: "succeeded" },
    ]);
    expect(run.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["help"]);
  });

  test("take no longer than a request has", async () => {
    const from = source({
      hangs: named("hangs", { timeoutMs: 60_000, execute: () => new Promise(() => undefined) }),
    });
    const run = agentRun({
      dynamicTools: from.load,
      server: { maxRequestMs: 10_000 },
      script: [calls(call("hangs", {})), say("Done.")],
    });
    const threadId = await run.begin();
    await run.clock.advance(10_000);
    const [call0] = (await run.thread(threadId)).runs[0]?.turns[0]?.calls ?? [];
    expect(call0).toMatchObject({ status: "failed", error: { code: "timed-out" } });
  });

  test("work in memory too", async () => {
    const agent = defineAgent({
      model: scriptedModel([call("search", {}), say("Done.")]),
      dynamicTools: () => ({ search: named("search") }),
    });
    expect(await runAgent(agent, "Go")).toMatchObject({ text: "Done." });
  });

  test("are not loaded for a last answer without tools", async () => {
    const from = source({ search: named("search") });
    const run = agentRun({
      dynamicTools: from.load,
      limits: { turns: 2 },
      script: [call("search", {}), say("That is all.")],
    });
    await run.start();
    expect(run.model.requests).toHaveLength(2);
    expect(from.asked).toHaveLength(1);
  });

  test("results of those that change something are kept where old results are masked", async () => {
    const large = "x".repeat(10_000);
    const made = (name: string, readOnly: boolean): Tool =>
      named(name, { readOnly, approval: "allow", execute: () => large });
    const run = agentRun({
      dynamicTools: () => ({ look: made("look", true), pay: made("pay", false) }),
      history: { mask: { olderThanTurns: 1 } },
      script: [calls(call("look", {}), call("pay", {})), call("look", {}), say("Done.")],
    });
    await run.start();
    const first = run.model.requests[2]?.messages.find(({ role }) => role === "tool");
    const outputs = first?.role === "tool" ? first.results.map(({ output }) => output === large) : [];
    expect(outputs).toEqual([false, true]);
  });

  test("a model that is slow does not keep them busy", async () => {
    const from = source({ search: named("search") });
    const run = agentRun({ dynamicTools: from.load, script: [calls(say("Hm"), delay(5_000), say(", yes."))] });
    const threadId = await run.begin();
    await run.clock.advance(5_000);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed" });
    expect(from.asked).toHaveLength(1);
  });
});
