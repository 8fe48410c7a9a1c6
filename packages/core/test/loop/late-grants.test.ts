import { expect, test } from "vitest";
import * as z from "zod";
import { ask } from "../../src/agent/ask.ts";
import { tool } from "../../src/agent/tool.ts";
import { UnknownEffect } from "../../src/agent/unknown-effect.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk as user } from "../server/endpoint.ts";
import { mortal } from "../server/mortal.ts";
import { agentRun } from "./agent-run.ts";

const input = z.looseObject({});

test("a grant taken back while its call asks something lets it start no more", async () => {
  let runs = 0;
  const act = tool({
    description: "Acts.",
    inputSchema: input,
    execute: (_i, { answer }) => {
      runs += 1;
      if (runs === 1) return "ok";
      return answer === undefined ? ask({ prompt: "Sure?" }) : "ok";
    },
  });
  const run = agentRun({ script: [call("act", {}), call("act", {}), say("Done.")], tools: { act } });
  const asked = await run.start();
  const q = await (await run.approve(asked.pending, { user, scope: "run" })).settled();
  expect([runs, q.pending[0]?.ask?.kind, q.grants.length]).toEqual([2, "question", 1]);
  await run.revoke({ user, threadId: asked.id, grantId: q.grants[0]?.grantId ?? "" });
  const [step] = q.pending;
  if (!step) throw new Error("Nothing is asked.");
  const after = await (await run.answer(step, { user, value: "yes" })).settled();
  expect([runs, after.pending[0]?.ask?.kind]).toEqual([2, "approval"]);
});

test("a grant taken back while its call ran does not let the next server start it again", async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const first = mortal(clock, store);
  const starts: string[] = [];
  const make = (who: string, hang: boolean) =>
    tool({
      description: "Acts.",
      inputSchema: input,
      idempotent: true,
      execute: (_i, { callId }) => {
        starts.push(who);
        return hang && starts.length > 1 ? new Promise(() => undefined) : callId;
      },
    });
  const script = [call("act", {}), call("act", {}), say("Done.")];
  const dead = agentRun({
    script,
    tools: { act: make("dead", true) },
    clock: first.clock,
    server: { store: first.store },
  });
  const alive = agentRun({ script: [say("Done.")], tools: { act: make("alive", false) }, clock, server: { store } });
  const asked = await dead.start();
  await dead.approve(asked.pending, { user, scope: "run" });
  await clock.advance(0);
  expect(starts).toEqual(["dead", "dead"]);
  first.kill();
  const seen = await alive.read({ user, threadId: asked.id });
  await alive.revoke({ user, threadId: asked.id, grantId: seen?.grants[0]?.grantId ?? "" });
  await clock.advance(30_000);
  await alive.sweep();
  await clock.advance(0);
  expect(starts).toEqual(["dead", "dead"]);
});

test("dynamic tools that throw when they are looked at fail the attempt, and reject nothing else", async () => {
  const rejections: unknown[] = [];
  const on = (e: unknown) => rejections.push(e);
  process.on("unhandledRejection", on);
  const run = agentRun({
    dynamicTools: () => ({
      get bad(): never {
        throw new Error("lazy tool could not be made");
      },
    }),
    script: [say("Done.")],
  });
  const threadId = await run.begin();
  await run.clock.advance(10_000);
  await new Promise((resolve) => setImmediate(resolve)); // when Node tells of rejections
  process.off("unhandledRejection", on);
  expect(rejections).toEqual([]);
  expect(await run.read({ user, threadId })).toMatchObject({ outcome: "failed" });
});

test("an effect that nobody knows of stays unknown when the call then asks and gets no answer", async () => {
  const clock = fakeClock();
  let runs = 0;
  const act = tool({
    description: "Acts.",
    inputSchema: input,
    approval: "allow",
    idempotent: true,
    maxRetries: 1,
    retry: { delayMs: 1, jitter: 0 },
    execute: () => {
      runs += 1;
      if (runs === 1) throw new UnknownEffect("The connection broke.");
      return ask({ prompt: "Sign in?" });
    },
  });
  const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act }, clock });
  const id = await run.begin();
  await clock.advance(1_000);
  const t = await run.read({ user, threadId: id });
  const [q] = t?.pending ?? [];
  if (!q) throw new Error("Nothing is asked.");
  const ended = await (await run.answer(q, { user, error: "no" })).settled();
  expect(ended.steps[0]).toMatchObject({ status: "failed", effect: "unknown" });
});

test("the same words with another form are another question", async () => {
  const A = { prompt: "Confirm", schema: z.number() };
  const B = { prompt: "Confirm", schema: z.boolean() };
  const act = tool({
    description: "Acts.",
    inputSchema: input,
    approval: "allow",
    execute: (_i, { answerTo }) => {
      if (answerTo(A) === undefined) return ask(A);
      if (answerTo(B) === undefined) return ask(B);
      return "ok";
    },
  });
  const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act } });
  const t = await run.start();
  const [q] = t.pending;
  if (!q) throw new Error("Nothing is asked.");
  const u = await (await run.answer(q, { user, value: 3 })).settled();
  expect(u.steps[0]).toMatchObject({ status: "waiting" });
});
