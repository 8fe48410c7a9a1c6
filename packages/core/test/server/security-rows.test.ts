import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { browserTool } from "../../src/agent/browser-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { questionTool } from "../../src/agent/question-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import { newId } from "../../src/loop/clock.ts";
import type { AnyStep } from "../../src/protocol/step.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import type { AgentRun } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk as user } from "./endpoint.ts";
import { mortal } from "./mortal.ts";
import { errorOf, shop, waitingShop } from "./shop.ts";
import { foldStream } from "./sse.ts";

const inputSchema = z.object({});

/** Every way a step can wait, and what answers it. */
interface Waiting {
  readonly run: AgentRun;
  readonly step: AnyStep;
  readonly ran: unknown[];
}

async function waiting(script: readonly ScriptEntry[], tools: (ran: unknown[]) => object): Promise<Waiting> {
  const ran: unknown[] = [];
  const run = agentRun({ script, tools: tools(ran) as never });
  const asked = await run.start();
  const [step] = asked.pending;
  if (!step) throw new Error("Nothing waits.");
  return { run, step, ran };
}

const acts = (ran: unknown[], options: object = {}) =>
  tool({ description: "x", inputSchema, ...options, execute: () => void ran.push("ran") });

/** A call whose server died while it ran, and which is not safe to run again. */
async function interrupted(): Promise<Waiting> {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const life = mortal(clock, store);
  const ran: unknown[] = [];
  const slow = { description: "x", inputSchema, approval: "allow" } as const;
  const never = tool({ ...slow, execute: () => new Promise<void>(() => undefined) });
  const dead = agentRun({
    script: [call("act", {})],
    tools: { act: never },
    clock,
    server: { store: life.store, clock: life.clock } as never,
  });
  const threadId = await dead.begin();
  life.kill();
  await clock.advance(31_000);
  const run = agentRun({ script: [say("Done.")], tools: { act: acts(ran, slow) }, clock, server: { store } });
  await run.sweep();
  await clock.advance(0);
  const [step] = (await run.read({ user, threadId }))?.pending ?? [];
  if (!step) throw new Error("Nothing waits.");
  return { run, step, ran };
}

const ENTRIES: readonly (readonly [string, string, () => Promise<Waiting>])[] = [
  ["an approval", "approve", () => waiting([call("act", {}), say("Done.")], (ran) => ({ act: acts(ran) }))],
  [
    "an approval inside a sub-agent",
    "approve",
    () =>
      waiting([call("helper", { prompt: "Go" }), say("Done.")], (ran) => ({
        helper: agentTool({
          description: "x",
          agent: defineAgent({ model: scriptedModel([call("act", {}), say("Acted.")]), tools: { act: acts(ran) } }),
        }),
      })),
  ],
  [
    "a tool of the browser",
    "answer",
    () =>
      waiting([call("page", {}), (results) => say(JSON.stringify(results))], () => ({
        page: browserTool({ description: "x", inputSchema, outputSchema: z.string(), readOnly: true }),
      })),
  ],
  [
    "a question",
    "answer",
    () =>
      waiting([call("which", {}), (results) => say(JSON.stringify(results))], () => ({
        which: questionTool({ description: "x", inputSchema, answerSchema: z.string(), prompt: () => "Which?" }),
      })),
  ],
  ["an interrupted call", "retry", interrupted],
  ["an interrupted call that is given its result", "answer", interrupted],
];

describe("[S02] one gate for every entry: a decision about another step than was shown", () => {
  const bodyOf = (step: AnyStep, action: string, digest: string) => ({
    decisions: [{ callId: step.id, digest, action, value: action === "answer" ? "forged" : undefined }],
  });

  it.each(ENTRIES)("%s: is stale over HTTP and in code, and nothing of it counts", async (_title, action, open) => {
    const { run, step, ran } = await open();
    const before = await run.events(step.threadId);
    for (const digest of ["", "x", `${step.digest}x`, step.id]) {
      const response = await run.post(`/${step.threadId}/decisions`, { ...bodyOf(step, action, digest), key: "k" });
      expect(response.status).toBeGreaterThanOrEqual(400);
      const forged = { ...step, digest };
      const decided =
        action === "approve"
          ? run.approve(forged, { user })
          : action === "retry"
            ? run.retry(forged, { user })
            : run.answer(forged, { user, value: "forged" });
      await expect(decided).rejects.toMatchObject({ code: "stale" });
    }
    await run.clock.advance(60_000);
    expect([await run.events(step.threadId), ran]).toEqual([before, []]);
  });

  it.each(ENTRIES)("positive control: %s takes the step that was shown", async (_title, action, open) => {
    const { run, step, ran } = await open();
    const response = await run.post(`/${step.threadId}/decisions`, { ...bodyOf(step, action, step.digest), key: "k" });
    expect(response.status).toBe(200);
    await run.clock.advance(0);
    const thread = await run.thread(step.threadId);
    expect(thread.runs.at(-1)?.outcome).toBe("completed");
    expect(ran).toEqual(action === "answer" ? [] : ["ran"]);
  });

  it("a step of a tool that only ever waits for the browser cannot be approved instead, nor the other way round", async () => {
    for (const [, action, open] of ENTRIES) {
      const { run, step, ran } = await open();
      for (const other of ["approve", "answer", "retry", "skip"].filter((name) => name !== action)) {
        if (step.ask?.kind === "interrupted" && other !== "approve") continue;
        if (other === "skip" && step.ask?.kind !== "approval") continue;
        const body = { ...bodyOf(step, other, step.digest), key: other };
        expect((await run.post(`/${step.threadId}/decisions`, body)).status, `${action} as ${other}`).toBe(409);
      }
      expect(ran).toEqual([]);
    }
  });
});

describe("[S08] a reader's place in one thread", () => {
  const twoThreads = async () => {
    const { server } = shop({ script: [say("Secret of ada."), say("Hello bob."), say("More.")] });
    const send = async (id: string, text: string): Promise<string> => {
      const sent = await server.post("", { message: { text }, key: "k" }, { "x-user": id });
      return (await sent.json()).threadId;
    };
    const [ada, bob] = [await send("ada", "Ada's question"), await send("bob", "Bob's question")];
    await server.clock.advance(0);
    return { server, ada, bob };
  };

  it("of another user: brings nothing of it, whichever of its ids is named where", async () => {
    const { server, ada, bob } = await twoThreads();
    const { seq } = await server.thread(ada);
    for (const id of [String(seq), `${ada}:${seq}`, `${ada}/${seq}`, ada]) {
      for (const headers of [{ "last-event-id": id }, {}]) {
        const path = `/${bob}/events${"last-event-id" in headers ? "" : `?after=${encodeURIComponent(id)}`}`;
        const response = await server.get(path, { "x-user": "bob", ...headers });
        const text = await response.text();
        expect(response.status === 200 || response.status === 400).toBe(true);
        expect(text).not.toMatch(/ada|Ada/);
      }
    }
    const foreign = await server.get(`/${ada}/events`, { "x-user": "bob", "last-event-id": "1" });
    expect(await errorOf(foreign)).toMatchObject({ status: 404 });
  });

  it("positive control: of one's own goes on behind it", async () => {
    const { server, bob } = await twoThreads();
    const whole = await (await server.get(`/${bob}/events`, { "x-user": "bob" })).text();
    expect(foldStream(whole, bob).runs[0]?.text).toBe("Hello bob.");
    const { seq } = await server.thread(bob);
    const rest = await (
      await server.get(`/${bob}/events`, { "x-user": "bob", "last-event-id": String(seq - 1) })
    ).text();
    expect(rest).toContain(`id: ${seq}`);
    expect(rest).not.toContain("Bob's question");
  });
});

describe("[S09] a thread whose owner is not known", () => {
  /** A running thread of somebody, in whose log no owner is named. */
  const ownerless = async (owner: string | undefined) => {
    const made = shop({ script: [delay(Number.POSITIVE_INFINITY)] });
    const { threadId, runId } = await made.server.send({ user, message: "Go" });
    await made.server.clock.advance(0);
    const read = await made.server.store.read(threadId);
    if (!read || "gone" in read) throw new Error("There is no log.");
    const events = read.events.map(({ control, data }) => {
      const event = JSON.parse(data);
      if (event.type === "thread-created") event.owner = owner;
      return { control, data: JSON.stringify(event) };
    });
    const other = shop({ script: [say("Hi")] });
    await other.server.store.append(threadId, { at: 0 }, { batch: "b", events });
    return { server: other.server, threadId, runId };
  };

  it.each([[undefined], [""], ["somebody else"]])(
    "(%j) is nobody's to stop, read, decide about or remove",
    async (owner) => {
      const { server, threadId, runId } = await ownerless(owner);
      const before = await server.events(threadId);
      const tries = [
        server.post(`/${threadId}/stop`, { runId, key: "s" }),
        server.post(`/${threadId}/messages`, { message: { text: "x" }, key: "m" }),
        server.post(`/${threadId}/decisions`, {
          decisions: [{ callId: "c", digest: "d", action: "approve" }],
          key: "d",
        }),
        server.get(`/${threadId}`),
        server.get(`/${threadId}/events`),
      ];
      for (const response of await Promise.all(tries)) {
        expect(await errorOf(response)).toMatchObject({ status: 404, code: "not-found" });
      }
      await expect(server.stop({ user, threadId })).rejects.toMatchObject({ code: "not-found" });
      await expect(server.remove({ user, threadId })).rejects.toMatchObject({ code: "not-found" });
      expect(await server.events(threadId)).toEqual(before);
    },
  );

  it("positive control: the owner's own stop works", async () => {
    const { server, threadId, runId } = await ownerless(user.id);
    expect((await server.post(`/${threadId}/stop`, { runId, key: "s" })).status).toBe(202);
  });
});

describe("[S03] ids that somebody could guess", () => {
  it("are none: what this process mints has 128 random bits or more, and no two are alike", async () => {
    const ids = Array.from({ length: 2_000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    // Every character of 22 is one of 64, and none stands still.
    for (let place = 0; place < 22; place++) {
      expect(new Set(ids.map((id) => id[place])).size, `place ${place}`).toBeGreaterThan(place === 21 ? 3 : 50);
    }
  });

  it("open nothing to who is not signed in, even when they are known", async () => {
    const made = await waitingShop({ script: [calls(call("refund", { orderId: "1", amount: 1 })), say("Done.")] });
    const decisions = [{ callId: made.step.id, digest: made.step.digest, action: "approve" }];
    const nobody = await made.server.post(
      `/${made.threadId}/decisions`,
      { decisions, key: "k" },
      { "x-user": "nobody" },
    );
    const mallory = await made.server.post(
      `/${made.threadId}/decisions`,
      { decisions, key: "k" },
      { "x-user": "mallory" },
    );
    expect([await errorOf(nobody), await errorOf(mallory)]).toMatchObject([{ status: 401 }, { status: 404 }]);
    await made.server.clock.advance(60_000);
    expect(made.ran).toEqual([]);
  });
});
