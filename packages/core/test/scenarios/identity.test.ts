import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { ScriptedTurn } from "../../src/testing/scripted-model.ts";
import { calls, say } from "../../src/testing/scripted-model.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk, endpoint } from "../server/endpoint.ts";
import { framesOf, parseBlocks } from "../server/sse.ts";
import { callsOf, count, recorder, resultsIn, runOf } from "./play.ts";
import { sdkModel, sdkRun, toolCall, words } from "./sdk-model.ts";

/** One answer made of parts of the model, then a text. */
function answering(...parts: Extract<ScriptedTurn, readonly unknown[]>) {
  const act = recorder("done");
  const run = agentRun({ script: [parts, say("Done.")], tools: { act: act.tool } });
  return { act, run };
}

const start = (id: string) => ({ type: "call-start", id, name: "act" }) as const;
const piece = (id: string, text: string) => ({ type: "call-input", id, text }) as const;
const whole = (id: string, input: string, name = "act") => ({ type: "call", id, name, input }) as const;

describe("one call, or several", () => {
  it.each([
    [
      "[I+] the same call twice in one answer, each with its own id, is two calls",
      [whole("a", "{}"), whole("b", "{}")],
      2,
    ],
    ["[I02] one id for two calls that differ is two calls", [whole("a", '{"n":1}'), whole("a", '{"n":2}')], 2],
    [
      "[I06] an id that comes with every piece is one id",
      [start("a"), start("a"), piece("a", "{"), piece("a", "}"), whole("a", "{}")],
      1,
    ],
    ["[I14] an empty first piece changes nothing", [start("a"), piece("a", ""), piece("a", "{}"), whole("a", "{}")], 1],
  ])("%s", async (_title, parts, ran) => {
    const { act, run } = answering(...parts);
    const thread = await run.start();
    expect(act.ran).toHaveLength(ran);
    expect(thread.steps).toHaveLength(ran);
    expect(new Set(thread.steps.map(({ id }) => id)).size).toBe(ran);
    expect(resultsIn(run.model.requests[1])).toHaveLength(ran);
    expect(
      runOf(await run.thread(thread.id)).turns[0]?.calls.every(
        ({ providerId }) => providerId?.startsWith("a") || providerId === "b",
      ),
    ).toBe(true);
  });

  it("[I02] several calls under one id of an AI SDK model are several calls", async () => {
    const act = recorder("done");
    const model = sdkModel([[toolCall("x", "act", '{"n":1}'), toolCall("x", "act", '{"n":2}')], [words("Done.")]]);
    const run = sdkRun({ model, tools: { act: act.tool } });
    await run.start();
    expect(act.ran).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("[I09] two calls in one piece of a stream are two calls", async () => {
    const act = recorder("done");
    const answers = [[whole("a", '{"n":1}'), whole("b", '{"n":2}')], [{ type: "text", text: "Done." } as const]];
    const model = {
      async *stream() {
        yield [...(answers.shift() ?? []), { type: "end", reason: "stop" } as const];
      },
    };
    const server = endpoint({ agent: defineAgent({ model, tools: { act: act.tool } }) });
    await (await server.send({ user: clerk, message: "Go" })).settled();
    expect(act.ran).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("[#84 I15] case 1 of 2: arguments in pieces are read when they are whole", async () => {
    const act = recorder("done", { inputSchema: z.object({ file_path: z.string() }) });
    const parts = calls(start("a"), piece("a", '{"file_'), piece("a", 'path":"a"}'), whole("a", '{"file_path":"a"}'));
    const run = agentRun({ script: [parts, say("Done.")], tools: { act: act.tool } });
    await run.start();
    expect(act.ran).toEqual([{ file_path: "a" }]);
  });
});

describe("what is no call", () => {
  it("[I20] arguments that are cut off fail the attempt, and never become empty ones", async () => {
    const act = recorder();
    const cutOff = calls(start("a"), piece("a", '{"text":"aaa'), { type: "end", reason: "length" });
    const run = agentRun({ script: [cutOff, cutOff, cutOff], tools: { act: act.tool } });
    const threadId = await run.begin();
    await run.clock.advance(60_000);
    expect(act.ran).toEqual([]);
    expect(runOf(await run.thread(threadId))).toMatchObject({ outcome: "failed" });
    expect(count(await run.events(threadId), "call-ready")).toBe(0);
  });

  it.each([
    ["[#79 I21 M-11] arguments that are no JSON", '{"a":', "not valid JSON"],
    ["[I21] two objects, one after the other", '{"a":1}{"b":2}', "not valid JSON"],
    ["[I23] a list", "[1]", "do not fit act"],
    ["[I23] a plain value", "7", "do not fit act"],
    ["[I23] null", "null", "do not fit act"],
  ])("%s: an error result now, and no harm in later requests", async (_title, input, message) => {
    const act = recorder("done", { readOnly: false });
    const model = sdkModel([[toolCall("a", "act", input)], [words("Sorry.")], [words("Hello again.")]]);
    const run = sdkRun({ model, tools: { act: act.tool } });
    const thread = await run.start();
    expect(act.ran).toEqual([]);
    expect(thread).toMatchObject({ outcome: "completed", pending: [], steps: [{ error: { code: "invalid-input" } }] });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain(message);
    const next = await (await run.send({ user: clerk, threadId: thread.id, message: "Hi" })).settled();
    expect(next).toMatchObject({ outcome: "completed", text: "Hello again." });
    expect(JSON.stringify(model.calls[2]?.prompt)).toContain(message);
  });

  it("[I22] a call written as text is text", async () => {
    const act = recorder();
    const markup = '<tool_call>{"name":"act","arguments":{}}</tool_call>';
    const run = agentRun({ script: [say(markup)], tools: { act: act.tool } });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: markup, steps: [] });
    expect(act.ran).toEqual([]);
  });

  it("[I25] what the provider ran itself is not run here, and the run ends", async () => {
    const search = recorder();
    const model = sdkModel([
      [
        toolCall("a", "search", "{}", { providerExecuted: true }),
        { type: "tool-result", toolCallId: "a", toolName: "search", result: {}, providerExecuted: true },
        words("Found it."),
      ],
    ]);
    const run = sdkRun({ model, tools: { search: search.tool } });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: "Found it.", steps: [] });
    expect([search.ran, model.calls.length]).toEqual([[], 1]);
  });
});

describe("ids", () => {
  it("[I24] a call that comes again after its result is a call of its own, and does not go on for ever", async () => {
    const act = recorder("done");
    const again = Array.from({ length: 20 }, () => calls(whole("same", '{"a":1}')));
    const run = agentRun({ script: again, tools: { act: act.tool } });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "limited", limit: "repeats" });
    expect(run.model.requests).toHaveLength(6);
    expect(new Set(callsOf(runOf(await run.thread(thread.id))).map(({ callId }) => callId)).size).toBe(6);
  });

  it("[I05] no event of the wire has an id or a name that is null, so that no reader loses what it has", async () => {
    const { run } = answering(start("a"), piece("a", "{}"), whole("a", "{}"));
    const thread = await run.start();
    const text = await (await run.get(`/${thread.id}/events?after=0`)).text();
    const events = framesOf(parseBlocks(text)).flatMap((frame) => frame.events);
    expect(events.filter(({ type }) => type.startsWith("call-")).length).toBeGreaterThan(1);
    const empty = events.flatMap((event) =>
      ["callId", "name", "tool"].filter((key) => key in event && event[key] == null),
    );
    expect(empty).toEqual([]);
  });

  it("[#84] case 2 of 2: text in pieces is one text, and usage comes last", async () => {
    const run = agentRun({
      script: [
        calls(
          { type: "text", text: "Hel" },
          { type: "text", text: "lo" },
          { type: "end", reason: "stop", usage: { inputTokens: 9, outputTokens: 5 } },
        ),
      ],
    });
    const thread = await run.start();
    expect(thread).toMatchObject({ text: "Hello", usage: { inputTokens: 9, outputTokens: 5 } });
    const types = (await run.events(thread.id)).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(["turn-ended", "run-ended"]);
  });
});
