import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ask } from "../../src/agent/ask.ts";
import { browserTool } from "../../src/agent/browser-tool.ts";
import type { ToolContext } from "../../src/agent/tool-context.ts";
import type { View } from "../../src/protocol/typed.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { count, held, recorder, resultsIn, waiting } from "./play.ts";

const user = clerk;
const locate = (more: object = {}) =>
  browserTool({
    description: "Where is the person?",
    inputSchema: z.object({ name: z.string() }),
    outputSchema: z.object({ place: z.string() }),
    readOnly: true,
    ...more,
  });

/** One answer that calls the browser's tool once for each name. */
function located(names: readonly string[], options: Partial<AgentRunOptions> = {}, more: object = {}) {
  return agentRun({
    script: [calls(...names.map((name) => call("locate", { name }))), say("Done.")],
    tools: { locate: locate(more) },
    ...options,
  });
}

const at = (thread: View, name: string): View["pending"][number] => {
  const found = thread.pending.find(({ input }) => (input as { name?: string } | null)?.name === name);
  if (!found) throw new Error(`${name} does not wait`);
  return found;
};
const place = (name: string) => ({ place: name.toUpperCase() });

describe("[M-23] tools of the browser", () => {
  it("[#74] three calls: three results, each in its place, and nothing runs here", async () => {
    const run = located(["a", "b", "c"]);
    let thread = await run.start();
    for (const name of ["b", "c", "a"]) {
      expect(run.model.requests).toHaveLength(1);
      thread = await (await run.answer(at(thread, name), { user, value: place(name) })).settled();
    }
    expect(thread.outcome).toBe("completed");
    expect(resultsIn(run.model.requests[1])).toEqual([
      { output: { place: "A" }, isError: false },
      { output: { place: "B" }, isError: false },
      { output: { place: "C" }, isError: false },
    ]);
    expect(count(await run.events(thread.id), "call-started")).toBe(0);
  });

  it("[#76] all three wait at once, in order, whatever the order of answers", async () => {
    for (const order of ["abc", "acb", "bac", "bca", "cab", "cba"]) {
      const run = located(["a", "b", "c"]);
      const thread = await run.start();
      expect(thread.pending.map(({ input, ask: asked }) => [input, asked?.kind])).toEqual([
        [{ name: "a" }, "browser"],
        [{ name: "b" }, "browser"],
        [{ name: "c" }, "browser"],
      ]);
      for (const name of order) await (await run.answer(at(thread, name), { user, value: place(name) })).settled();
      expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual(["a", "b", "c"].map(place));
    }
  });

  it("[#77] case 1 of 5: the browser fails: an error result, the run goes on", async () => {
    const run = located(["a"]);
    const ended = await (await run.answer(waiting(await run.start()), { user, error: "no permission" })).settled();
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "failed" }] });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "no permission", isError: true }]);
  });

  it("[#77] case 2 of 5: the person declines: an error result, the run goes on", async () => {
    const run = located(["a"]);
    const ended = await (await run.deny(waiting(await run.start()), { user })).settled();
    expect(ended).toMatchObject({ outcome: "completed", steps: [{ status: "not-run", reason: "denied" }] });
    expect(resultsIn(run.model.requests[1])).toMatchObject([{ isError: true }]);
  });

  it("[#77] case 3 of 5: beside a tool of the server: both results, and the server's ran once", async () => {
    const look = recorder("seen");
    const run = agentRun({
      script: [calls(call("locate", { name: "a" }), call("look", {})), say("Done.")],
      tools: { locate: locate(), look: look.tool },
    });
    await (await run.answer(waiting(await run.start()), { user, value: place("a") })).settled();
    expect(look.ran).toHaveLength(1);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual([{ place: "A" }, "seen"]);
  });

  it("[#77] case 4 of 5: needed again in the next turn: asked again", async () => {
    const run = agentRun({
      script: [call("locate", { name: "a" }), call("locate", { name: "b" }), say("Done.")],
      tools: { locate: locate() },
    });
    const next = await (await run.answer(waiting(await run.start()), { user, value: place("a") })).settled();
    const ended = await (await run.answer(waiting(next), { user, value: place("b") })).settled();
    expect(ended.steps.map(({ output }) => output)).toEqual([{ place: "A" }, { place: "B" }]);
  });

  it("[#77] case 5 of 5: beside a link: both wait, and the run goes on when both are there", async () => {
    const bank = recorder("", {
      execute: (_input: unknown, { answer }: ToolContext) =>
        answer === undefined ? ask({ prompt: "Connect.", url: "https://bank.test/" }) : "connected",
    });
    const run = agentRun({
      script: [calls(call("bank", {}), call("locate", { name: "a" })), say("Done.")],
      tools: { bank: bank.tool, locate: locate() },
    });
    const thread = await run.start();
    expect(new Set(thread.pending.map(({ ask: asked }) => asked?.kind))).toEqual(new Set(["link", "browser"]));
    await (await run.answer(at(thread, "a"), { user, value: place("a") })).settled();
    expect(run.model.requests).toHaveLength(1);
    const link = thread.pending.find(({ tool }) => tool === "bank");
    if (!link) throw new Error("the link does not wait");
    await (await run.answer(link, { user, value: null })).settled();
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual(["connected", { place: "A" }]);
  });

  it("[#78] case 1 of 2: three wait and are answered over several requests, one of them with two", async () => {
    const run = located(["a", "b", "c"]);
    const thread = await run.start();
    const answer = (name: string) => {
      const { id: callId, digest } = at(thread, name);
      return { callId, digest, action: "answer", value: place(name) };
    };
    await run.post(`/${thread.id}/decisions`, { decisions: [answer("c"), answer("a")], key: "k1" });
    await run.clock.advance(0);
    expect(run.model.requests).toHaveLength(1);
    await run.post(`/${thread.id}/decisions`, { decisions: [answer("b")], key: "k2" });
    await run.clock.advance(0);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual(["a", "b", "c"].map(place));
  });

  it("[#78 L10] case 2 of 2: a deadline ends the waiting: what came is kept, the rest expired", async () => {
    const run = located(["a", "b"], {}, { timeoutMs: 60_000 });
    const thread = await run.start();
    await (await run.answer(at(thread, "b"), { user, value: place("b") })).settled();
    await run.clock.advance(59_999);
    expect(await run.sweep()).toBe(0);
    await run.clock.advance(1);
    expect(await run.sweep()).toBe(1);
    await run.clock.advance(0);
    const [a, b] = resultsIn(run.model.requests[1]);
    expect([a?.isError, b]).toEqual([true, { output: { place: "B" }, isError: false }]);
    expect((await run.thread(thread.id)).runs[0]).toMatchObject({ outcome: "completed" });
  });

  it("[M-23 M-25] what the browser gives back must fit: refused, and it still waits", async () => {
    const run = located(["a"]);
    const step = waiting(await run.start());
    await expect(run.answer(step, { user, value: { place: 1 } })).rejects.toMatchObject({ code: "invalid-input" });
    expect((await run.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
  });

  it("[M-23 M-14] one that is not readOnly asks the person first, and only then the browser", async () => {
    const run = located(["a"], {}, { readOnly: false });
    const step = waiting(await run.start());
    expect(step.ask?.kind).toBe("approval");
    await expect(run.answer(step, { user, value: place("a") })).rejects.toMatchObject({ code: "not-waiting" });
    const approved = await (await run.approve(step, { user })).settled();
    expect(waiting(approved).ask?.kind).toBe("browser");
    const ended = await (await run.answer(waiting(approved), { user, value: place("a") })).settled();
    expect(ended.steps).toMatchObject([{ status: "succeeded", output: { place: "A" } }]);
  });

  it("[L17] two answers at the same moment go on once", async () => {
    const run = located(["a", "b"]);
    const thread = await run.start();
    await Promise.all(["a", "b"].map((name) => run.answer(at(thread, name), { user, value: place(name) })));
    await run.clock.advance(0);
    expect(run.model.requests).toHaveLength(2);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual(["a", "b"].map(place));
  });

  it("[L18] an answer that comes while a tool of the server still runs is kept", async () => {
    const slow = held();
    const run = agentRun({
      script: [calls(call("locate", { name: "a" }), call("slow", {})), say("Done.")],
      tools: { locate: locate(), slow: slow.tool },
    });
    const threadId = await run.begin();
    const thread = await run.read({ user, threadId });
    if (!thread) throw new Error("no thread");
    await run.answer(waiting(thread), { user, value: place("a") });
    await run.clock.advance(0);
    slow.end("slow");
    await run.clock.advance(0);
    expect(resultsIn(run.model.requests[1]).map(({ output }) => output)).toEqual([{ place: "A" }, "slow"]);
    expect((await run.thread(threadId)).runs[0]?.outcome).toBe("completed");
  });
});
