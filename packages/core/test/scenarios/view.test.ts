import { describe, expect, it } from "vitest";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { call, calls, cut, delay, say } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { fold, plain } from "../protocol/fold.ts";
import { clerk } from "../server/endpoint.ts";
import { foldStream } from "../server/sse.ts";
import { held, recorder, waiting } from "./play.ts";

const user = clerk;
const asking = () => recorder("done", { readOnly: false });
const playing = (script: AgentRunOptions["script"]) => {
  const [act, look, slow] = [asking(), recorder("seen"), held()];
  return { act, slow, run: agentRun({ script, tools: { act: act.tool, look: look.tool, slow: slow.tool } }) };
};
const two = calls(call("act", { n: 1 }), call("act", { n: 2 }));

describe("[M-9] what a conversation waits for, from its state", () => {
  const stateOf = (thread: { status: string; outcome?: unknown; pending: readonly unknown[] } | null) =>
    thread && [thread.status, thread.outcome, thread.pending.length];

  it("[#49] case 1 of 8: nothing happened yet", () => {
    expect(stateOf(viewThread(fold([])))).toEqual(["idle", undefined, 0]);
  });

  it("[#49] case 2 of 8: two calls wait", async () => {
    expect(stateOf(await playing([two]).run.start())).toEqual(["waiting", undefined, 2]);
  });

  it("[#49] case 3 of 8: one is decided, the other still waits", async () => {
    const { run } = playing([two]);
    const [first] = (await run.start()).pending;
    if (!first) throw new Error("nothing waits");
    expect(stateOf(await (await run.deny(first, { user })).settled())).toEqual(["waiting", undefined, 1]);
  });

  it("[#49] case 4 of 8: what was approved runs", async () => {
    const slow = held({ readOnly: false });
    const run = agentRun({ script: [call("slow", {}), say("Done.")], tools: { slow: slow.tool } });
    const step = waiting(await run.start());
    await run.approve(step, { user });
    await run.clock.advance(0);
    expect(stateOf(await run.read({ user, threadId: step.threadId }))).toEqual(["running", undefined, 0]);
  });

  it("[#49] case 5 of 8: all was denied, and the answer came", async () => {
    const { run } = playing([two, say("Fine.")]);
    const { pending } = await run.start();
    expect(stateOf(await (await run.deny(pending, { user })).settled())).toEqual(["ended", "completed", 0]);
  });

  it("[#49] case 6 of 8: what was approved ran, and the answer came", async () => {
    const { run } = playing([two, say("Done.")]);
    const { pending } = await run.start();
    expect(stateOf(await (await run.approve(pending, { user })).settled())).toEqual(["ended", "completed", 0]);
  });

  it("[#49] case 7 of 8: what waited in an earlier run waits in no later one", async () => {
    const { run } = playing([two, say("Hello.")]);
    const { id } = await run.start();
    await (await run.stop({ user, threadId: id })).settled();
    const next = await (await run.send({ user, threadId: id, message: "Hi" })).settled();
    expect(stateOf(next)).toEqual(["ended", "completed", 0]);
  });

  it("[#49] case 8 of 8: what ran by itself never waited", async () => {
    const { run } = playing([call("look", {}), say("Done.")]);
    expect(stateOf(await run.start())).toEqual(["ended", "completed", 0]);
  });
});

describe("messages and steps of a thread", () => {
  /** A conversation of two runs: two tools and a text, then a tool and a text. */
  const talked = async () => {
    const { run } = playing([
      calls(say("I look."), call("look", { n: 1 }), call("act", { n: 2 })),
      say("First answer."),
      call("look", { n: 3 }),
      say("Second answer."),
    ]);
    const asked = await run.start("First");
    const first = await (await run.approve(waiting(asked), { user })).settled();
    const second = await (await run.send({ user, threadId: first.id, message: "Second" })).settled();
    return { run, asked, first, second };
  };
  type Talked = Awaited<ReturnType<typeof talked>>;

  it.each<[string, (made: Talked) => unknown, unknown]>([
    [
      "[#58] case 1 of 8: messages are in the order they came",
      ({ second }) => second.messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant"],
    ],
    [
      "[#58] case 2 of 8: parts of a turn are in the order they came, calls in call order",
      ({ second }) => second.messages[1]?.parts.map((part) => (part.type === "step" ? part.step.tool : part.type)),
      ["text", "look", "act", "text"],
    ],
    [
      "[#58] case 3 of 8: a result is at its call, although it came in a later write",
      ({ second }) => second.steps.map(({ output }) => output),
      ["seen", "done", "seen"],
    ],
    [
      "[#58] case 4 of 8: no result of a sibling is at another call",
      ({ asked }) => asked.steps.map(({ input, output }) => [input, output]),
      [
        [{ n: 1 }, "seen"],
        [{ n: 2 }, undefined],
      ],
    ],
    [
      "[#58] case 5 of 8: an answer ends at the person's next message",
      ({ second }) => second.messages.map(({ parts }) => parts.filter(({ type }) => type === "step").length),
      [0, 2, 0, 1],
    ],
    [
      "[#58] case 6 of 8: a call without a result is there without one",
      ({ asked }) => asked.steps.map(({ status }) => status),
      ["succeeded", "waiting"],
    ],
    [
      "[#58] case 7 of 8: ids of messages and steps do not change as it goes on",
      ({ asked, second }) => [
        asked.messages.map(({ id }) => id).every((id, index) => second.messages[index]?.id === id),
        asked.steps.map(({ id }) => id).every((id, index) => second.steps[index]?.id === id),
      ],
      [true, true],
    ],
    [
      "[#58] case 8 of 8: nothing is there twice",
      ({ second }) =>
        new Set(second.steps.map(({ id }) => id)).size + new Set(second.messages.map(({ id }) => id)).size,
      7,
    ],
  ])("%s", async (_title, read, expected) => {
    expect(read(await talked())).toEqual(expected);
  });

  it("[#59 M-49] what was seen live is what is stored: nothing lost, nothing doubled, at every event", async () => {
    const { run, second } = await talked();
    const live = foldStream(await (await run.get(`/${second.id}/events?after=0`)).text(), second.id);
    const stored = await run.read({ user, threadId: second.id });
    expect(plain(viewThread(live).messages)).toEqual(plain(stored?.messages));
    const texts = viewThread(live).messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
    );
    expect(texts).toEqual(["First", "I look.", "First answer.", "Second", "Second answer."]);
  });
});

describe("what is kept of a run", () => {
  const partsOf = async (run: ReturnType<typeof playing>["run"], threadId: string) =>
    (await run.read({ user, threadId }))?.messages[1]?.parts.map((part) =>
      part.type === "text" ? part.text : part.type,
    );

  it("[#60 M-30] case 1 of 4: stopped: the text so far, and that it was stopped", async () => {
    const { run } = playing([calls(say("Half a sentence"), delay(Number.POSITIVE_INFINITY))]);
    const threadId = await run.begin();
    await run.stop({ user, threadId });
    await run.clock.advance(0);
    expect(await partsOf(run, threadId)).toEqual(["Half a sentence", "notice"]);
  });

  it("[#60] case 2 of 4: failed: the text so far, and that it failed", async () => {
    const half = calls(say("Half a sentence"), cut());
    const { run } = playing([half, half, half]);
    const threadId = await run.begin();
    await run.clock.advance(60_000);
    expect(await partsOf(run, threadId)).toEqual(["Half a sentence", "notice"]);
  });

  it("[#60] case 3 of 4: without a text: no text is made up", async () => {
    const { run } = playing([calls({ type: "end", reason: "stop" })]);
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", text: "" });
    expect(thread.messages).toHaveLength(1);
  });

  it("[#60] case 4 of 4: waiting: the call, and nothing made up beside it", async () => {
    const { run } = playing([call("act", {})]);
    const thread = await run.start();
    expect(thread.messages[1]?.parts).toMatchObject([{ type: "step", step: { status: "waiting" } }]);
  });
});
