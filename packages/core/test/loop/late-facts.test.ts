import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ask } from "../../src/agent/ask.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { questionTool } from "../../src/agent/question-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { ModelPart } from "../../src/model/model.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { endpoint, clerk as user } from "../server/endpoint.ts";
import { agentRun } from "./agent-run.ts";

const input = z.looseObject({});

/** Fails the first time it runs after it was granted for the run; then the grant is there and a retry is due. */
function granted(clock = fakeClock()) {
  let runs = 0;
  const act = tool({
    description: "Acts.",
    inputSchema: input,
    maxRetries: 1,
    retry: { delayMs: 5_000, jitter: 0 },
    execute: () => {
      runs += 1;
      if (runs === 2) throw new Error("busy");
      return "ok";
    },
  });
  const run = agentRun({ script: [call("act", {}), call("act", {}), say("Done.")], tools: { act }, clock });
  return { run, clock, runs: () => runs };
}

describe("a grant that is taken back between two attempts", () => {
  it("starts no retry: the call asks again, and runs once it is approved", async () => {
    const { run, clock, runs } = granted();
    const asked = await run.start();
    await run.approve(asked.pending, { user, scope: "run" });
    await clock.advance(0);
    const failing = await run.read({ user, threadId: asked.id });
    expect([runs(), failing?.grants.length]).toEqual([2, 1]);
    await run.revoke({ user, threadId: asked.id, grantId: failing?.grants[0]?.grantId ?? "" });
    await clock.advance(10_000);
    const again = await run.read({ user, threadId: asked.id });
    expect([runs(), again?.status, again?.pending[0]?.ask?.kind]).toEqual([2, "waiting", "approval"]);
    const ended = await (await run.approve(again?.pending ?? [], { user })).settled();
    expect([runs(), ended.outcome]).toEqual([3, "completed"]);
  });

  it("starts none either where it is taken back while the attempt runs", async () => {
    const clock = fakeClock();
    let runs = 0;
    const act = tool({
      description: "Acts.",
      inputSchema: input,
      maxRetries: 1,
      retry: { jitter: 0 },
      execute: () => {
        runs += 1;
        if (runs === 1) return "ok";
        return new Promise((_, fail) => clock.after(1_000, () => fail(new Error("busy"))));
      },
    });
    const run = agentRun({ script: [call("act", {}), call("act", {}), say("Done.")], tools: { act }, clock });
    const asked = await run.start();
    await run.approve(asked.pending, { user, scope: "run" });
    await clock.advance(500);
    const running = await run.read({ user, threadId: asked.id });
    await run.revoke({ user, threadId: asked.id, grantId: running?.grants[0]?.grantId ?? "" });
    await clock.advance(10_000);
    expect([runs, (await run.read({ user, threadId: asked.id }))?.pending[0]?.ask?.kind]).toEqual([2, "approval"]);
  });

  it("denied then, says that the attempt before may have had an effect", async () => {
    const { run, clock } = granted();
    const asked = await run.start();
    await run.approve(asked.pending, { user, scope: "run" });
    await clock.advance(0);
    const failing = await run.read({ user, threadId: asked.id });
    await run.revoke({ user, threadId: asked.id, grantId: failing?.grants[0]?.grantId ?? "" });
    await clock.advance(10_000);
    const again = await run.read({ user, threadId: asked.id });
    const ended = await (await run.deny(again?.pending ?? [], { user })).settled();
    expect(ended.steps[1]).toMatchObject({ status: "not-run", reason: "denied", effect: "unknown" });
  });
});

describe("a call that is finished under another name than it began with", () => {
  it("is the one that was finished: its own tool gets its own input", async () => {
    const ran: string[] = [];
    const named = (name: string) =>
      tool({ description: name, inputSchema: input, readOnly: true, execute: () => void ran.push(name) });
    const answers: ModelPart[][] = [
      [
        { type: "call-start", id: "a", name: "first" },
        { type: "call", id: "a", name: "second", input: '{"of":"second"}' },
        { type: "end", reason: "tools" },
      ],
      [
        { type: "text", text: "Done." },
        { type: "end", reason: "stop" },
      ],
    ];
    const model = {
      async *stream() {
        yield answers.shift() ?? [];
      },
    };
    const agent = defineAgent({ model, tools: { first: named("first"), second: named("second") } });
    const server = endpoint({ agent });
    const ended = await (await server.send({ user, message: "Go" })).settled();
    expect(ended.steps).toMatchObject([{ tool: "second", input: { of: "second" }, status: "succeeded" }]);
    expect(ran).toEqual(["second"]);
  });
});

describe("one of several questions that runs out", () => {
  it("leaves the time of the next one for sweep", async () => {
    const clock = fakeClock();
    const asks = (expiresInMs: number) => questionTool({ description: "Asks.", answerSchema: z.string(), expiresInMs });
    const run = agentRun({
      script: [calls(call("soon", { question: "?" }), call("late", { question: "?" }))],
      tools: { soon: asks(1_000), late: asks(60_000) },
      clock,
    });
    const asked = await run.start();
    const due = asked.pending.map((step) => step.ask?.expiresAt);
    await clock.advance(2_000);
    const [soon] = asked.pending;
    if (soon) await expect(run.answer(soon, { user, value: "x" })).rejects.toMatchObject({ code: "expired" });
    const { rows } = await run.store.list(user.id);
    expect(rows[0]).toMatchObject({ status: "waiting", pending: 1, dueAt: due[1] });
  });
});

describe("a link's address", () => {
  it("is shown to who may decide, and to no viewer: in no snapshot, stream or list", async () => {
    const bank = tool({
      description: "Asks.",
      inputSchema: input,
      readOnly: true,
      execute: (_given, { answer }) => answer ?? ask({ prompt: "Connect.", url: "https://bank.test/?token=SECRET" }),
    });
    const run = agentRun({
      script: [call("bank", {}), say("Done.")],
      tools: { bank },
      server: { authorize: ({ user: { id }, action }) => id === user.id || action === "read" },
    });
    const { id, pending } = await run.start();
    const seenBy = async (who: string): Promise<readonly boolean[]> => {
      const paths = [`/${id}`, `/${id}/events?after=0`, `/${id}/events?after=9999`];
      const bodies = await Promise.all(paths.map(async (path) => (await run.get(path, { "x-user": who })).text()));
      return bodies.map((body) => body.includes("SECRET"));
    };
    expect(await seenBy(user.id)).toEqual([true, true, true]);
    expect(await seenBy("viewer")).toEqual([false, false, false]);
    await (await run.answer(pending, { user, value: null })).settled();
    expect(await seenBy("viewer")).toEqual([false, false, false]);
  });
});
