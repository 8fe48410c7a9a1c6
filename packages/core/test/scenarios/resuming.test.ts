import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { NOT_RUN } from "../../src/model/call-result.ts";
import { NOTE_PREFIX } from "../../src/model/prompt.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { recorder, resultsIn, textsIn, waiting } from "./play.ts";

const user = clerk;
const asking = (output: unknown = "done", more: object = {}) => recorder(output, { readOnly: false, ...more });
const notesIn = (request: Parameters<typeof textsIn>[0]) =>
  textsIn(request, "user").filter((text) => text.startsWith(NOTE_PREFIX));

describe("[M-18] a deploy between approval and start", () => {
  /** Approved on a server whose work ends with its response; started by another one, which has `tools`. */
  const started = async (old: Tool, tools: Record<string, Tool>) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const server = { store, livesOn: false };
    const before = agentRun({ script: [call("act", { id: 1 })], tools: { act: old }, clock, server });
    const after = agentRun({ script: [say("Done.")], tools, clock, server: { store } });
    const { threadId } = await before.send({ user, message: "Go" });
    const reader = before.get(`/${threadId}/events`).then((response) => response.text());
    await clock.advance(0);
    await reader;
    const asked = await before.read({ user, threadId });
    if (!asked) throw new Error("no thread");
    await before.approve(waiting(asked), { user });
    await after.sweep();
    await clock.advance(0);
    const thread = await after.read({ user, threadId });
    return { step: thread?.steps[0], outcome: thread?.outcome, request: after.model.requests[0] };
  };
  const inputSchema = z.object({ id: z.number() });
  const act = (more: object = {}) => asking("done", { inputSchema, ...more });

  it.each([
    ["[#41] case 1 of 6: changed nothing: it runs with what was approved", "act", {}, true],
    ["[#41] case 2 of 6: changed the description: it runs", "act", { description: "Another text." }, true],
    [
      "[#41] case 3 of 6: changed the schema: it does not run",
      "act",
      { inputSchema: z.object({ id: z.number(), more: z.string().optional() }) },
      false,
    ],
    ["[#41] case 4 of 6: made it destructive: it does not run", "act", { destructive: true }, false],
    ["[#41] case 5 of 6: gave it another name: it does not run", "acts", {}, false],
    ["[#41] case 6 of 6: took it away: it does not run", "", {}, false],
  ])("%s", async (_title, name, more, runs) => {
    const [old, next] = [act(), act(more)];
    const { step, outcome, request } = await started(old.tool, name === "" ? {} : { [name]: next.tool });
    expect([old.ran, next.ran]).toEqual([[], runs ? [{ id: 1 }] : []]);
    expect(step).toMatchObject(runs ? { status: "succeeded" } : { status: "not-run", reason: "blocked" });
    expect(outcome).toBe("completed");
    const [result] = resultsIn(request);
    expect(result?.isError).toBe(!runs);
    if (!runs) expect(String(result?.output).startsWith(NOT_RUN)).toBe(true);
  });
});

describe("[M-20] after a denial", () => {
  it("[#42] the result says that nothing ran, guidance is last and once, and the run goes on", async () => {
    const act = asking();
    const run = agentRun({ script: [call("act", { secret: "s3cret" }), say("Fine.")], tools: { act: act.tool } });
    const ended = await (await run.deny(waiting(await run.start()), { user, reason: "wrong order" })).settled();
    const request = run.model.requests[1];
    expect(act.ran).toEqual([]);
    expect(resultsIn(request)).toEqual([{ output: `${NOT_RUN}: denied by the person: wrong order`, isError: true }]);
    const last = request?.messages.at(-1);
    expect(last?.role === "user" && notesIn({ messages: [last], tools: [] })).toHaveLength(1);
    expect(notesIn(request)).toHaveLength(1);
    expect(notesIn(request)[0]).not.toContain("s3cret");
    expect(ended).toMatchObject({ outcome: "completed", text: "Fine." });
  });

  it("[#43] one approved, one denied: one ran, one did not, guidance is there", async () => {
    const act = asking();
    const run = agentRun({
      script: [calls(call("act", { id: "a" }), call("act", { id: "b" })), say("Fine.")],
      tools: { act: act.tool },
    });
    const [a, b] = (await run.start()).pending;
    if (!a || !b) throw new Error("two should wait");
    await (await run.approve(a, { user })).settled();
    await (await run.deny(b, { user })).settled();
    expect(act.ran).toEqual([{ id: "a" }]);
    expect(resultsIn(run.model.requests[1])).toEqual([
      { output: "done", isError: false },
      { output: `${NOT_RUN}: denied by the person`, isError: true },
    ]);
    expect(notesIn(run.model.requests[1])).toHaveLength(1);
  });

  it("[#45] of an earlier turn and a success since: no guidance any more", async () => {
    const [act, look] = [asking(), recorder("seen")];
    const run = agentRun({
      script: [call("act", {}), call("look", {}), say("Fine.")],
      tools: { act: act.tool, look: look.tool },
    });
    await (await run.deny(waiting(await run.start()), { user })).settled();
    expect(run.model.requests.map((request) => notesIn(request).length)).toEqual([0, 1, 0]);
    expect(look.ran).toHaveLength(1);
  });

  it("[M-20] with onDenied stop the run ends, and the model is not asked", async () => {
    const act = asking();
    const run = agentRun({ script: [call("act", {}), say("Fine.")], tools: { act: act.tool }, onDenied: "stop" });
    const ended = await (await run.deny(waiting(await run.start()), { user })).settled();
    expect(ended).toMatchObject({ outcome: "stopped", code: "denied" });
    expect([run.model.requests.length, act.ran.length]).toEqual([1, 0]);
  });

  it("[#44] case 1 of 3: not for a failure of what was approved", async () => {
    const act = asking(() => {
      throw new Error("bank closed");
    });
    const run = agentRun({ script: [call("act", {}), say("Fine.")], tools: { act: act.tool } });
    await (await run.approve(waiting(await run.start()), { user })).settled();
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "bank closed", isError: true }]);
    expect(notesIn(run.model.requests[1])).toEqual([]);
  });

  it("[#44] case 2 of 3: not for a denial of a rule, and the person is not blamed for it", async () => {
    const act = asking();
    const run = agentRun({
      script: [call("act", {}), say("Fine.")],
      tools: { act: act.tool },
      policy: () => ({ deny: "closed on Sundays" }),
    });
    await run.start();
    const [result] = resultsIn(run.model.requests[1]);
    expect(String(result?.output)).toContain("closed on Sundays");
    expect(String(result?.output)).not.toContain("person");
    expect(notesIn(run.model.requests[1])).toEqual([]);
    expect(act.ran).toEqual([]);
  });
});

describe("[M-19] a call that was allowed and held back", () => {
  const script = [call("act", { id: 1 }), calls(call("act", { id: 1 }), call("act", { id: 2 })), say("Done.")];

  const heldBack = async () => {
    const act = asking();
    const run = agentRun({ script, tools: { act: act.tool }, holdTurn: true });
    const thread = await (await run.approve(waiting(await run.start()), { user, scope: "run" })).settled();
    expect(thread.steps.map(({ status }) => status)).toEqual(["succeeded", "queued", "waiting"]);
    expect(act.ran).toEqual([{ id: 1 }]);
    return { act, run, thread };
  };

  it("[#48] asks again when what allowed it is taken back, and does not run", async () => {
    const { act, run, thread } = await heldBack();
    await run.revoke({ user, threadId: thread.id, grantId: thread.grants[0]?.grantId ?? "" });
    const other = thread.pending[0];
    if (!other) throw new Error("nothing waits");
    const next = await (await run.approve(other, { user })).settled();
    expect(next.status).toBe("waiting");
    expect(next.pending.map(({ input }) => input)).toEqual([{ id: 1 }]);
    expect(act.ran).toEqual([{ id: 1 }]);
  });

  it("[M-19] runs when nothing changed", async () => {
    const { act, run, thread } = await heldBack();
    const next = await (await run.approve(waiting(thread), { user })).settled();
    expect(next.outcome).toBe("completed");
    expect(act.ran).toEqual([{ id: 1 }, { id: 1 }, { id: 2 }]);
  });
});
