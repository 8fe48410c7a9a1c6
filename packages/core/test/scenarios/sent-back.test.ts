import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { recorder, resultsIn, textsIn, waiting } from "./play.ts";
import { sdkModel, sdkRun, toolCall, words } from "./sdk-model.ts";

const user = clerk;
const rolesOf = (request: { readonly messages: readonly { readonly role: string }[] } | undefined) =>
  (request?.messages ?? []).map(({ role }) => role);

describe("the history that is sent", () => {
  it("[H+ H24 M-40] several runs go back whole and in order, with calls and results, although the browser sends words only", async () => {
    const look = recorder("seen");
    const run = agentRun({
      script: [calls(say("I look."), call("look", { n: 1 })), say("One."), call("look", { n: 2 }), say("Two.")],
      tools: { look: look.tool },
    });
    const first = await run.start("First");
    const posted = await run.post(`/${first.id}/messages`, { message: { text: "Second" }, key: "k" });
    expect(posted.status).toBe(202);
    await run.clock.advance(0);
    const request = run.model.requests[3];
    expect(rolesOf(request)).toEqual(["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]);
    expect(textsIn(request, "assistant")).toEqual(["I look.", "One."]);
    expect(textsIn(request, "user")).toEqual(["First", "Second"]);
    expect(look.ran).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("[H03] an approval counts although a message came after it was asked for", async () => {
    const act = recorder("done", { readOnly: false });
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    const step = waiting(await run.start());
    await run.send({ user, threadId: step.threadId, message: "By the way" });
    const ended = await (await run.approve(step, { user })).settled();
    expect(act.ran).toHaveLength(1);
    expect(ended.steps).toMatchObject([{ status: "succeeded" }]);
    expect(textsIn(run.model.requests[1], "user")).toContain("By the way");
  });

  it("[H06] results of one answer stay together and in order, whatever they hold", async () => {
    const image = { type: "image", data: "aGk=".repeat(100), nested: [{ content: [1, 2] }] };
    const run = agentRun({
      script: [calls(call("plain", {}), call("image", {}), call("plain", {})), say("Done.")],
      tools: { plain: recorder("text").tool, image: recorder(image).tool },
    });
    await run.start();
    const request = run.model.requests[1];
    expect(rolesOf(request)).toEqual(["user", "assistant", "tool"]);
    expect(resultsIn(request).map(({ output }) => output)).toEqual(["text", image, "text"]);
  });

  it("[H16] arguments go back as the text the model wrote, blanks, key order and all", async () => {
    const input = '{ "b": 1.0,\n  "a": "x" }';
    const run = agentRun({
      script: [calls({ type: "call", id: "1", name: "act", input }), say("Done.")],
      tools: { act: recorder().tool },
    });
    await run.start();
    const assistant = run.model.requests[1]?.messages.find(({ role }) => role === "assistant");
    expect(assistant).toMatchObject({ parts: [{ type: "call", inputText: input }] });
  });

  it("[H23] a turn with calls and no text stays in it", async () => {
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: recorder().tool } });
    await run.start();
    expect(rolesOf(run.model.requests[1])).toEqual(["user", "assistant", "tool"]);
  });

  it("[H20] a result with a reference in it is only text", async () => {
    const model = sdkModel([[toolCall("a", "act", "{}")], [words("Done.")]]);
    const run = sdkRun({ model, tools: { act: recorder({ $ref: "#/x" }).tool } });
    await run.start();
    expect(model.calls[1]?.prompt.at(-1)).toMatchObject({
      role: "tool",
      content: [{ output: { type: "text", value: '{"$ref":"#/x"}' } }],
    });
  });
});

describe("blocks of the provider", () => {
  const signed = (metadata: object) => ({ providerMetadata: { made: metadata } });
  const thinking = [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-end", id: "r", ...signed({ signature: "s1" }) },
  ];
  const two = [toolCall("a", "act", "{}", signed({ thought: "first only" })), toolCall("b", "act", "{}")];

  const replayed = async (first: readonly object[]) => {
    const model = sdkModel([first, [words("Done.")]]);
    await sdkRun({ model, tools: { act: recorder().tool } }).start();
    return model.calls[1]?.prompt ?? [];
  };

  it("[H09] one that is signed and has an empty text goes back as it came", async () => {
    const [, assistant] = await replayed([...thinking, toolCall("a", "act", "{}")]);
    expect(assistant?.content[0]).toEqual({
      type: "reasoning",
      text: "",
      providerOptions: { made: { signature: "s1" } },
    });
  });

  it("[H12] calls of one answer stay one answer: the signature of the first covers all", async () => {
    const prompt = await replayed(two);
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    const [first, second] = prompt[1]?.content ?? [];
    expect(first).toMatchObject({ toolCallId: "a", providerOptions: { made: { thought: "first only" } } });
    expect(second).toMatchObject({ toolCallId: "b" });
    expect(second).not.toHaveProperty("providerOptions");
  });

  it("[H10] one that cannot be complete is left out as a whole, never sent blank", async () => {
    const ranElsewhere = toolCall("x", "search", "{}", { providerExecuted: true });
    const prompt = await replayed([...thinking, ranElsewhere, ...two]);
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(JSON.stringify(prompt)).not.toContain("providerOptions");
    expect(JSON.stringify(prompt)).not.toContain('"reasoning"');
  });

  it("[H11] one of one provider does not reach another, and the words do", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const tools = { act: recorder("kept").tool };
    const first = sdkModel([[...thinking, ...two], [words("One.")]], "made");
    const second = sdkModel([[words("Two.")]], "other");
    const thread = await sdkRun({ model: first, tools, server: { store, clock } }).start();
    const later = sdkRun({ model: second, tools, server: { store, clock } });
    await (await later.send({ user, threadId: thread.id, message: "And now?" })).settled();
    const sent = JSON.stringify(second.calls[0]?.prompt);
    expect(sent).not.toContain("s1");
    expect(sent).not.toContain("first only");
    expect(sent).toContain("kept");
    expect(sent).toContain("One.");
  });
});

describe("[M-40] conversations", () => {
  const echo = () => Array.from({ length: 4 }, (_, n) => say(`Answer ${n + 1}`));

  it("[#85] case 1 of 5: one remembers: 1 message, then 3", async () => {
    const run = agentRun({ script: echo() });
    const first = await run.start("First");
    await (await run.send({ user, threadId: first.id, message: "Second" })).settled();
    expect(run.model.requests.map(({ messages }) => messages.length)).toEqual([1, 3]);
  });

  it("[#85] case 2 of 5: another one knows nothing of it", async () => {
    const run = agentRun({ script: echo() });
    const first = await run.start("First");
    await (await run.send({ user, threadId: first.id, message: "Second" })).settled();
    const other = await run.start("Third");
    expect(other.id).not.toBe(first.id);
    expect(run.model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 1]);
  });

  it("[#85] case 3 of 5: without an id each message begins one, unless its key is the same", async () => {
    const run = agentRun({ script: echo() });
    const ids: string[] = [];
    for (const key of ["a", "b", "b"]) ids.push((await run.send({ user, message: "Same", key })).threadId);
    await run.clock.advance(0);
    expect(new Set(ids).size).toBe(2);
    expect(run.model.requests.map(({ messages }) => messages.length)).toEqual([1, 1]);
  });

  it("[#85] case 4 of 5: a store of one's own is read before, and written as it goes", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    const used: string[] = [];
    const store: ThreadStore = {
      ...inner,
      read: (...args) => {
        used.push("read");
        return inner.read(...args);
      },
      append: (...args) => {
        used.push("append");
        return inner.append(...args);
      },
    };
    const run = agentRun({ script: echo(), clock, server: { store } });
    const first = await run.start("First");
    used.length = 0;
    await (await run.send({ user, threadId: first.id, message: "Second" })).settled();
    expect(used.indexOf("read")).toBeLessThan(used.indexOf("append"));
    expect(used.filter((name) => name === "append").length).toBeGreaterThan(1);
    expect((await run.thread(first.id)).runs).toHaveLength(2);
  });

  it("[#85] case 5 of 5: it is whole in the store when its stream has ended", async () => {
    const run = agentRun({ script: echo() });
    const { threadId } = await run.send({ user, message: "First" });
    const response = await run.get(`/${threadId}/events?after=0`);
    const text = response.text();
    await run.clock.advance(0);
    expect(await text).toContain("run-ended");
    expect((await run.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Answer 1" });
  });
});
