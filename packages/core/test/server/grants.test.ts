import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Policy } from "../../src/agent/policy.ts";
import type { ToolOptions } from "../../src/agent/tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { AskOptions, Verdict } from "../../src/agent/verdict.ts";
import type { AnyStep } from "../../src/protocol/step.ts";
import type { View } from "../../src/protocol/typed.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk as user } from "./endpoint.ts";

const inputSchema = z.object({ orderId: z.string(), amount: z.number() });
type Refund = z.infer<typeof inputSchema>;
type Options = Partial<ToolOptions<typeof inputSchema, string>> & {
  readonly policy?: Policy;
  readonly holdTurn?: boolean;
};

const refund = (amount: number, orderId = "1042") => call("refund", { orderId, amount });

/** An agent with one tool, which says what it did, and a model that plays these answers. */
function shop(script: readonly ScriptEntry[], { policy, holdTurn, ...options }: Options = {}) {
  const ran: number[] = [];
  const refundTool = tool({
    description: "Refunds.",
    inputSchema,
    execute: ({ amount }) => {
      ran.push(amount);
      return "ok";
    },
    ...options,
  });
  const clock = fakeClock();
  const run = agentRun({ script, tools: { refund: refundTool }, clock, ...(policy && { policy }), holdTurn });
  return { run, ran, clock };
}

const amounts = (steps: readonly AnyStep[]): readonly unknown[] => steps.map(({ input }) => (input as Refund).amount);
const first = ({ pending: [step] }: View): AnyStep => {
  if (!step) throw new Error("Nothing waits.");
  return step;
};
const perOrder: Options["approval"] = ({ orderId }) => ({
  ask: { scopes: ["once", "run", "thread"], grant: { key: orderId, label: `Refunds of order ${orderId}` } },
});

describe("[P29] a remembered approval and the steps that wait beside it", () => {
  it("lets those with the same input run, in the same append, and no other", async () => {
    const { run, ran } = shop([calls(refund(5), refund(5), refund(6), refund(5, "7")), say("Done.")]);
    const asked = await run.start();
    expect(asked.pending).toHaveLength(4);
    const { threadId } = await run.approve(first(asked), { user, scope: "run" });
    await run.clock.advance(0);
    const now = await run.read({ user, threadId });
    expect(ran).toEqual([5, 5]);
    expect(now?.pending.map(({ input }) => input)).toEqual([
      { orderId: "1042", amount: 6 },
      { orderId: "7", amount: 5 },
    ]);
    expect(now?.steps[1]).toMatchObject({
      grantId: now?.grants[0]?.grantId,
      decision: { by: user, action: "approve" },
    });
    const read = await run.store.read(threadId);
    if (!read || "gone" in read) throw new Error("It is gone.");
    const recorded = read.events.filter(({ data }) => data.includes('"decision-recorded"'));
    expect(new Set(recorded.map(({ batch }) => batch)).size).toBe(1);
  });

  it("leaves what the person decided otherwise in the same post", async () => {
    const { run, ran } = shop([calls(refund(5), refund(5)), say("Done.")]);
    const asked = await run.start();
    const [one, other] = asked.pending.map(({ id, digest }) => ({ callId: id, digest }));
    const decisions = [
      { ...one, action: "approve", scope: "run" },
      { ...other, action: "deny" },
    ];
    expect((await run.post(`/${asked.id}/decisions`, { decisions, key: "k" })).status).toBe(200);
    await run.clock.advance(0);
    expect(ran).toEqual([5]);
  });

  it.each<[string, Options]>([
    ["a step that may be approved once only", { approval: { ask: { scopes: ["once"] } } }],
    ["a destructive tool", { destructive: true }],
  ])("cannot be given to %s", async (_title, options) => {
    const { run, ran } = shop([calls(refund(5), refund(5)), say("Done.")], options);
    const asked = await run.start();
    await expect(run.approve(first(asked), { user, scope: "run" })).rejects.toMatchObject({ code: "bad-request" });
    expect(ran).toEqual([]);
  });

  it("is taken back from a step it let through that has not started: it asks again", async () => {
    const { run, ran } = shop([calls(refund(5), refund(5), refund(6)), say("Done.")], { holdTurn: true });
    const asked = await run.start();
    const { threadId } = await run.approve(first(asked), { user, scope: "run" });
    const held = await run.read({ user, threadId });
    expect(amounts(held?.pending ?? [])).toEqual([6]);
    await run.revoke({ user, threadId, grantId: held?.grants[0]?.grantId ?? "" });
    await run.clock.advance(0);
    const again = await run.read({ user, threadId });
    expect(amounts(again?.pending ?? [])).toEqual([5, 6]);
    const ended = await (await run.approve(again?.pending ?? [], { user })).settled();
    expect([ended.outcome, ran]).toEqual(["completed", [5, 5, 6]]);
  });
});

describe("what an approval covers", () => {
  it("is exactly its input, unless the tool's rule names a key: then all of the key", async () => {
    const { run, ran } = shop([refund(5), refund(80), refund(5, "7"), say("Done.")], { approval: perOrder });
    const asked = await run.start();
    const next = await (await run.approve(first(asked), { user, scope: "thread" })).settled();
    expect(ran).toEqual([5, 80]);
    expect(first(next).input).toEqual({ orderId: "7", amount: 5 });
    expect(next.grants).toMatchObject([{ label: "Refunds of order 1042", used: 1, scope: "thread" }]);
    const body = await (await run.get(`/${asked.id}`)).text();
    expect(body).toContain("Refunds of order 1042");
    expect(body).not.toMatch(/"(grantKey|key)":/);
  });

  it("is the key of the input as the person changed it", async () => {
    const { run, ran } = shop([refund(5), refund(6, "7"), refund(7), say("Done.")], { approval: perOrder });
    const asked = await run.start();
    const input = { orderId: "7", amount: 5 };
    const next = await (await run.approve(first(asked), { user, scope: "run", input })).settled();
    expect(ran).toEqual([5, 6]);
    expect(first(next).input).toEqual({ orderId: "1042", amount: 7 });
  });

  it("is so many calls as the rule says, however many come in one answer", async () => {
    const approval = { ask: { grant: { uses: 2 } } } satisfies Verdict;
    const { run, ran } = shop([refund(5), calls(refund(5), refund(5), refund(5)), say("Done.")], { approval });
    const asked = await run.start();
    const next = await (await run.approve(first(asked), { user, scope: "run" })).settled();
    expect(ran).toEqual([5, 5, 5]);
    expect([next.pending.length, next.grants[0]?.used]).toEqual([1, 2]);
  });

  it("counts the steps that waited already", async () => {
    const approval = { ask: { grant: { uses: 1 } } } satisfies Verdict;
    const { run, ran } = shop([calls(refund(5), refund(5), refund(5)), say("Done.")], { approval });
    const asked = await run.start();
    const { threadId } = await run.approve(first(asked), { user, scope: "run" });
    await run.clock.advance(0);
    expect(ran).toEqual([5, 5]);
    expect((await run.read({ user, threadId }))?.pending).toHaveLength(1);
  });

  it("lasts as long as the rule says", async () => {
    const approval = { ask: { scopes: ["thread"], grant: { forMs: 60_000 } } } satisfies Verdict;
    const { run, ran, clock } = shop([refund(5), refund(5), say("Done."), refund(5), say("Done.")], { approval });
    const asked = await run.start();
    await (await run.approve(first(asked), { user, scope: "thread" })).settled();
    expect(ran).toEqual([5, 5]);
    await clock.advance(60_001);
    const later = await (await run.send({ user, threadId: asked.id, message: "Again" })).settled();
    expect([ran.length, later.pending.length]).toEqual([2, 1]);
  });

  it("is found for an input that a policy changes and asks about", async () => {
    const policy: Policy = (seen) => {
      const { orderId } = seen.input as unknown as Refund;
      return { modify: { orderId, amount: 1 }, ask: {} };
    };
    const { run, ran } = shop([refund(5), refund(6), say("Done.")], { policy });
    const ended = await (await run.approve(first(await run.start()), { user, scope: "run" })).settled();
    expect([ended.outcome, ran]).toEqual(["completed", [1, 1]]);
    expect(ended.steps[1]?.grantId).toBe(ended.steps[0] && `g-${ended.steps[0].id}`);
  });

  it.each<[string, unknown]>([
    ["a key that is no JSON", { key: () => 1 }],
    ["half a use", { uses: 0.5 }],
    ["less than no time", { forMs: -1 }],
    ["a label that is no text", { label: 5 }],
    ["nothing at all", null],
  ])("is said by the rule; one that says %s denies", async (_title, grant) => {
    const { run, ran } = shop([refund(5), say("Done.")], { approval: { ask: { grant } as AskOptions } });
    expect([(await run.start()).steps[0]?.status, ran, run.errors.length]).toEqual(["not-run", [], 1]);
  });
});

describe("[S19] a denial", () => {
  const small: Options["approval"] = ({ amount }) => (amount <= 5 ? "allow" : "ask");

  it("is remembered for the run: the tool said otherwise asks again, and says that it was denied", async () => {
    const { run, ran } = shop([refund(100), refund(5), say("Done."), refund(5), say("Done.")], { approval: small });
    const asked = await run.start();
    const again = await (await run.deny(first(asked), { user, reason: "not this one" })).settled();
    expect(first(again)).toMatchObject({ input: { amount: 5 }, ask: { denied: { by: user, reason: "not this one" } } });
    expect(ran).toEqual([]);
    await (await run.deny(first(again), { user })).settled();
    const next = await (await run.send({ user, threadId: asked.id, message: "Now do it" })).settled();
    expect([ran, next.outcome]).toEqual([[5], "completed"]);
  });

  it("ends what was granted before it, and not what is granted after it", async () => {
    const { run, ran } = shop([refund(5), refund(5), refund(9), refund(5), refund(5), say("Done.")]);
    const nine = await (await run.approve(first(await run.start()), { user, scope: "run" })).settled();
    expect([ran, amounts(nine.pending)]).toEqual([[5, 5], [9]]);
    const five = await (await run.deny(first(nine), { user })).settled();
    expect([ran, amounts(five.pending)]).toEqual([[5, 5], [5]]);
    const ended = await (await run.approve(first(five), { user, scope: "run" })).settled();
    expect([ran, ended.outcome]).toEqual([[5, 5, 5, 5], "completed"]);
  });

  it("with a scope holds for the same input without asking, also beside it, and is listed and taken back", async () => {
    const { run, ran } = shop([calls(refund(9), refund(9)), refund(9), refund(9), say("Done.")]);
    const asked = await run.start();
    const later = run.deny(first(asked), { user, scope: "thread", reason: "never 9" });
    await later;
    await run.clock.advance(0);
    const now = await run.read({ user, threadId: asked.id });
    expect(now?.steps.map(({ status, reason }) => [status, reason])).toEqual([
      ["not-run", "denied"],
      ["not-run", "denied"],
      ["not-run", "blocked"],
      ["not-run", "blocked"],
    ]);
    expect(now?.grants).toMatchObject([{ verdict: "deny", reason: "never 9", used: 3 }]);
    expect(JSON.stringify(run.model.requests.at(-1)?.messages)).toContain("Denied before: never 9");
    expect(ran).toEqual([]);
  });

  it("with a scope that was taken back asks again", async () => {
    const { run, ran } = shop([refund(9), say("Done."), refund(9), say("Done.")]);
    const asked = await run.start();
    const ended = await (await run.deny(first(asked), { user, scope: "thread" })).settled();
    await run.revoke({ user, threadId: asked.id, grantId: ended.grants[0]?.grantId ?? "" });
    const next = await (await run.send({ user, threadId: asked.id, message: "Again" })).settled();
    expect([next.pending.length, ran]).toEqual([1, []]);
  });

  it("of a destructive tool may be remembered", async () => {
    const { run, ran } = shop([refund(9), refund(9), say("Done.")], { destructive: true });
    const ended = await (await run.deny(first(await run.start()), { user, scope: "run" })).settled();
    expect([ended.outcome, ended.steps[1]?.reason, ran]).toEqual(["completed", "blocked", []]);
  });
});

describe("more time for a question", () => {
  const timed = { ask: { expiresInMs: 60_000 } } satisfies Verdict;

  it("is counted from now, seen by the list, and given again", async () => {
    const { run, ran, clock } = shop([refund(5), say("Done.")], { approval: timed });
    const asked = await run.start();
    for (const _ of [1, 2]) {
      await clock.advance(50_000);
      const step = first((await run.read({ user, threadId: asked.id })) ?? asked);
      await run.extend(step, { user });
      const { rows } = await run.store.list(user.id);
      expect([rows[0]?.dueAt, rows[0]?.status]).toEqual([clock.now() + 60_000, "waiting"]);
    }
    await clock.advance(50_000);
    const ended = await (await run.approve(first(asked), { user })).settled();
    expect([ended.outcome, ran]).toEqual(["completed", [5]]);
  });

  it("comes from the browser too, once however often it is sent", async () => {
    const { run, clock } = shop([refund(5)], { approval: timed });
    const asked = await run.start();
    const { id: callId, digest } = first(asked);
    await clock.advance(1_000);
    const body = { decisions: [{ callId, digest, action: "extend" }], key: "k" };
    const answers = await Promise.all([1, 2, 3].map(() => run.post(`/${asked.id}/decisions`, body)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const extended = (await run.events(asked.id)).filter(({ type }) => type === "decision-extended");
    expect(extended).toMatchObject([{ by: user, via: "browser", expiresAt: clock.now() + 60_000 }]);
  });

  it.each<[string, AskOptions, number, string]>([
    ["that has no end", {}, 0, "not-waiting"],
    ["that must end when it does", { expiresInMs: 60_000, extendable: false }, 0, "not-waiting"],
    ["that is over", { expiresInMs: 60_000 }, 60_000, "expired"],
  ])("is refused for one %s", async (_title, ask, afterMs, code) => {
    const { run, clock } = shop([refund(5), say("Done.")], { approval: { ask } });
    const asked = await run.start();
    await clock.advance(afterMs);
    await expect(run.extend(first(asked), { user })).rejects.toMatchObject({ code });
  });
});
