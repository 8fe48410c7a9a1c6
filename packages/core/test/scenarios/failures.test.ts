import { describe, expect, it } from "vitest";
import { DefiniteFailure } from "../../src/agent/tool.ts";
import { ModelError } from "../../src/model/model.ts";
import { retryAfterMs } from "../../src/model/model-failure.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, delay, fail, say } from "../../src/testing/scripted-model.ts";
import type { AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { callsOf, failing, notesIn, recorder, resultsIn, runOf } from "./play.ts";
import { turns } from "./runs.ts";

describe("[M-28] failures in a row", () => {
  /** Tools of the last request, where `limit` failures in a row switch them off. */
  const toolsAt = async (limit: number, script: readonly string[], except: readonly string[]) => {
    const run = turns(script, { limits: { failures: { count: limit, except } } });
    await run.start();
    return run.model.requests.at(-1)?.tools.length;
  };

  it.each<[string, readonly string[], number, number | null]>([
    ["[#28] failures of several turns add up", ["bad bad", "bad"], 4, 3],
    ["[#29] case 1 of 3: the count begins anew after a success", ["bad bad", "good", "bad"], 3, 2],
    ["[#29] case 2 of 3: a turn in which nothing ran ends the row", ["bad bad", "closed", "bad"], 3, 2],
    ["[#30] case 1 of 6: tools that are excepted do not count", ["minor", "minor", "minor"], 1, null],
    ["[#30] case 2 of 6: and do not end the row either", ["bad", "minor", "bad"], 3, 2],
    ["[#30] case 3 of 6: beside a failure that counts, only that counts", ["bad minor", "bad minor"], 3, 2],
    ["[#30] case 4 of 6: the success of one is a success", ["bad", "minor tiny", "bad"], 2, 1],
    ["[#30] case 5 of 6: what a rule denied beside a failure is none", ["bad closed"], 2, 1],
    ["[#30] case 6 of 6: what a rule denied alone is none", ["closed", "closed", "closed"], 1, null],
  ])("%s", async (_title, script, on, off) => {
    const except = ["minor", "tiny"];
    expect(await toolsAt(on, script, except)).toBe(5);
    if (off !== null) expect(await toolsAt(off, script, except)).toBe(0);
  });

  it("[#29] case 3 of 3: a message of the person is no failure, and failures of an earlier run do not count", async () => {
    const script: ScriptEntry[] = [
      call("bad", { n: 1 }),
      call("bad", { n: 2 }),
      say("Hm."),
      call("bad", { n: 3 }),
      say("Sorry."),
    ];
    const run = agentRun({ script, tools: { bad: failing("no").tool } });
    const first = await run.start();
    await (await run.send({ user: clerk, threadId: first.id, message: "Again" })).settled();
    expect(run.model.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 1, 1, 1]);
  });

  it("[#31] three in a row: the fourth call has no tools and the note, once", async () => {
    const run = turns(["bad", "bad", "bad"]);
    const thread = await run.start();
    expect(run.model.requests.map(({ tools }) => tools.length)).toEqual([5, 5, 5, 0]);
    expect(run.model.requests.map((request) => notesIn(request).length)).toEqual([0, 0, 0, 1]);
    expect(notesIn(run.model.requests[3])[0]).toContain("all failed");
    expect(thread).toMatchObject({ outcome: "limited", limit: "failures", text: "Sorry." });
  });

  it("[#32] calls that failed beside ones that worked do not switch tools off", async () => {
    const run = turns(["good ghost", "good ghost", "good ghost"]);
    const thread = await run.start();
    expect(run.model.requests.map(({ tools }) => tools.length)).toEqual([5, 5, 5, 5]);
    expect(thread.outcome).toBe("completed");
  });

  it("[M-28] false switches it off", async () => {
    const run = turns(["bad", "bad", "bad", "bad"], { limits: { failures: false } });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: "Sorry." });
  });
});

describe("[M-34] model calls that fail", () => {
  const http = (status: number, retryable = true) => fail(new ModelError("down", { status, retryable }));
  const after = async (script: readonly ScriptEntry[], options: Partial<AgentRunOptions> = {}) => {
    const run = agentRun({ script, ...options });
    const threadId = await run.begin();
    await run.clock.advance(120_000);
    return { calls: run.model.requests.length, outcome: runOf(await run.thread(threadId)).outcome };
  };

  it.each<[string, readonly ScriptEntry[], number, string]>([
    ["[#81] case 1 of 4: two 503, then an answer", [http(503), http(503), say("Hi")], 3, "completed"],
    ["[#81] case 2 of 4: never an answer", [http(503), http(503), http(503), say("Hi")], 3, "failed"],
  ])("%s", async (_title, script, requests, outcome) => {
    expect(await after(script)).toEqual({ calls: requests, outcome });
  });

  it("[#81] case 3 of 4: one that was stopped is not tried again", async () => {
    const run = agentRun({ script: [delay(Number.POSITIVE_INFINITY), say("Hi")] });
    const threadId = await run.begin();
    await run.stop({ user: clerk, threadId });
    await run.clock.advance(120_000);
    expect(runOf(await run.thread(threadId)).outcome).toBe("stopped");
    expect(run.model.requests).toHaveLength(1);
  });

  it("[#81] case 4 of 4: one that is silent is ended in time, and the next one answers", async () => {
    const run = agentRun({ script: [delay(Number.POSITIVE_INFINITY), say("Hi")], modelSilenceMs: 900 });
    await run.begin();
    await run.clock.advance(899);
    expect(run.clock.armed).toBeGreaterThan(0);
    await run.clock.advance(1 + 500);
    expect(run.model.requests).toHaveLength(2);
  });

  it.each([
    ["[#82] case 1 of 13: zero", "0", 0],
    ["[#82] case 2 of 13: a second", "1", 1_000],
    ["[#82] case 3 of 13: leading zeros", "007", 7_000],
    ["[#82] case 4 of 13: two minutes", "120", 120_000],
    ["[#82] case 5 of 13: the largest", "2147483647", 2_147_483_647_000],
    ["[#82] case 6 of 13: one more than that", "2147483648", undefined],
    ["[#82] case 7 of 13: huge", "99999999999999999999", undefined],
    ["[#82] case 8 of 13: empty", "", undefined],
    ["[#82] case 9 of 13: a blank", " 5", undefined],
    ["[#82] case 10 of 13: a fraction", "1.5", undefined],
    ["[#82] case 11 of 13: a minus", "-1", undefined],
    ["[#82] case 12 of 13: digits of another script", "٣", undefined],
    ["[#82] case 13 of 13: a date", "Wed, 21 Oct 2026 07:28:00 GMT", undefined],
  ])("%s", (_title, header, ms) => {
    expect(retryAfterMs(header)).toBe(ms);
  });

  it.each<[string, readonly ScriptEntry[], AgentRunOptions["modelRetry"], number, string]>([
    ["[#83] case 1 of 4: a rule that fails a 429", [http(429)], ({ status }) => status !== 429, 1, "failed"],
    ["[#83] case 2 of 4: a rule that retries a 400", [http(400, false), say("Hi")], () => true, 2, "completed"],
    ["[#83] case 3 of 4: and is bounded all the same", [http(400), http(400), http(400)], () => true, 3, "failed"],
    ["[#83] case 4 of 4: without a rule a 400 fails", [http(400, false)], undefined, 1, "failed"],
  ])("%s", async (_title, script, modelRetry, requests, outcome) => {
    expect(await after(script, { modelRetry })).toEqual({ calls: requests, outcome });
  });
});

describe("[M-34] tools that fail", () => {
  const flaky = (failures: number, error: () => Error, more: object = {}) => {
    let tries = 0;
    return recorder(() => {
      if (++tries <= failures) throw error();
      return "done";
    }, more);
  };

  it.each<[string, number, object, number, string]>([
    ["[#106] case 1 of 3: works at the third try", 2, { maxRetries: 3 }, 3, "succeeded"],
    ["[#106] case 2 of 3: its tries are used up", 9, { maxRetries: 2 }, 3, "failed"],
    [
      "[#106] case 3 of 3: a rule says that another try would not help",
      9,
      { maxRetries: 3, retry: { when: (error: Error) => error.message !== "no" } },
      1,
      "failed",
    ],
  ])("%s", async (_title, failures, more, ran, status) => {
    const act = flaky(failures, () => new Error("no"), more);
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    const threadId = await run.begin();
    await run.clock.advance(120_000);
    expect(callsOf(runOf(await run.thread(threadId)))).toMatchObject([{ status }]);
    expect(act.ran).toHaveLength(ran);
    expect(run.model.requests).toHaveLength(2);
  });

  it("[M-34] a final refusal is not tried again", async () => {
    const act = flaky(9, () => new DefiniteFailure("no", { retry: false }), { maxRetries: 3 });
    const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
    await run.start();
    expect(act.ran).toHaveLength(1);
  });

  it("[#80 M-10] case 1 of 2: a tool that throws before it returns is an error result, and the run goes on", async () => {
    const act = failing("No stock.");
    const run = agentRun({ script: [call("act", {}), say("Sorry.")], tools: { act: act.tool } });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: "Sorry." });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "No stock.", isError: true }]);
  });

  it("[#80 M-33] case 2 of 2: a hook that throws before a tool fails that call, the tool does not run", async () => {
    const act = recorder();
    const run = agentRun({
      script: [call("act", {}), say("Sorry.")],
      tools: { act: act.tool },
      hooks: {
        beforeTool: () => {
          throw new Error("hook broke");
        },
      },
    });
    expect(await run.start()).toMatchObject({ outcome: "completed", text: "Sorry." });
    expect(act.ran).toEqual([]);
    expect(resultsIn(run.model.requests[1])[0]?.isError).toBe(true);
  });
});
