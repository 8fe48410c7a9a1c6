import { describe, expect, it } from "vitest";
import { ModelError } from "../../src/model/model.ts";
import { call, calls, cut, fail, say } from "../../src/testing/scripted-model.ts";
import { agentRun, lastResults } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { callsOf, count, failing, held, recorder, runOf, textsIn } from "./play.ts";

const usage = (inputTokens: number, outputTokens: number, reason = "tools") =>
  ({ type: "end", reason, usage: { inputTokens, outputTokens } }) as const;

describe("answers", () => {
  it.each([
    ["[#1 M-1] no tool is called: the text, one model call", "Hello world"],
    ["[#61] the smallest run is completed", "Paris"],
    ["[#65 M-9] a final answer is completed, and names no limit", "final"],
  ])("%s", async (_title, text) => {
    const unused = recorder();
    const run = agentRun({ script: [say(text)], tools: { unused: unused.tool } });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "completed", text, steps: [], pending: [] });
    expect(thread.limit).toBeUndefined();
    expect(run.model.requests).toHaveLength(1);
    expect(unused.ran).toEqual([]);
    const events = await run.events(thread.id);
    expect([count(events, "turn-started"), count(events, "call-ready"), count(events, "run-ended")]).toEqual([1, 0, 1]);
  });

  it("[#2 M-10] one tool: the second request ends with the call and its result, and nobody was asked", async () => {
    const weather = recorder("72F");
    const run = agentRun({
      script: [calls(say("Let me check…"), call("weather", { city: "Oslo" }), usage(100, 50)), say("It is 72F.")],
      tools: { weather: weather.tool },
    });
    const thread = await run.start();
    const state = runOf(await run.thread(thread.id));
    expect(state.turns).toHaveLength(1);
    expect(state.turns[0]).toMatchObject({ usage: { inputTokens: 100, outputTokens: 50 } });
    expect(state.turns[0]?.calls[0]?.verdict).toMatchObject({ verdict: "allow", by: "default" });
    const [asked, told] = run.model.requests[1]?.messages.slice(-2) ?? [];
    expect(asked).toMatchObject({
      role: "assistant",
      parts: [
        { type: "text", text: "Let me check…" },
        { type: "call", name: "weather", inputText: '{"city":"Oslo"}' },
      ],
    });
    expect(told).toMatchObject({ role: "tool", results: [{ name: "weather", output: "72F", isError: false }] });
    expect(weather.ran).toEqual([{ city: "Oslo" }]);
    expect(count(await run.events(thread.id), "decision-requested")).toBe(0);
  });

  it("[#3 M-39] two turns with tools have their own tokens, and three model calls end with the text", async () => {
    const [a, b] = [recorder("one"), recorder("two")];
    const run = agentRun({
      script: [
        calls(call("a", {}), usage(10, 1)),
        calls(call("b", {}), usage(20, 2)),
        calls(say("Done"), usage(30, 3, "stop")),
      ],
      tools: { a: a.tool, b: b.tool },
    });
    const thread = await run.start();
    const { turns, turn } = runOf(await run.thread(thread.id));
    expect(turns.map(({ usage: used }) => used?.inputTokens)).toEqual([10, 20]);
    expect(turn?.usage?.inputTokens).toBe(30);
    expect(run.model.requests).toHaveLength(3);
    expect([a.ran.length, b.ran.length]).toEqual([1, 1]);
    expect(thread).toMatchObject({ text: "Done", usage: { inputTokens: 60, outputTokens: 6 } });
  });

  it("[#16 M-3] reasoning, text, sources, files and usage pass in order, with one end", async () => {
    const source = { type: "source", url: "https://a.test/", title: "A" } as const;
    const file = { type: "file", url: "data:text/plain;base64,aGk=", mediaType: "text/plain" } as const;
    const run = agentRun({
      script: [calls({ type: "reasoning", text: "Hm." }, say("Hello"), source, file, usage(5, 6, "stop"))],
    });
    const thread = await run.start();
    const events = await run.events(thread.id);
    const passed = events.flatMap((event) => {
      if (event.type === "text-added") return [event.kind ?? "text"];
      return event.type === "part-added" ? [event.part.type] : [];
    });
    expect(passed).toEqual(["reasoning", "text", "source", "file"]);
    expect(runOf(await run.thread(thread.id)).turn?.parts).toEqual([
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Hello" },
      source,
      file,
    ]);
    expect(events.filter(({ type }) => type === "run-ended")).toMatchObject([{ usage: { inputTokens: 5 } }]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  it("[#20] the final text has no preamble of earlier turns", async () => {
    const search = recorder();
    const run = agentRun({
      script: [calls(say("Let me search."), call("search", {})), say("final answer")],
      tools: { search: search.tool },
    });
    expect((await run.start()).text).toBe("final answer");
  });

  it("[#23 M-39] signed reasoning stays with its turn and goes back as it came", async () => {
    const a = recorder();
    const block = { origin: "made", data: { type: "reasoning", text: "Think.", signature: "s1" } } as const;
    const run = agentRun({
      script: [calls({ type: "reasoning", text: "Think." }, call("a", {}), { type: "opaque", block }), say("Done")],
      tools: { a: a.tool },
    });
    const thread = await run.start();
    const [turn] = runOf(await run.thread(thread.id)).turns;
    expect(turn?.parts[0]).toEqual({ type: "reasoning", text: "Think." });
    expect(turn?.opaque).toEqual([block]);
    const replayed = run.model.requests[1]?.messages.find(({ role }) => role === "assistant");
    expect(replayed).toMatchObject({ opaque: [block] });
    expect(JSON.stringify(thread)).not.toContain("signature");
  });

  it("[#24 M-5] two calls of one answer: results in call order", async () => {
    const run = agentRun({
      script: [calls(call("a", {}), call("b", {})), say("Done")],
      tools: { b: recorder("from b").tool, a: recorder("from a").tool },
    });
    await run.start();
    expect(lastResults(run.model.requests[1])).toEqual(["from a", "from b"]);
  });

  it("[#25 M-4] a slow and a fast call: ends as they come, results in call order", async () => {
    const [slow, fast] = [held(), held()];
    const run = agentRun({
      script: [calls(call("slow", {}), call("fast", {})), say("Done")],
      tools: { slow: slow.tool, fast: fast.tool },
    });
    const threadId = await run.begin();
    const before = await run.events(threadId);
    expect([count(before, "call-started"), count(before, "call-settled")]).toEqual([2, 0]);
    fast.end("fast");
    await run.clock.advance(0);
    slow.end("slow");
    await run.clock.advance(0);
    const [first, second] = callsOf(runOf(await run.thread(threadId)));
    const ends = (await run.events(threadId)).flatMap((event) => (event.type === "call-settled" ? [event.callId] : []));
    expect(ends).toEqual([second?.callId, first?.callId]);
    expect(lastResults(run.model.requests[1])).toEqual(["slow", "fast"]);
  });

  it("[#26 M-35] instructions and tools are in both requests", async () => {
    const run = agentRun({
      script: [call("a", {}), say("Done")],
      instructions: "Be brief.",
      tools: { a: recorder().tool },
    });
    await run.start();
    for (const request of run.model.requests) {
      expect(request.messages[0]).toEqual({ role: "system", text: "Be brief." });
      expect(request.tools.map(({ name }) => name)).toEqual(["a"]);
    }
    expect(run.model.requests).toHaveLength(2);
  });

  it("[#62 M-10] a tool with arguments: two turns, one call, its output", async () => {
    const add = recorder(({ a, b }: { a: number; b: number }) => String(a + b));
    const run = agentRun({ script: [call("add", { a: 2, b: 3 }), say("5")], tools: { add: add.tool } });
    const thread = await run.start();
    expect(thread.steps).toMatchObject([{ tool: "add", input: { a: 2, b: 3 }, output: "5", status: "succeeded" }]);
    expect(runOf(await run.thread(thread.id)).turns).toHaveLength(1);
    expect(run.model.requests).toHaveLength(2);
  });

  it.each([
    ["[#113] case 1 of 2: after an error another tool", ["first", "second"], "No stock."],
    ["[#113] case 2 of 2: one result feeds the next call, 5 + 3 = 8, 8 × 4 = 32", ["add", "multiply"], "8"],
  ])("%s", async (_title, names, told) => {
    const add = recorder(({ a, b }: { a: number; b: number }) => a + b);
    const multiply = recorder(({ a, b }: { a: number; b: number }) => a * b);
    const second = recorder("found");
    const tools = { first: failing("No stock.").tool, second: second.tool, add: add.tool, multiply: multiply.tool };
    const run = agentRun({
      script: [
        call(names[0] ?? "", { a: 5, b: 3 }),
        ([result]) => call(names[1] ?? "", { a: Number(result?.output ?? 0), b: 4 }),
        ([, result]) => say(`It is ${result?.output}.`),
      ],
      tools,
    });
    const thread = await run.start();
    expect(String(lastResults(run.model.requests[1])[0])).toBe(told);
    expect(thread.steps.map(({ tool }) => tool)).toEqual(names);
    expect(thread.text).toBe(names[1] === "second" ? "It is found." : "It is 32.");
  });
});

describe("failures of the model", () => {
  const broken = new ModelError("down", { retryable: false, status: 500 });

  it("[#14] an answer that breaks off: no call of it runs, the run ends failed", async () => {
    const a = recorder();
    const half = calls(say("partial…"), call("a", {}), cut());
    const run = agentRun({ script: [half, half, half], tools: { a: a.tool } });
    const threadId = await run.begin();
    await run.clock.advance(60_000);
    const events = await run.events(threadId);
    expect(runOf(await run.thread(threadId))).toMatchObject({ outcome: "failed", code: "model-failed" });
    expect(a.ran).toEqual([]);
    expect([count(events, "turn-ended"), count(events, "call-ready"), count(events, "run-ended")]).toEqual([0, 0, 1]);
    expect(run.model.requests).toHaveLength(3);
  });

  it("[#15 M-2] a second model call that fails: the turn before stays, with its call", async () => {
    const a = recorder("kept");
    const run = agentRun({ script: [call("a", {}), fail(broken)], tools: { a: a.tool } });
    const thread = await run.start();
    expect(thread).toMatchObject({ status: "ended", outcome: "failed", code: "model-failed", text: "" });
    expect(thread.steps).toMatchObject([{ status: "succeeded", output: "kept" }]);
    expect(a.ran).toHaveLength(1);
    expect(count(await run.events(thread.id), "run-ended")).toBe(1);
  });
});

describe("conversations", () => {
  it("[#86] instructions are in each request once, over two runs", async () => {
    const run = agentRun({ script: [say("One."), say("Two.")], instructions: "Be brief." });
    const first = await run.start("First");
    await (await run.send({ user: clerk, threadId: first.id, message: "Second" })).settled();
    expect(textsIn(run.model.requests[0], "system")).toEqual(["Be brief."]);
    expect(textsIn(run.model.requests[1], "system")).toEqual(["Be brief."]);
    expect(textsIn(run.model.requests[1], "user")).toEqual(["First", "Second"]);
  });
});
