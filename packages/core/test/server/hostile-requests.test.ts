import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { AnyStep } from "../../src/protocol/step.ts";
import type { View } from "../../src/protocol/typed.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { call, calls, delay, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import type { AgentRun, AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { BASE, clerk } from "./endpoint.ts";
import { mortal } from "./mortal.ts";
import { errorOf, REFUND, shop, waitingShop } from "./shop.ts";

const user = clerk;
const never = new Promise<never>(() => undefined);

/** An agent with one tool, which asks first; `ran` has the inputs it ran with. */
function acting(input: object, inputSchema: Tool["inputSchema"], options: Partial<AgentRunOptions>, more: object = {}) {
  const ran: unknown[] = [];
  const execute = (given: unknown): void => void ran.push(given);
  const act = tool({ description: "x", inputSchema, ...more, execute });
  return { ran, run: agentRun({ script: [call("act", { ...input }), say("Done.")], ...options, tools: { act } }) };
}

function only(thread: Pick<View, "pending"> | null | undefined): View["pending"][number] {
  const [step, ...others] = thread?.pending ?? [];
  if (!step || others.length > 0) throw new Error("not one step waits");
  return step;
}

describe("a store whose reply never comes", () => {
  const LEASE_MS = 30_000;

  it("to an append gets it again after a third of the lease, and the run goes on", async () => {
    const clock = fakeClock();
    const memory = memoryStore({ clock });
    const batches: string[] = [];
    const store: ThreadStore = {
      ...memory,
      async append(...args) {
        const result = await memory.append(...args);
        if (!args[2].events.some(({ data }) => data.includes('"call-started"'))) return result;
        batches.push(args[2].batch);
        return batches.length === 1 ? never : result;
      },
    };
    const { run, ran } = acting({}, z.object({}), { clock, server: { store, leaseMs: LEASE_MS } }, { readOnly: true });
    const threadId = await run.begin();
    await clock.advance(LEASE_MS / 3 - 1);
    expect([batches.length, ran.length]).toEqual([1, 0]);
    await clock.advance(1_000);
    expect([batches.length, new Set(batches).size, ran.length]).toEqual([2, 1, 1]);
    expect(await run.read({ user, threadId })).toMatchObject({ outcome: "completed", text: "Done." });
    expect((await run.thread(threadId)).anomalies).toBe(0);
    expect(clock.armed).toBe(0);
  });

  it("to a renewal does not end the renewals nor the driver", async () => {
    const clock = fakeClock();
    const memory = memoryStore({ clock });
    let renewals = 0;
    const store: ThreadStore = { ...memory, lease: (...args) => (++renewals === 1 ? never : memory.lease(...args)) };
    const slow = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      timeoutMs: LEASE_MS * 10,
      execute: () => new Promise<void>((resolve) => clock.after(LEASE_MS * 5, resolve)),
    });
    const script = [call("slow", {}), say("Done.")];
    const server = { store, leaseMs: LEASE_MS };
    const run = agentRun({ script, tools: { slow }, clock, server });
    const other = agentRun({ script, tools: { slow }, clock, server: { ...server, store: memory } });
    const threadId = await run.begin();
    for (let looks = 0; looks < 15; looks++) {
      await clock.advance(LEASE_MS / 3);
      await other.sweep();
    }
    await clock.advance(0);
    expect(renewals).toBeGreaterThan(10);
    const thread = await run.thread(threadId);
    expect(thread.runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect([thread.epoch, other.model.requests.length, clock.armed]).toEqual([1, 0, 0]);
  });
});

describe("a grant that is revoked", () => {
  it("stops the queued call it had allowed: the call asks again", async () => {
    let finish: () => void = () => undefined;
    const slow = tool({
      description: "x",
      inputSchema: z.object({}),
      readOnly: true,
      sequential: true,
      execute: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    const script = [call("refund", REFUND), calls(call("slow", {}), call("refund", REFUND)), say("Done.")];
    const { server, threadId, step, ran } = await waitingShop({ script, tools: { slow } });
    const settling = await server.approve(step, { user, scope: "run" });
    await server.clock.advance(0);
    const running = await server.read({ user, threadId });
    expect(running?.steps.map(({ status }) => status)).toEqual(["succeeded", "running", "queued"]);
    await server.revoke({ user, threadId, grantId: running?.grants[0]?.grantId ?? "" });
    finish();
    const asked = await settling.settled();
    expect(ran).toHaveLength(1);
    await (await server.approve(only(asked), { user })).settled();
    expect(ran).toHaveLength(2);
    expect((await server.thread(threadId)).anomalies).toBe(0);
  });
});

describe("an edit whose policy never answers", () => {
  it("is told so after ten seconds, and the step still waits", async () => {
    let asked = 0;
    const policy = () => (++asked > 1 ? never : ("ask" as const));
    const { server, step } = await waitingShop({ more: { policy } });
    const edit = server
      .approve(step, { user, input: { ...REFUND, amount: 3 } })
      .catch((error: { code: string }) => error);
    await server.clock.advance(10_000);
    expect(await edit).toMatchObject({ code: "unavailable" });
    expect((await server.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
  });
});

describe("an approval with another input", () => {
  const refused = async (run: AgentRun, step: View["pending"][number], body: object, code: string) => {
    const before = await run.events(step.threadId);
    const decisions = [{ callId: step.id, digest: step.digest, action: "approve", ...body }];
    const error = await errorOf(await run.post(`/${step.threadId}/decisions`, { decisions, key: "k" }));
    await run.clock.advance(1_000);
    expect(error).toMatchObject({ status: 400, code });
    expect(await run.events(step.threadId)).toEqual(before);
    return error;
  };

  it("covers no more than the policy offers for that input", async () => {
    const policy: AgentRunOptions["policy"] = ({ input }) =>
      (input as { amount: number }).amount > 500 ? { ask: { scopes: ["once"] } } : undefined;
    const { run, ran } = acting({ amount: 5 }, z.object({ amount: z.number() }), { policy });
    const step = only(await run.start());
    await refused(run, step, { input: { amount: 900 }, scope: "run" }, "bad-request");
    const ended = await (await run.approve(step, { user, input: { amount: 900 }, scope: "once" })).settled();
    expect([ran, ended.grants]).toEqual([[{ amount: 900 }], []]);
  });

  it("is refused where the schema changes what it reads each time; what is shown can be approved", async () => {
    const schema = z.object({ note: z.string(), amount: z.number().overwrite((amount) => amount * 100) });
    const { run, ran } = acting({ note: "", amount: 5 }, schema, {});
    const step = only(await run.start());
    expect(step.input).toEqual({ note: "", amount: 500 });
    await refused(run, step, { input: { note: "x", amount: 500 } }, "invalid-input");
    await (await run.approve(step, { user })).settled();
    expect(ran).toEqual([step.input]);
  });

  it.each([
    ["cannot remove a locked field that is null", { a: "1", cap: null }, { a: "2" }],
    ["cannot add a locked field as null", { a: "1" }, { a: "2", cap: null }],
  ])("%s", async (_title, input, edited) => {
    const schema = z.object({ a: z.string(), cap: z.number().nullish() });
    const { run, ran } = acting(input, schema, {}, { approval: { ask: { editable: ["a"] } } });
    const error = await refused(run, only(await run.start()), { input: edited }, "invalid-input");
    expect(error.issues?.map(({ path }) => path)).toEqual([["cap"]]);
    expect(ran).toEqual([]);
  });
});

describe("a decision", () => {
  const post = (server: Pick<AgentRun, "post">, step: Pick<AnyStep, "id" | "threadId" | "digest">, action: string) =>
    server.post(`/${step.threadId}/decisions`, {
      decisions: [{ callId: step.id, digest: step.digest, action }],
      key: `${action} ${step.digest}, late`,
    });

  it("about a question is none about a later one: not of an approval, not of an older interruption", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const keys: string[] = [];
    const act = tool({
      description: "x",
      inputSchema: z.object({}),
      execute: (_input, { idempotencyKey }) => (keys.push(idempotencyKey) < 3 ? never : "done"),
    });
    const serverOver = (part: Pick<ReturnType<typeof mortal>, "clock" | "store">) =>
      agentRun({ script: [call("act", {}), say("Done.")], tools: { act }, clock: part.clock, server: part });
    const lives = [mortal(clock, store), mortal(clock, store)];
    const [first, second] = lives.map(serverOver);
    const last = agentRun({ script: [say("Done.")], tools: { act }, clock, server: { store } });
    if (!first || !second) throw new Error("no servers");
    const interruptedAfter = async (server: number): Promise<View["pending"][number]> => {
      await clock.advance(0);
      lives[server]?.kill();
      await clock.advance(30_000);
      await last.sweep();
      await clock.advance(0);
      return only(await last.read({ user, threadId: approval.threadId }));
    };
    const approval = only(await first.start());
    await first.approve(approval, { user });
    const one = await interruptedAfter(0);
    for (const action of ["approve", "deny", "retry", "skip"]) {
      expect(await errorOf(await post(last, approval, action))).toMatchObject({ status: 409, code: "stale" });
    }
    await second.retry(one, { user });
    const two = await interruptedAfter(1);
    expect(keys).toHaveLength(2);
    expect(new Set([approval.digest, one.digest, two.digest]).size).toBe(3);
    expect(await errorOf(await post(last, one, "retry"))).toMatchObject({ status: 409, code: "stale" });
    await clock.advance(0);
    expect(keys).toHaveLength(2);
    expect((await (await last.retry(two, { user })).settled()).outcome).toBe("completed");
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  });

  it("that is there twice in one request is a 400, and neither counts", async () => {
    const { server, threadId, step, ran } = await waitingShop();
    const before = await server.events(threadId);
    const decisions = ["deny", "approve"].map((action) => ({ callId: step.id, digest: step.digest, action }));
    const response = await server.post(`/${threadId}/decisions`, { decisions, key: "k" });
    expect(await errorOf(response)).toMatchObject({ status: 400, code: "bad-request" });
    await expect(server.approve([step, step], { user })).rejects.toMatchObject({ code: "bad-request" });
    expect([await server.events(threadId), ran]).toEqual([before, []]);
  });

  it("without an end to its time can be made at any time", async () => {
    const ask = { expiresInMs: Number.POSITIVE_INFINITY };
    const { server, step, ran } = await waitingShop({ refund: { approval: { ask } } });
    expect(step.ask?.expiresAt).toBeUndefined();
    await server.clock.advance(10_000_000_000);
    expect(await server.sweep()).toBe(0);
    expect((await (await server.approve(step, { user })).settled()).outcome).toBe("completed");
    expect(ran).toEqual([REFUND]);
  });
});

describe("[S09] a user without an id", () => {
  const USERS = [{}, { id: "" }, { id: null }, { id: 5 }];

  it.each(USERS)("such as %j is misconfigured in every verb", async (given) => {
    const { server, threadId, step } = await waitingShop();
    const before = await server.events(threadId);
    const who = { user: given as never, threadId };
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => server.list(who),
      () => server.read(who),
      () => server.send({ user: who.user, message: "Go" }),
      () => server.send({ ...who, message: "Go", pending: "deny" }),
      () => server.approve(step, who),
      () => server.deny(step, who),
      () => server.answer(step, { ...who, value: 1 }),
      () => server.retry(step, who),
      () => server.skip(step, who),
      () => server.stop(who),
      () => server.continue(who),
      () => server.rename({ ...who, title: "x" }),
      () => server.revoke({ ...who, grantId: "g" }),
      () => server.remove(who),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: "misconfigured" });
    expect(await server.events(threadId)).toEqual(before);
  });

  it.each(USERS)("such as %j is misconfigured over HTTP, and sees no thread", async (given) => {
    const store = memoryStore({ clock: fakeClock() });
    const { threadId } = await waitingShop({ store });
    const { server } = shop({ store, http: { identify: async () => given as never } });
    const posts = ["/messages", "/decisions", "/stop", "/continue", "/title", "/revoke"];
    const responses = [
      ...["", `/${threadId}`, `/${threadId}/events`].map((path) => server.get(path)),
      ...["", ...posts].map((path, index) => server.post(index === 0 ? path : `/${threadId}${path}`, {})),
      server.handle(new Request(`${BASE}/${threadId}`, { method: "DELETE" })),
    ];
    for (const response of await Promise.all(responses)) {
      const error = await errorOf(response);
      expect(error).toMatchObject({ status: 503, code: "misconfigured" });
      expect(JSON.stringify(error)).not.toContain("1042");
    }
  });
});

describe("a key", () => {
  it("that began a conversation and was forgotten since does not write into it again", async () => {
    const { server } = shop({ script: [say("Hi"), say("Hi")] });
    const body = { message: { text: "Hi" }, key: "first" };
    const { threadId } = await (await server.post("", body)).json();
    await server.clock.advance(0);
    for (let count = 0; count < 256; count++) await server.rename({ user, threadId, title: `${count}` });
    const before = await server.events(threadId);
    for (const again of [body, { ...body, message: { text: "Other" }, pending: "deny" }]) {
      expect(await errorOf(await server.post("", again))).toMatchObject({ status: 422, code: "key-reused" });
    }
    expect(await server.events(threadId)).toEqual(before);
  });

  it("of a stop is another write's in continue: a 422, and nothing goes on", async () => {
    const { server } = shop({ script: [delay(Number.POSITIVE_INFINITY), say("Went on.")] });
    const { threadId, runId } = await server.send({ user, message: "Go" });
    await server.clock.advance(0);
    await server.post(`/${threadId}/stop`, { runId, key: "k" });
    await server.clock.advance(0);
    const before = await server.events(threadId);
    const response = await server.post(`/${threadId}/continue`, { runId, key: "k" });
    expect(await errorOf(response)).toMatchObject({ status: 422, code: "key-reused" });
    await expect(server.continue({ user, threadId, key: "k" })).rejects.toMatchObject({ code: "key-reused" });
    expect(await server.events(threadId)).toEqual(before);
  });
});
