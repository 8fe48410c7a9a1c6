import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { NOTE_PREFIX } from "../../src/model/prompt.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { agentRun } from "../loop/agent-run.ts";
import { failing, recorder, resultsIn, rule, textsIn } from "./play.ts";

const _usage = (inputTokens: number, outputTokens: number, reason = "tools") =>
  ({ type: "end", reason, usage: { inputTokens, outputTokens } }) as const;

describe("calls that cannot run", () => {
  it("[#8 M-12] an unknown tool: no rule is asked, the model is told and asked again", async () => {
    const policy = rule(() => "allow");
    const run = agentRun({ script: [call("ghost", {}), say("Sorry.")], tools: { a: recorder().tool }, policy });
    const thread = await run.start();
    expect(policy.asked).toEqual([]);
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "There is no tool named ghost.", isError: true }]);
    expect(thread).toMatchObject({ outcome: "completed", text: "Sorry." });
  });

  it.each([
    ["[#9] case 1 of 5: a name that is not there", "ghost", true],
    ["[#9] case 2 of 5: an agent without tools", "ghost", false],
    ["[#9] case 3 of 5: no name", "", true],
    ["[#9] case 4 of 5: a name of Object's prototype", "constructor", true],
    ["[#9] case 5 of 5: a tool of another server, with its name", "shop__find", true],
  ])("%s", async (_title, name, withTools) => {
    const policy = rule(() => "allow");
    const find = recorder();
    const run = agentRun({
      script: [{ type: "call", id: "1", name, input: "{}" }, say("Sorry.")],
      tools: withTools ? { find: find.tool } : {},
      policy,
    });
    const thread = await run.start();
    expect(thread.steps).toMatchObject([{ tool: name, status: "failed", error: { code: "unknown-tool" } }]);
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: `There is no tool named ${name}.`, isError: true }]);
    expect([policy.asked, find.ran]).toEqual([[], []]);
    expect(thread.outcome).toBe("completed");
  });

  it("[#11 M-12] an unknown tool fails alone: its sibling runs", async () => {
    const dangerous = recorder("done");
    const run = agentRun({
      script: [calls(call("dangerous", {}), call("ghost", {})), say("Done")],
      tools: { dangerous: dangerous.tool },
    });
    await run.start();
    expect(dangerous.ran).toHaveLength(1);
    expect(resultsIn(run.model.requests[1])).toEqual([
      { output: "done", isError: false },
      { output: "There is no tool named ghost.", isError: true },
    ]);
  });

  it("[#12] a tool fails: the model reads why, the run goes on", async () => {
    const act = failing("Out of stock.");
    const run = agentRun({ script: [call("act", {}), say("Sorry.")], tools: { act: act.tool } });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", text: "Sorry." });
    expect(thread.steps).toMatchObject([{ status: "failed", error: { code: "tool-error" } }]);
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "Out of stock.", isError: true }]);
    expect(textsIn(run.model.requests[1], "user").filter((text) => text.startsWith(NOTE_PREFIX))).toEqual([]);
    expect(act.ran).toHaveLength(1);
  });

  it("[#121 M-10] a tool without a function is refused when the agent is made, so that no result can be missing", () => {
    const { execute: _, ...declared } = recorder().tool;
    expect(() => agentRun({ script: [], tools: { act: declared as Tool } })).toThrow(/tools\.act is not a tool/);
  });

  it.each([
    ["[#95 M-11] case 1 of 3: an unknown tool", "ghost", {}, "There is no tool named ghost."],
    ["[#95 M-11] case 2 of 3: a wrong type", "add", { a: "two" }, "The arguments do not fit add: a: "],
    ["[#95 M-11] case 3 of 3: a missing field", "add", {}, "The arguments do not fit add: a: "],
  ])("%s: the run goes on", async (_title, name, input, words) => {
    const add = recorder("3", { inputSchema: z.object({ a: z.number() }), readOnly: false });
    const run = agentRun({ script: [call(name, input), say("Sorry.")], tools: { add: add.tool } });
    const thread = await run.start();
    expect(thread).toMatchObject({ outcome: "completed", text: "Sorry.", pending: [] });
    expect(add.ran).toEqual([]);
    const [result] = resultsIn(run.model.requests[1]);
    expect(result?.isError).toBe(true);
    expect(String(result?.output).startsWith(words)).toBe(true);
  });

  it("[M-13] tools are a record: no two share a name, and leaving one out is leaving it out of the record", async () => {
    const [first, second, other] = [recorder("first"), recorder("second"), recorder("other")];
    const { other: _, ...tools } = { ...{ act: first.tool, other: other.tool }, ...{ act: second.tool } };
    const run = agentRun({ script: [calls(call("act", {}), call("other", {})), say("Done")], tools });
    await run.start();
    expect([first.ran.length, second.ran.length, other.ran.length]).toEqual([0, 1, 0]);
    expect(run.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["act"]);
    expect(resultsIn(run.model.requests[1]).map(({ isError }) => isError)).toEqual([false, true]);
  });
});
