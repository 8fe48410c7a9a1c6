import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { PrepareTurn, TurnChanges, TurnContext } from "../../src/agent/prepare-turn.ts";
import { tool } from "../../src/agent/tool.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { stepThrough } from "../../src/loop/step-through.ts";
import { ModelError } from "../../src/model/model.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, fail, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk } from "../server/endpoint.ts";
import { mortal } from "../server/mortal.ts";
import type { AgentRunOptions } from "./agent-run.ts";
import { agentRun, lastResults, told } from "./agent-run.ts";

function counted(readOnly = true) {
  const ran: unknown[] = [];
  const made = tool({
    description: "Acts.",
    inputSchema: z.object({}),
    readOnly,
    execute: (input: unknown) => {
      ran.push(input);
      return "done";
    },
  });
  return { ran, made };
}

/** An agent with a tool to look and one to act, whose turns are set up as the test says. */
function prepared(prepareTurn: PrepareTurn, options: Partial<AgentRunOptions> = {}) {
  const [look, act] = [counted(), counted()];
  const run = agentRun({
    script: [call("look", {}), say("Done.")],
    tools: { look: look.made, act: act.made },
    instructions: "Be brief.",
    policy: () => "allow",
    prepareTurn,
    ...options,
  });
  return { run, look, act };
}

const offeredTo = (request: { readonly tools: readonly { readonly name: string }[] } | undefined) =>
  request?.tools.map(({ name }) => name);

describe("prepareTurn", () => {
  it("is told where the run is, once a turn, and changes nothing by returning nothing", async () => {
    const seen: TurnContext[] = [];
    const { run } = prepared((turn) => void seen.push(turn));
    const thread = await run.start("Look at it");
    expect(thread).toMatchObject({ outcome: "completed", text: "Done." });
    expect(
      seen.map(({ turn, attempt, model, tools, instructions, user }) => [
        turn,
        attempt,
        model,
        tools,
        instructions,
        user,
      ]),
    ).toEqual([
      [1, 1, "scripted", ["look", "act"], "Be brief.", clerk],
      [2, 1, "scripted", ["look", "act"], "Be brief.", clerk],
    ]);
    expect(seen[0]).toMatchObject({ threadId: thread.id, runId: thread.runId });
    expect(seen[1]?.thread.steps[0]).toMatchObject({ tool: "look", status: "succeeded" });
    expect(JSON.stringify(await run.events(thread.id))).not.toContain("offered");
  });

  it("cannot change the thread it is shown", async () => {
    const { run } = prepared(({ thread }) => {
      (thread.messages as unknown[]).push("mine");
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "failed", code: "hook-failed" });
    expect(thread.messages.filter(({ role }) => role === "user")).toHaveLength(1);
  });

  it("puts other instructions in the place of the agent's, for its turn alone", async () => {
    const { run } = prepared(({ turn }) => (turn === 1 ? { instructions: "Only look." } : undefined));
    await run.start();
    expect(run.model.requests.map(({ messages }) => messages[0])).toEqual([
      { role: "system", text: "Only look." },
      { role: "system", text: "Be brief." },
    ]);
  });

  it("gives a turn another model, and the log says which", async () => {
    const other = scriptedModel([say("By the other.")], { id: "house/other" });
    const { run } = prepared(({ turn }) => (turn === 2 ? { model: other } : undefined));
    const thread = await run.start();
    expect(thread.text).toBe("By the other.");
    expect((await run.thread(thread.id)).runs[0]?.turns[0]?.model).toBe("scripted");
    expect((await run.thread(thread.id)).runs[0]?.turn?.model).toBe("house/other");
    expect(other.requests).toHaveLength(1);
  });

  it("offers the tools it names, and the log says so on the server only", async () => {
    const { run } = prepared(() => ({ tools: ["look"] }));
    const thread = await run.start();
    expect(run.model.requests.map(offeredTo)).toEqual([["look"], ["look"]]);
    expect((await run.events(thread.id)).filter(({ type }) => type === "turn-started")).toMatchObject([
      { offered: ["look"] },
      { offered: ["look"] },
    ]);
    expect(JSON.stringify(await run.engine.store.read(thread.id))).toContain("offered");
    const stream = await (await run.get(`/${thread.id}/events`)).text();
    expect(stream).toContain("turn-started");
    expect(stream).not.toContain("offered");
  });

  it("without any tools sends none, and a call is refused", async () => {
    const { run, look } = prepared(({ turn }) => (turn === 1 ? { tools: [] } : undefined));
    const thread = await run.start();
    expect(offeredTo(run.model.requests[0])).toEqual([]);
    expect(thread.steps[0]).toMatchObject({ status: "failed", error: { code: "unknown-tool" } });
    expect(look.ran).toEqual([]);
  });

  it.each([
    ["auto", "auto"],
    ["required", "required"],
    [{ tool: "look" }, { tool: "look" }],
  ] as const)("passes the tool choice %j on to the model", async (toolChoice, expected) => {
    const { run, look } = prepared(({ turn }) => (turn === 1 ? { toolChoice } : undefined));
    await run.start();
    expect(run.model.requests.map((request) => request.toolChoice)).toEqual([expected, undefined]);
    expect(look.ran).toHaveLength(1);
  });

  it("names a tool to the model by the name the model knows", async () => {
    const run = agentRun({
      script: [say("Done.")],
      tools: { "look it up!": counted().made },
      prepareTurn: () => ({ toolChoice: { tool: "look it up!" } }),
    });
    await run.start();
    const [request] = run.model.requests;
    expect(request?.toolChoice).toEqual({ tool: request?.tools[0]?.name });
    expect(request?.tools[0]?.name).not.toBe("look it up!");
  });

  it("is asked again for another attempt, which may be set up otherwise", async () => {
    const attempts: number[] = [];
    const { run } = prepared(
      ({ attempt }) => {
        attempts.push(attempt);
        return attempt === 1 ? { tools: ["look"] } : undefined;
      },
      { script: [fail("busy"), say("Done.")] },
    );
    await run.begin();
    await run.clock.advance(500);
    expect(attempts).toEqual([1, 2]);
    expect(run.model.requests.map(offeredTo)).toEqual([["look"], ["look", "act"]]);
  });

  it("sets up the turns of the agent it belongs to, not those of its sub-agents", async () => {
    const inner = scriptedModel([say("Found.")]);
    const asked: string[] = [];
    const worker = defineAgent({
      model: inner,
      tools: { inside: counted().made },
      prepareTurn: ({ tools }) => {
        asked.push(`inner ${tools}`);
        return { tools: [] };
      },
    });
    const { run } = prepared(({ tools }) => void asked.push(`outer ${tools}`), {
      script: [call("research", { prompt: "Find it." }), say("Done.")],
      tools: { research: agentTool({ description: "x", agent: worker }) },
    });
    expect(await run.start()).toMatchObject({ outcome: "completed" });
    expect(asked).toEqual(["outer research", "inner inside", "outer research"]);
    expect(inner.requests.map(offeredTo)).toEqual([[]]);
  });
});

describe("a tool that a turn hides", () => {
  const script = [calls(call("look", {}), call("act", {})), say("Sorry.")];

  it.each([
    ["by its list of tools", { tools: ["look"] }],
    ["with the choice of none", { toolChoice: "none" }],
  ] as const)(
    "%s is refused when the model calls it all the same, though a policy allows it",
    async (_how, changes) => {
      const { run, act } = prepared(({ turn }) => (turn === 1 ? changes : undefined), { script });
      const thread = await run.start();
      const step = thread.steps.find((each) => each.tool === "act");
      expect(step).toMatchObject({ status: "failed", error: { code: "unknown-tool" } });
      expect(act.ran).toEqual([]);
      expect(lastResults(run.model.requests[1])[1]).toContain("There is no tool named act");
      expect(thread.outcome).toBe("completed");
    },
  );

  it("runs in the next turn, which shows it", async () => {
    const { run, act } = prepared(({ turn }) => (turn === 1 ? { tools: ["look"] } : undefined), {
      script: [call("act", {}), call("act", {}), say("Done.")],
    });
    const thread = await run.start();
    expect(thread.steps.map(({ status }) => status)).toEqual(["failed", "succeeded"]);
    expect(act.ran).toHaveLength(1);
  });

  it("stays refused for whoever takes over before its result was told, and asks nobody", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = mortal(clock, store);
    const wait = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      idempotent: true,
      execute: () => (first.clock.armed > 0 ? new Promise(() => undefined) : "done"),
    });
    const act = counted(false);
    const tools = { wait, act: act.made };
    const dead = agentRun({
      script: [calls(call("wait", {}), call("act", {}))],
      tools,
      prepareTurn: () => ({ tools: ["wait"] }),
      clock: first.clock,
      server: { store: first.store },
    });
    // The other server has no such rule: what was offered is not decided anew.
    const alive = agentRun({
      script: [say("Done.")],
      tools: { ...tools, wait: counted().made },
      clock,
      server: { store },
    });
    const threadId = await dead.begin();
    first.kill();
    await clock.advance(30_000);
    await alive.sweep();
    await clock.advance(0);
    const thread = await alive.read({ user: clerk, threadId });
    expect(thread?.steps.find(({ tool: name }) => name === "act")).toMatchObject({
      status: "failed",
      error: { code: "unknown-tool" },
    });
    expect(thread?.pending.map(({ tool: name }) => name)).not.toContain("act");
    expect(act.ran).toEqual([]);
  });
});

describe("a limit and prepareTurn", () => {
  it("the last answer has no tools, whatever it returns", async () => {
    const seen: (readonly string[])[] = [];
    const { run, look } = prepared(
      ({ tools }) => {
        seen.push(tools);
        return { tools: ["look"], toolChoice: "required", instructions: "Always look." };
      },
      { script: [call("look", {}), call("look", {})], limits: { turns: 2 } },
    );
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns" });
    expect(seen).toEqual([["look", "act"], []]);
    expect(run.model.requests[1]).toMatchObject({ tools: [], messages: [{ text: "Always look." }, {}, {}, {}, {}] });
    expect(run.model.requests[1]?.toolChoice).toBeUndefined();
    expect(look.ran).toHaveLength(1);
  });
});

describe("a prepareTurn that is wrong", () => {
  const throwing = (): never => {
    throw new Error("secret reason");
  };

  it.each<[string, () => unknown, RegExp]>([
    ["throws", throwing, /secret reason/],
    ["rejects", async () => throwing(), /secret reason/],
    [
      "names a tool there is not",
      () => ({ tools: ["look", "ghost"] }),
      /prepareTurn named the tool "ghost"; there are look, act/,
    ],
    ["names a property every object has", () => ({ tools: ["constructor"] }), /named the tool "constructor"/],
    ["chooses a tool there is not", () => ({ toolChoice: { tool: "ghost" } }), /named the tool "ghost"/],
    [
      "chooses a tool it hid",
      () => ({ tools: ["look"], toolChoice: { tool: "act" } }),
      /chose the tool "act", which it hid/,
    ],
    [
      "requires a tool and offers none",
      () => ({ tools: [], toolChoice: "required" }),
      /requires a tool, and offers none/,
    ],
    ["makes up a choice", () => ({ toolChoice: "any" }), /toolChoice "any"; it is "auto"/],
    [
      "returns a key of another library",
      () => ({ activeTools: ["look"] }),
      /returned "activeTools"; it may return model, tools/,
    ],
    ["returns a text", () => "look", /returned string/],
    ["returns null tools", () => ({ tools: null }), /no list of names/],
    ["returns instructions that are no text", () => ({ instructions: 3 }), /instructions that are no text/],
    ["returns no model", () => ({ model: "gpt" }), /model is the text "gpt"/],
    ["returns an empty list of models", () => ({ model: [] }), /lists 0 models/],
  ])("that %s ends the run as failed; the reason stays on the server", async (_what, wrong, reason) => {
    const { run } = prepared(wrong as PrepareTurn);
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "failed", code: "hook-failed" });
    expect(run.model.requests).toEqual([]);
    const reported = run.errors.map((error) => `${error} ${error instanceof Error ? error.cause : ""}`).join();
    expect(reported).toMatch(reason);
    const events = await run.events(thread.id);
    expect(events.find(({ type }) => type === "attempt-failed")).toMatchObject({ error: { code: "hook-failed" } });
    expect(JSON.stringify(events)).not.toMatch(reason);
    expect(run.clock.armed).toBe(0);
  });

  it("and that never answers ends it after ten seconds", async () => {
    const { run } = prepared(() => new Promise(() => undefined));
    const threadId = await run.begin();
    await run.clock.advance(10_000);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "failed", code: "hook-failed" });
    expect(run.clock.armed).toBe(0);
  });

  it("and that never answers does not hold up a stop", async () => {
    const { run } = prepared(() => new Promise(() => undefined));
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(0);
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "stopped" });
    expect(run.model.requests).toEqual([]);
  });

  it("is asked anew when a message comes while it thinks, and the turn reads it", async () => {
    const seen: number[] = [];
    let release: (changes: TurnChanges) => void = () => undefined;
    const { run } = prepared(
      ({ thread }) => {
        seen.push(thread.messages.length);
        return seen.length === 1 ? new Promise((resolve) => (release = resolve)) : { instructions: "Second." };
      },
      { script: [say("Done.")] },
    );
    const threadId = await run.begin("One");
    await run.send({ user: clerk, threadId, message: "Two" });
    await run.clock.advance(0);
    release({ instructions: "First." });
    await run.clock.advance(0);
    expect(seen).toEqual([1, 2]);
    expect(told(run.model.requests[0])).toContain("Two");
    expect(told(run.model.requests[0])).toContain("Second.");
    expect(run.model.requests).toHaveLength(1);
  });
});

describe("prepareTurn without a server", () => {
  it("sets up runAgent's turns, and the result says which model answered", async () => {
    const other = scriptedModel([say("By the other.")], { id: "house/other" });
    const agent = defineAgent({ model: scriptedModel([]), prepareTurn: () => ({ model: other }) });
    expect(await runAgent(agent, "Go")).toMatchObject({ status: "done", text: "By the other.", model: "house/other" });
  });

  it("a run that is stopped as its turn begins asks no model, those of prepareTurn included", async () => {
    const other = scriptedModel([say("Too late.")]);
    const stop = new AbortController();
    const agent = defineAgent({ model: scriptedModel([]), prepareTurn: () => ({ model: other }) });
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type === "turn-started") stop.abort();
    };
    expect(await runAgent(agent, "Go", { signal: stop.signal, onEvent })).toMatchObject({ status: "aborted" });
    expect(other.requests).toEqual([]);
  });

  it("what a caller edits between turns reaches the model that prepareTurn gives", async () => {
    const other = scriptedModel([call("look", {}), say("Done.")]);
    const agent = defineAgent({
      model: scriptedModel([]),
      tools: { look: counted().made },
      prepareTurn: () => ({ model: other }),
    });
    const run = stepThrough(agent, "Go");
    const step = await run.next();
    if (step.type !== "yielded") throw new Error("no turn");
    (step.messages as unknown[])[0] = { role: "user", parts: [{ type: "text", text: "Edited." }] };
    step.continue();
    await run.finish();
    expect(told(other.requests[1])).toContain("Edited.");
  });

  it("a failure that is not worth another attempt of a model it gave fails the run", async () => {
    const refusing = scriptedModel([fail(new ModelError("no", { retryable: false }))]);
    const agent = defineAgent({ model: scriptedModel([say("x")]), prepareTurn: () => ({ model: refusing }) });
    await expect(runAgent(agent, "Go", { onError: () => undefined })).rejects.toMatchObject({ code: "model-failed" });
  });
});
