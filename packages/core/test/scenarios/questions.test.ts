import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ask } from "../../src/agent/ask.ts";
import { questionTool } from "../../src/agent/question-tool.ts";
import type { ToolContext } from "../../src/agent/tool-context.ts";
import { NO_ANSWER } from "../../src/model/call-result.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { foldStream } from "../server/sse.ts";
import { callsOf, notesIn, recorder, resultsIn, runOf, waiting } from "./play.ts";
import { BANK_URL, balance, banking } from "./runs.ts";

const user = clerk;
const color = questionTool({
  description: "Ask for a color.",
  inputSchema: z.object({ question: z.string() }),
  answerSchema: z.enum(["red", "green"]),
});

describe("[M-22] a tool that needs a person", () => {
  it("[#66] shows a link, runs again with the answer, and its result is told", async () => {
    const { run, attempts } = banking();
    const step = waiting(await run.start());
    expect(step.ask).toMatchObject({ kind: "link", prompt: "Connect your bank.", url: BANK_URL });
    const ended = await (await run.answer(step, { user, value: "connected" })).settled();
    expect(attempts).toEqual([undefined, "connected"]);
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "succeeded", output: { balance: 12 } }] });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: { balance: 12 }, isError: false }]);
  });

  it("[#67] waits, with the link, for as long as nobody answers", async () => {
    const { run, attempts } = banking();
    const thread = await run.start();
    await run.clock.advance(86_400_000);
    expect(thread).toMatchObject({ status: "waiting", pending: [{ ask: { kind: "link", url: BANK_URL } }] });
    expect((await run.read({ user, threadId: thread.id }))?.status).toBe("waiting");
    expect([attempts.length, run.model.requests.length, run.clock.armed]).toEqual([1, 1, 0]);
  });

  it("[#69] is no failure while it waits, and a hook sees one end", async () => {
    const after: unknown[] = [];
    const { run } = banking({
      limits: { failures: 1 },
      hooks: { afterTool: ({ output }) => void after.push(output) },
    });
    const step = waiting(await run.start());
    expect(step).toMatchObject({ status: "waiting", error: undefined });
    const ended = await (await run.answer(step, { user, value: null })).settled();
    expect(after).toEqual([{ balance: 12 }]);
    expect(ended).toMatchObject({ outcome: "completed" });
    expect(run.errors).toEqual([]);
  });

  it("[#70] a rule asks, and then the real tool runs", async () => {
    const add = recorder(({ a, b }: { a: number; b: number }) => a + b);
    const run = agentRun({
      script: [call("add", { a: 1, b: 2 }), say("3")],
      tools: { add: add.tool },
      policy: () => "ask",
    });
    const ended = await (await run.approve(waiting(await run.start()), { user })).settled();
    expect([ended.steps[0]?.output, add.ran]).toEqual([3, [{ a: 1, b: 2 }]]);
  });

  it("[#72] case 1 of 2: declined, it is not run again and the model is told, without a reproach", async () => {
    const { run, attempts } = banking();
    const ended = await (await run.deny(waiting(await run.start()), { user, reason: "no bank" })).settled();
    expect(attempts).toHaveLength(1);
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "not-run" }] });
    const [result] = resultsIn(run.model.requests[1]);
    expect(result?.isError).toBe(true);
    expect(String(result?.output)).toContain("no bank");
    expect(notesIn(run.model.requests[1])).toEqual([]);
  });

  it("[#72] case 2 of 2: asks the same again after its answer: unresolved, and it is not asked for ever", async () => {
    const attempts: number[] = [];
    const stubborn = recorder("", {
      execute: () => {
        attempts.push(1);
        return ask({ prompt: "Connect your bank.", url: BANK_URL });
      },
    });
    const run = agentRun({ script: [call("act", {}), say("Sorry.")], tools: { act: stubborn.tool } });
    const ended = await (await run.answer(waiting(await run.start()), { user, value: null })).settled();
    expect(attempts).toHaveLength(2);
    expect(ended).toMatchObject({
      outcome: "completed",
      steps: [{ status: "failed", error: { code: "unresolved" } }],
    });
    expect(resultsIn(run.model.requests[1])[0]?.isError).toBe(true);
  });

  it("[M-22] may ask one thing after the other, and has all answers", async () => {
    const seen: unknown[] = [];
    const act = recorder("", {
      execute: (_input: unknown, { answers }: ToolContext) => {
        seen.push(answers);
        return answers.length < 2 ? ask({ prompt: `Question ${answers.length + 1}?` }) : answers;
      },
    });
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    const second = await (await run.answer(waiting(await run.start()), { user, value: "one" })).settled();
    expect(waiting(second).ask?.prompt).toBe("Question 2?");
    const ended = await (await run.answer(waiting(second), { user, value: "two" })).settled();
    expect(seen).toEqual([[], ["one"], ["one", "two"]]);
    expect(ended.steps[0]?.output).toEqual(["one", "two"]);
  });

  it("[#73 M-21] an ordinary call beside it runs once and keeps its result", async () => {
    const n = recorder("kept");
    const { tool } = balance();
    const run = agentRun({
      script: [calls(call("balance", {}), call("n", {})), say("Done.")],
      tools: { balance: tool, n: n.tool },
    });
    const asked = await run.start();
    expect(asked.steps[1]).toMatchObject({ status: "succeeded", output: "kept" });
    await (await run.answer(waiting(asked), { user, value: null })).settled();
    expect(n.ran).toHaveLength(1);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual([{ balance: 12 }, "kept"]);
  });
});

describe("[M-25] a question to the person", () => {
  const asking = (...questions: readonly string[]) =>
    agentRun({
      script: [calls(...questions.map((question) => call("color", { question }))), say("Done.")],
      tools: { color },
      policy: () => "allow",
    });

  it("[#68] waits with its words and choices, whatever a rule allows", async () => {
    const thread = await asking("Pick a color?").start();
    expect(waiting(thread).ask).toMatchObject({
      kind: "question",
      prompt: "Pick a color?",
      schema: { enum: ["red", "green"] },
    });
  });

  it("[M-25] takes an answer that fits, as its result", async () => {
    const run = asking("Pick a color?");
    const ended = await (await run.answer(waiting(await run.start()), { user, value: "red" })).settled();
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "succeeded", output: "red" }] });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "red", isError: false }]);
  });

  it.each([["blue"], [null], [["red"]], [""]])(
    "[#46 M-18] an answer of %j that does not fit leaves it open",
    async (value) => {
      const run = asking("Pick a color?");
      const step = waiting(await run.start());
      await expect(run.answer(step, { user, value })).rejects.toMatchObject({ code: "invalid-input" });
      const thread = await run.read({ user, threadId: step.threadId });
      expect(thread).toMatchObject({ status: "waiting", pending: [{ id: step.id, decision: null }] });
      expect(run.model.requests).toHaveLength(1);
    },
  );

  it.each([
    ["[#71] case 1 of 2: two of one answer wait in order, and neither answer reaches the other", "code"],
    ["[#71] case 2 of 2: a stream shows both as well", "stream"],
  ])("%s", async (_title, way) => {
    const run = asking("First?", "Second?");
    const thread = await run.start();
    const { pending } = way === "code" ? thread : { pending: await streamed(run, thread.id) };
    expect(pending.map((each) => each.ask?.prompt)).toEqual(["First?", "Second?"]);
    const [first] = thread.pending;
    if (!first) throw new Error("nothing waits");
    const between = await (await run.answer(first, { user, value: "green" })).settled();
    expect(between).toMatchObject({ status: "waiting", pending: [{ ask: { prompt: "Second?" } }] });
    expect(run.model.requests).toHaveLength(1);
    await (await run.answer(waiting(between), { user, value: "red" })).settled();
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual(["green", "red"]);
  });

  const streamed = async (run: ReturnType<typeof asking>, threadId: string) => {
    const text = await (await run.get(`/${threadId}/events?after=0`)).text();
    return callsOf(runOf(foldStream(text, threadId)));
  };

  it("[#44 M-25] case 3 of 3: skipped, it is no denial: no guidance, and nobody is blamed", async () => {
    const run = asking("Pick a color?");
    const ended = await (await run.skip(waiting(await run.start()), { user })).settled();
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "not-run", reason: "skipped" }] });
    const [result] = resultsIn(run.model.requests[1]);
    expect(String(result?.output).startsWith(NO_ANSWER)).toBe(true);
    expect(notesIn(run.model.requests[1])).toEqual([]);
  });
});
