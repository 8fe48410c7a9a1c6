import { describe, expect, it } from "vitest";
import { EFFECT_UNKNOWN } from "../../src/model/call-result.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { mortal } from "../server/mortal.ts";
import { callsOf, held, recorder, runOf, settlements, waiting } from "./play.ts";

const user = clerk;
const asking = (output: unknown = "done") => recorder(output, { readOnly: false });

describe("[M-30] after a stop", () => {
  it("[L12] a tool that was stopped while it worked is not called finished, and the model is told so later", async () => {
    const slow = held();
    const run = agentRun({ script: [call("slow", {}), say("I see.")], tools: { slow: slow.tool } });
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    await run.clock.advance(2_000);
    expect(callsOf(runOf(await run.thread(threadId)))).toMatchObject([
      { status: "failed", error: { code: "stopped" }, effect: "unknown" },
    ]);
    await (await run.send({ user, threadId, message: "What happened?" })).settled();
    expect(JSON.stringify(run.model.requests[1])).toContain(EFFECT_UNKNOWN);
  });

  it("[L12] a tool that finishes all the same keeps its result", async () => {
    const slow = held();
    const run = agentRun({ script: [call("slow", {}), say("I see.")], tools: { slow: slow.tool } });
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    slow.end("written");
    await run.clock.advance(0);
    expect(callsOf(runOf(await run.thread(threadId)))).toMatchObject([{ status: "succeeded", output: "written" }]);
  });

  it("[L13] no further model call, although the tool ended well", async () => {
    const slow = held();
    const run = agentRun({ script: [call("slow", {}), say("I see.")], tools: { slow: slow.tool } });
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    slow.end("written");
    await run.clock.advance(60_000);
    expect(runOf(await run.thread(threadId)).outcome).toBe("stopped");
    expect(run.model.requests).toHaveLength(1);
  });

  it("[L21] three open calls have their end before the run has its own", async () => {
    const [slow, act] = [held(), asking()];
    const run = agentRun({
      script: [calls(call("slow", {}), call("act", {}), call("act", { n: 2 }))],
      tools: { slow: slow.tool, act: act.tool },
    });
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    await run.clock.advance(2_000);
    const events = await run.events(threadId);
    expect(events.at(-1)?.type).toBe("run-ended");
    expect(settlements(events)).toEqual([1, 1, 1]);
    const thread = await run.read({ user, threadId });
    expect(thread?.steps.map(({ status }) => status)).toEqual(["failed", "not-run", "not-run"]);
    expect(thread?.pending).toEqual([]);
  });
});

describe("runs that were superseded", () => {
  it("[L19] what a stopped run still waited for cannot be answered any more, and opens nothing", async () => {
    const act = asking();
    const run = agentRun({
      script: [call("act", { n: 1 }), call("act", { n: 2 }), say("Done.")],
      tools: { act: act.tool },
    });
    const first = waiting(await run.start());
    await (await run.stop({ user, threadId: first.threadId })).settled();
    const second = await (await run.send({ user, threadId: first.threadId, message: "Again" })).settled();
    await expect(run.approve(first, { user })).rejects.toMatchObject({ code: "stopped" });
    expect((await run.read({ user, threadId: first.threadId }))?.pending).toEqual(second.pending);
    expect(act.ran).toEqual([]);
  });

  it("[L19] what a server still delivers after another one took over changes nothing", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const life = mortal(clock, store);
    const [slow, again] = [held(), held()];
    const script = [call("slow", {}), say("Done.")];
    const first = agentRun({ script, tools: { slow: slow.tool }, clock: life.clock, server: { store: life.store } });
    const second = agentRun({ script: [say("Done.")], tools: { slow: again.tool }, clock, server: { store } });
    const threadId = await first.begin();
    life.kill();
    await clock.advance(31_000);
    await second.sweep();
    await clock.advance(0);
    const before = await second.events(threadId);
    slow.end("late");
    await clock.advance(1_000);
    expect(await second.events(threadId)).toEqual(before);
    expect((await second.read({ user, threadId }))?.pending).toMatchObject([{ ask: { kind: "interrupted" } }]);
    expect(again.ran).toEqual([]);
  });
});
