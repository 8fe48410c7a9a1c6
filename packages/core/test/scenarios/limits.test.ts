import { describe, expect, it } from "vitest";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { NOTE_PREFIX } from "../../src/model/prompt.ts";
import type { ScriptedTurn } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { foldStream } from "../server/sse.ts";
import { callsOf, count, held, recorder, runOf, textsIn, waiting } from "./play.ts";

const usage = { inputTokens: 10, outputTokens: 1 };
const notesIn = (request: Parameters<typeof textsIn>[0]) =>
  textsIn(request, "user").filter((text) => text.startsWith(NOTE_PREFIX));
/** A turn that calls `loop` with another input each time, with a preamble. */
const looping = (n: number): ScriptedTurn =>
  calls(say("Let me look."), call("loop", { n }), { type: "end", reason: "tools", usage });
const loops = (times: number): ScriptedTurn[] => Array.from({ length: times }, (_, n) => looping(n));

function limited(script: AgentRunOptions["script"], options: Partial<AgentRunOptions> = {}) {
  const loop = recorder();
  return { loop, run: agentRun({ script, tools: { loop: loop.tool }, ...options }) };
}

describe("[M-8] the limit of turns", () => {
  it("[#17] tools to the limit: one last answer, exactly so many model calls", async () => {
    const { run, loop } = limited([...loops(3), say("synth")], { limits: { turns: 4 } });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns", text: "synth" });
    expect([run.model.requests.length, loop.ran.length]).toEqual([4, 3]);
  });

  it("[#18] only the last call is without tools and has the note", async () => {
    const { run } = limited([...loops(3), say("synth")], { limits: { turns: 4 } });
    await run.start();
    expect(run.model.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 1, 0]);
    expect(run.model.requests.map((request) => notesIn(request).length)).toEqual([0, 0, 0, 1]);
  });

  it.each([
    ["[#19] a call in the last answer is dropped", calls(call("loop", { n: 9 }))],
    ["[#21] the text before a dropped call is not the final text", looping(9)],
  ])("%s", async (_title, last) => {
    const { run, loop } = limited([...loops(2), last], { limits: { turns: 3 } });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns", text: "" });
    expect([run.model.requests.length, loop.ran.length, thread.steps.length]).toEqual([3, 2, 2]);
    expect(count(await run.events(thread.id), "run-ended")).toBe(1);
  });

  it.each([
    ["[#22] case 1 of 2: one answer without tools", "answer", [say("Hello")], "Hello", 0],
    ["[#22] case 2 of 2: with onLimit stop one turn whose tools run", "stop", loops(2), "", 1],
  ] as const)("%s", async (_title, onLimit, script, text, ran) => {
    const { run, loop } = limited(script, { limits: { turns: 1 }, onLimit });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "limited", limit: "turns", text });
    expect([run.model.requests.length, loop.ran.length]).toEqual([1, ran]);
    expect(run.model.requests[0]?.tools).toHaveLength(ran);
  });

  it.each([
    ["[#63] case 1 of 2: in code, work and usage are kept and nothing waits", "code"],
    ["[#63] case 2 of 2: as a stream, with the same end", "stream"],
  ])("%s", async (_title, way) => {
    const { run, loop } = limited(loops(5), { limits: { turns: 2 }, onLimit: "stop" });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "turns", pending: [] });
    expect(thread.usage).toEqual({ inputTokens: 20, outputTokens: 2 });
    expect([run.model.requests.length, loop.ran.length]).toEqual([2, 2]);
    if (way === "code") return;
    const streamed = foldStream(await (await run.get(`/${thread.id}/events?after=0`)).text(), thread.id);
    expect(runOf(streamed)).toMatchObject({ outcome: "limited", limit: "turns" });
    expect(callsOf(runOf(streamed)).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  });

  it("[#64] a preamble at the limit does not make it completed", async () => {
    const { run } = limited(loops(5), { limits: { turns: 2 }, onLimit: "stop" });
    expect(await run.start()).toMatchObject({ outcome: "limited", limit: "turns", text: "" });
  });

  it.each([0, -1, Number.NaN, 1.5, Number.POSITIVE_INFINITY])(
    "[M-7] %d turns throw where they are written",
    (turns) => {
      expect(() => defineAgent({ model: scriptedModel([]), limits: { turns } })).toThrow(/limits\.turns/);
    },
  );

  it("[M-7] more than 250 turns are 250", () => {
    expect(defineAgent({ model: scriptedModel([]), limits: { turns: 9_999 } }).rules.limits.turns).toBe(250);
  });
});

describe("[M-29] the limit of time", () => {
  it("[#104] a tool that hangs past its own: its signal aborts and the run goes on at once", async () => {
    let signal: AbortSignal | undefined;
    const act = recorder("", {
      timeoutMs: 50,
      execute: (_input: unknown, context: { signal: AbortSignal }) => {
        signal = context.signal;
        return new Promise(() => undefined);
      },
    });
    const run = agentRun({ script: [call("act", {}), say("It took too long.")], tools: { act: act.tool } });
    const threadId = await run.begin();
    await run.clock.advance(49);
    expect([signal?.aborted, run.model.requests.length]).toEqual([false, 1]);
    await run.clock.advance(1);
    expect([signal?.aborted, run.model.requests.length]).toEqual([true, 2]);
    expect(callsOf(runOf(await run.thread(threadId)))).toMatchObject([{ error: { code: "timed-out" } }]);
  });

  it.each(["tool", "model"])("[M-29] of the whole run reaches a %s that hangs, and ends limited", async (what) => {
    const slow = held();
    const script = what === "tool" ? [call("slow", {})] : [calls(say("Half"), delay(Number.POSITIVE_INFINITY))];
    const run = agentRun({ script, tools: { slow: slow.tool }, limits: { timeMs: 5_000 } });
    const threadId = await run.begin();
    await run.clock.advance(4_999);
    expect(runOf(await run.thread(threadId)).status).toBe("running");
    await run.clock.advance(1 + 2_000);
    expect(runOf(await run.thread(threadId))).toMatchObject({ outcome: "limited", limit: "time" });
    expect(run.model.requests).toHaveLength(1);
  });

  it("[M-29] does not count waiting for a person", async () => {
    const act = recorder("done", { readOnly: false });
    const script = [call("act", {}), say("Done.")];
    const run = agentRun({ script, tools: { act: act.tool }, limits: { timeMs: 5_000 } });
    const step = waiting(await run.start());
    await run.clock.advance(86_400_000);
    expect(await (await run.approve(step, { user: clerk })).settled()).toMatchObject({ outcome: "completed" });
  });
});

describe("[M-27] the same call again and again", () => {
  const same = (times: number): ScriptedTurn[] => Array.from({ length: times }, () => call("loop", { q: 1, p: 2 }));
  const third = (what: "warn" | "stop") => ({ count: 3, follows: what });
  const reached = async (run: ReturnType<typeof agentRun>, threadId: string) =>
    (await run.events(threadId)).flatMap((event) =>
      event.type === "limit-reached" && event.limit === "repeats" ? [[event.count, event.follows]] : [],
    );

  it("[#101] case 1 of 5: warn writes it into the log, and nothing else changes", async () => {
    const { run, loop } = limited([...same(3), say("Done.")], { limits: { repeats: third("warn") } });
    const thread = await run.start();
    expect(await reached(run, thread.id)).toEqual([[3, "warn"]]);
    expect([loop.ran.length, thread.outcome]).toEqual([3, "completed"]);
    expect(notesIn(run.model.requests[3])).toEqual([]);
  });

  it("[#101] case 2 of 5: stop ends the run before the third one runs", async () => {
    const { run, loop } = limited([...same(3), say("Done.")], { limits: { repeats: third("stop") } });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "repeats" });
    expect([loop.ran.length, run.model.requests.length]).toEqual([2, 3]);
    expect(await reached(run, thread.id)).toEqual([[3, "stop"]]);
    expect(thread.steps[2]).toMatchObject({ status: "not-run" });
  });

  it("[#101] case 3 of 5: by default the fourth request has a note after the results", async () => {
    const { run, loop } = limited([...same(3), say("Done.")]);
    const thread = await run.start();
    const request = run.model.requests[3];
    expect(run.model.requests.map((each) => notesIn(each).length)).toEqual([0, 0, 0, 1]);
    expect(notesIn(request)[0]).toMatch(/loop.*3 times/);
    expect(request?.messages.slice(-2).map(({ role }) => role)).toEqual(["tool", "user"]);
    expect([loop.ran.length, thread.outcome]).toEqual([3, "completed"]);
  });

  it("[#101] case 4 of 5: other arguments are another call", async () => {
    const { run, loop } = limited([...loops(3), say("Done.")]);
    const thread = await run.start();
    expect(await reached(run, thread.id)).toEqual([]);
    expect([loop.ran.length, notesIn(run.model.requests[3]).length]).toEqual([3, 0]);
  });

  it("[#101] case 5 of 5: a stream tells of it as well", async () => {
    const { run } = limited([...same(3), say("Done.")]);
    const thread = await run.start();
    const streamed = foldStream(await (await run.get(`/${thread.id}/events?after=0`)).text(), thread.id);
    expect(runOf(streamed).limits).toMatchObject([{ limit: "repeats", count: 3, follows: "note" }]);
  });

  it.each([
    ["[#102] case 1 of 2: is noticed again at six", same(6)],
    [
      "[#102] case 2 of 2: is the same whatever the order of keys, and ids do not count",
      [...same(3), ...Array.from({ length: 3 }, (_, n) => call("loop", n % 2 === 0 ? { p: 2, q: 1 } : { q: 1, p: 2 }))],
    ],
  ])("%s", async (_title, script) => {
    const { run } = limited([...script, say("Done.")], { limits: { repeats: third("warn") } });
    const thread = await run.start();
    expect(await reached(run, thread.id)).toEqual([
      [3, "warn"],
      [6, "warn"],
    ]);
  });

  it("[M-27] by default ends the run at twice the count", async () => {
    const { run, loop } = limited([...same(9)]);
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "repeats" });
    expect([loop.ran.length, run.model.requests.length]).toEqual([5, 6]);
  });
});
