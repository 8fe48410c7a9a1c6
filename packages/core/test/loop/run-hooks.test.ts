import { describe, expect, it } from "vitest";
import * as z from "zod";
import { questionTool } from "../../src/agent/question-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { clerk } from "../server/endpoint.ts";
import { agentRun } from "./agent-run.ts";

describe("a hook before a tool", () => {
  it("that comes back after the tool's time starts nothing any more", async () => {
    let ran = 0;
    let release: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = tool({
      description: "Acts.",
      inputSchema: z.object({}),
      readOnly: true,
      timeoutMs: 1_000,
      execute: () => ++ran,
    });
    const run = agentRun({
      script: [call("slow", {}), say("Too late.")],
      tools: { slow },
      hooks: { beforeTool: () => late },
    });
    const threadId = await run.begin();
    await run.clock.advance(1_000);
    release();
    await run.clock.advance(0);
    const thread = await run.read({ user: clerk, threadId });
    expect(thread?.steps[0]).toMatchObject({ status: "failed", error: { code: "timed-out" } });
    expect(ran).toBe(0);
  });

  it("that comes back after a stop starts nothing, and the step says that nothing happened", async () => {
    let ran = 0;
    let release: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      release = resolve;
    });
    const act = tool({ description: "Acts.", inputSchema: z.object({}), readOnly: true, execute: () => ++ran });
    const run = agentRun({ script: [call("act", {})], tools: { act }, hooks: { beforeTool: () => late } });
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(0);
    release();
    await run.clock.advance(0);
    const thread = await run.read({ user: clerk, threadId });
    expect(thread).toMatchObject({ outcome: "stopped" });
    expect(thread?.steps[0]).toMatchObject({ status: "failed", error: { code: "stopped" }, effect: "none" });
    expect(ran).toBe(0);
  });
});

describe("a held turn", () => {
  it("asks its questions before anything of it runs", async () => {
    let ran = 0;
    const act = tool({ description: "Acts.", inputSchema: z.object({}), readOnly: true, execute: () => ++ran });
    const which = questionTool({ description: "Asks.", answerSchema: z.string() });
    const run = agentRun({
      script: [calls(call("act", {}), call("which", { question: "Which one?" })), say("Done.")],
      tools: { act, which },
      holdTurn: true,
    });
    const asked = await run.start();
    expect(asked.pending.map(({ tool }) => tool)).toEqual(["which"]);
    expect(ran).toBe(0);
    const ended = await (await run.answer(asked.pending, { user: clerk, value: "this" })).settled();
    expect(ended).toMatchObject({ outcome: "completed", text: "Done." });
    expect(ran).toBe(1);
  });
});
