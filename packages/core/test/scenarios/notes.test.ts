import { describe, expect, it } from "vitest";
import { call, say } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { failing, notesIn, recorder, textsIn, waiting } from "./play.ts";
import { turns } from "./runs.ts";

describe("[M-5] what the model is told with notes", () => {
  const usual = { failures: { count: 1 } } as const;

  it.each<[string, Partial<AgentRunOptions>, readonly string[], string]>([
    ["[#33] case 1 of 7: the limit of turns", { limits: { turns: 2 } }, ["good"], "No more tools"],
    ["[#33] case 2 of 7: the limit of calls", { limits: { calls: 1 } }, ["good"], "No more tools"],
    ["[#33] case 3 of 7: failures", { limits: usual }, ["bad"], "all failed"],
    ["[#33] case 4 of 7: repeats", { limits: { repeats: 2 } }, ["good", "good"], "2 times"],
    [
      "[#33] case 5 of 7: an answer that is not complete",
      { gate: { check: ({ attempts }) => attempts > 0 || "name the order", maxAttempts: 1 } },
      [],
      "name the order",
    ],
  ])("%s: once, and no other message is changed", async (_title, options, script, words) => {
    const names = script.map((name) => call(name, {}));
    const run = agentRun({
      instructions: "Be brief.",
      tools: { good: recorder().tool, bad: failing("no").tool },
      ...options,
      script: [...names, say("Hm."), say("Hm again.")],
    });
    await run.start();
    const [before, last] = run.model.requests.slice(-2);
    expect(notesIn(before)).toEqual([]);
    expect(notesIn(last)).toHaveLength(1);
    expect(notesIn(last)[0]).toContain(words);
    expect(textsIn(last, "system")).toEqual(["Be brief."]);
    expect(last?.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
  });

  it("[#33] case 6 of 7: a denial", async () => {
    const act = recorder("", { readOnly: false });
    const run = agentRun({
      script: [call("act", {}), say("Fine.")],
      tools: { act: act.tool },
      instructions: "Be brief.",
    });
    await (await run.deny(waiting(await run.start()), { user: clerk })).settled();
    const [before, last] = run.model.requests;
    expect(notesIn(last)).toHaveLength(1);
    expect(textsIn(last, "system")).toEqual(["Be brief."]);
    expect(last?.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
  });

  it("[#33] case 7 of 7: going on where a run ended", async () => {
    const run = turns(["good"], { limits: { turns: 1 }, onLimit: "stop" });
    const thread = await run.start();
    await (await run.continue({ user: clerk, threadId: thread.id })).settled();
    const notes = notesIn(run.model.requests[1]);
    expect(notes).toHaveLength(2); // why it ended, and that it goes on
    expect(new Set(notes).size).toBe(2);
  });
});
