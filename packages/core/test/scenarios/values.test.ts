import { describe, expect, it } from "vitest";
import * as z from "zod";
import { questionTool } from "../../src/agent/question-tool.ts";
import { call, say } from "../../src/testing/scripted-model.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { recorder, resultsIn, waiting } from "./play.ts";

const user = clerk;
const EMPTY = [false, 0, "", null];

describe("values", () => {
  it.each([
    ["[M+] a default the model left out is shown and run", { url: "u" }, { url: "u", dryRun: true }],
    [
      "[M+] an optional field that is there is kept",
      { url: "u", pages: "1-2" },
      { url: "u", pages: "1-2", dryRun: true },
    ],
  ])("%s", async (_title, input, ran) => {
    const inputSchema = z.object({ url: z.string(), dryRun: z.boolean().default(true), pages: z.string().optional() });
    const act = recorder("done", { inputSchema, readOnly: false });
    const run = agentRun({ script: [call("act", input), say("Done.")], tools: { act: act.tool } });
    const step = waiting(await run.start());
    expect(step.input).toEqual(ran);
    await (await run.approve(step, { user })).settled();
    expect(act.ran).toEqual([ran]);
  });

  it.each(EMPTY)("[M07] a tool's result of %j is a result", async (output) => {
    const act = recorder(output);
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    expect(await run.start()).toMatchObject({ outcome: "completed", steps: [{ status: "succeeded", output }] });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output, isError: false }]);
  });

  it.each(EMPTY)("[M07] a person's answer of %j is an answer, and the run goes on", async (value) => {
    const answerSchema = z.union([z.boolean(), z.number(), z.string(), z.null()]);
    const inputSchema = z.object({ question: z.string() });
    const question = questionTool({ description: "Ask.", inputSchema, answerSchema });
    const run = agentRun({ script: [call("question", { question: "Well?" }), say("Done.")], tools: { question } });
    const ended = await (await run.answer(waiting(await run.start()), { user, value })).settled();
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "succeeded", output: value }] });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: value, isError: false }]);
  });

  it("[M08] a call that waits for a person waits for a decision: reading it and time are none", async () => {
    const act = recorder("done", { readOnly: false });
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    const step = waiting(await run.start());
    for (let count = 0; count < 3; count++) {
      await run.get(`/${step.threadId}`);
      await (await run.get(`/${step.threadId}/events?after=0`)).text();
      await run.clock.advance(3_600_000);
    }
    expect((await run.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
    expect([act.ran, run.model.requests.length]).toEqual([[], 1]);
  });

  it("[M08 M-25] an answer with neither a value nor an error is no answer", async () => {
    const question = questionTool({
      description: "Ask.",
      inputSchema: z.object({ question: z.string() }),
      answerSchema: z.null(),
    });
    const run = agentRun({ script: [call("question", { question: "Well?" }), say("Done.")], tools: { question } });
    const step = waiting(await run.start());
    const decisions = [{ callId: step.id, digest: step.digest, action: "answer" }];
    await run.post(`/${step.threadId}/decisions`, { decisions, key: "k" });
    await run.clock.advance(0);
    expect((await run.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
    expect(run.model.requests).toHaveLength(1);
  });
});
