import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint } from "./endpoint.ts";
import { clerk } from "./endpoint.ts";
import type { WaitingShop } from "./shop.ts";
import { errorOf, REFUND, shop, waitingShop } from "./shop.ts";

interface Outcome {
  readonly status: number;
  readonly code?: string;
}

/** A store whose every answer takes a while, another while each time, the same for the same seed. */
function jittery(store: ThreadStore, seed: number): ThreadStore {
  let state = seed + 1;
  const pause = async (): Promise<void> => {
    state = (state * 48_271) % 2_147_483_647;
    for (let turns = state % 5; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
  };
  const slow = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await pause();
    const result = await work();
    await pause();
    return result;
  };
  return {
    ...store,
    read: (...args) => slow(() => store.read(...args)),
    append: (...args) => slow(() => store.append(...args)),
    lease: (...args) => slow(() => store.lease(...args)),
  };
}

/** A refund that waits, and two servers over its store. */
async function twoServers(seed = 0): Promise<{ made: WaitingShop; servers: readonly Endpoint[]; ran(): number }> {
  const clock = fakeClock();
  const store = jittery(memoryStore({ clock }), seed);
  const made = await waitingShop({ clock, store });
  const other = shop({ clock, store, script: [say("Done.")] });
  return { made, servers: [made.server, other.server], ran: () => made.ran.length + other.ran.length };
}

async function outcomeOf(response: Response): Promise<Outcome> {
  if (response.status < 400) return { status: response.status };
  const { status, code } = await errorOf(response);
  return { status, code };
}

/** What the log says was decided and run. */
async function logged({ server, threadId, step }: WaitingShop) {
  const events = await server.events(threadId);
  const of = (type: string) =>
    events.filter((event) => event.type === type && "callId" in event && event.callId === step.id);
  const started = of("call-started");
  return {
    decisions: of("decision-recorded").length,
    starts: started.length,
    settlements: of("call-settled").length,
    ends: events.filter(({ type }) => type === "run-ended").length,
    approvedDigest: started.every((event) => "digest" in event && event.digest === step.digest),
    anomalies: (await server.thread(threadId)).anomalies,
  };
}

const ONCE = { decisions: 1, starts: 1, settlements: 1, ends: 1, approvedDigest: true, anomalies: 0 };
const SEEDS = Array.from({ length: 8 }, (_, seed) => seed);

function approve(server: Endpoint, { threadId, step }: WaitingShop, key: string): Promise<Response> {
  const decisions = [{ callId: step.id, digest: step.digest, action: "approve" }];
  return server.post(`/${threadId}/decisions`, { decisions, key });
}

function deny(server: Endpoint, { threadId, step }: WaitingShop, key: string): Promise<Response> {
  const decisions = [{ callId: step.id, digest: step.digest, action: "deny" }];
  return server.post(`/${threadId}/decisions`, { decisions, key });
}

describe("one decision, posted many times at once", () => {
  const CASES = [5, 50].flatMap((count) => [1, 2].map((servers) => [count, servers] as const));

  it.each(CASES)("%i times with the same key over %i servers: it ran once and all hear so", async (count, servers) => {
    for (const seed of SEEDS.slice(0, count > 10 ? 3 : SEEDS.length)) {
      const all = await twoServers(seed);
      const posts = Array.from({ length: count }, (_, index) =>
        approve(all.servers[index % servers] ?? all.made.server, all.made, "same"),
      );
      const answers = await Promise.all(posts);
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
      const bodies = await Promise.all(answers.map((answer) => answer.text()));
      expect(new Set(bodies).size).toBe(1);
      await all.made.server.clock.advance(100);
      expect(all.ran()).toBe(1);
      expect(await logged(all.made)).toEqual(ONCE);
    }
  });

  it.each(CASES)(
    "%i times with different keys over %i servers: one decides, the others hear who did",
    async (count, servers) => {
      for (const seed of SEEDS.slice(0, count > 10 ? 3 : SEEDS.length)) {
        const all = await twoServers(seed);
        const posts = Array.from({ length: count }, (_, index) =>
          approve(all.servers[index % servers] ?? all.made.server, all.made, `k${index}`),
        );
        const answers = await Promise.all(posts);
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
        for (const answer of answers) {
          if (answer.status === 200) continue;
          const error = await errorOf(answer);
          expect(error).toMatchObject({ status: 409, code: "decided" });
          expect(error.step?.decision).toMatchObject({ action: "approve", by: clerk });
        }
        await all.made.server.clock.advance(100);
        expect(all.ran()).toBe(1);
        expect(await logged(all.made)).toEqual(ONCE);
      }
    },
  );
});

describe("opposite wishes at once", () => {
  it.each(SEEDS)("approve and deny: the first in the log holds for both (seed %i)", async (seed) => {
    const { made, servers, ran } = await twoServers(seed);
    const [first = made.server, second = made.server] = seed % 2 ? servers : servers.toReversed();
    const outcomes = await Promise.all(
      [approve(first, made, "yes"), deny(second, made, "no")].map(async (answer) => outcomeOf(await answer)),
    );
    await made.server.clock.advance(100);
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(outcomes.filter(({ code }) => code === "decided")).toHaveLength(1);
    const approved = outcomes[0]?.status === 200;
    expect(ran()).toBe(approved ? 1 : 0);
    expect(await logged(made)).toEqual({ ...ONCE, starts: approved ? 1 : 0 });
  });

  it.each(SEEDS)("approve and stop: it ran once and was approved first, or it never ran (seed %i)", async (seed) => {
    const { made, servers, ran } = await twoServers(seed);
    const [first = made.server, second = made.server] = seed % 2 ? servers : servers.toReversed();
    const stop = second.post(`/${made.threadId}/stop`, { runId: made.runId, key: "s" });
    const [approved, stopped] = await Promise.all([approve(first, made, "yes"), stop]);
    await made.server.clock.advance(5_000);
    expect(stopped.status).toBe(202);
    const { starts, settlements, ends, anomalies } = await logged(made);
    expect({ settlements, ends, anomalies }).toEqual({ settlements: 1, ends: 1, anomalies: 0 });
    expect(starts).toBe(ran());
    if (approved.status !== 200) expect(await outcomeOf(approved)).toEqual({ status: 410, code: "stopped" });
    if (approved.status !== 200) expect(ran()).toBe(0);
    const { runs } = await made.server.thread(made.threadId);
    expect(["stopped", "completed"]).toContain(runs[0]?.outcome);
  });

  it.each(SEEDS)("approve and a message that denies: one of them holds (seed %i)", async (seed) => {
    const { made, servers, ran } = await twoServers(seed);
    const [first = made.server, second = made.server] = seed % 2 ? servers : servers.toReversed();
    const message = { message: { text: "No" }, pending: "deny", key: "m" };
    const [approved, sent] = await Promise.all([
      approve(first, made, "yes"),
      second.post(`/${made.threadId}/messages`, message),
    ]);
    await made.server.clock.advance(5_000);
    expect(sent.status).toBe(202);
    expect(ran()).toBe(approved.status === 200 ? 1 : 0);
    expect((await logged(made)).settlements).toBe(1);
  });

  it.each(SEEDS)("[A20] approve and remove: nothing is left, and nothing ran twice (seed %i)", async (seed) => {
    const { made, servers, ran } = await twoServers(seed);
    const [first = made.server, second = made.server] = servers;
    const [approved] = await Promise.all([
      approve(first, made, "yes"),
      second.remove({ user: clerk, threadId: made.threadId }),
    ]);
    await made.server.clock.advance(60_000);
    expect([200, 404]).toContain(approved.status);
    expect(ran()).toBeLessThanOrEqual(1);
    expect((await made.server.get(`/${made.threadId}`)).status).toBe(404);
  });
});

describe("first messages at once", () => {
  it.each(SEEDS)("[A8] with one key make one thread with one run (seed %i)", async (seed) => {
    const clock = fakeClock();
    const store = jittery(memoryStore({ clock }), seed);
    const servers = [1, 2].map(() => shop({ clock, store, script: [say("Hi")] }).server);
    const body = { message: { text: "Hi" }, key: "one" };
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => servers[index % 2]?.post("", body)));
    const bodies = await Promise.all(answers.map((answer) => answer?.text()));
    expect(new Set(bodies).size).toBe(1);
    await clock.advance(1_000);
    const { rows } = await store.list(undefined);
    expect(rows).toHaveLength(1);
    const thread = await servers[0]?.thread(rows[0]?.id ?? "");
    expect(thread?.messages).toHaveLength(1);
    expect(thread?.runs).toHaveLength(1);
  });
});

describe("a forged decision", () => {
  const post = (made: WaitingShop, decision: object, threadId = made.threadId) =>
    made.server.post(`/${threadId}/decisions`, { decisions: [decision], key: "forged" });

  const refusals: readonly (readonly [string, object, (made: WaitingShop) => object, number, string])[] = [
    [
      "other input under the card's id, where nothing may be edited",
      { approval: { ask: { editable: false } } },
      ({ step }) => ({ callId: step.id, digest: step.digest, action: "approve", input: { ...REFUND, amount: 4_990 } }),
      400,
      "invalid-input",
    ],
    [
      "other input in a field that may not be edited",
      { approval: { ask: { editable: ["orderId"] } } },
      ({ step }) => ({ callId: step.id, digest: step.digest, action: "approve", input: { ...REFUND, amount: 4_990 } }),
      400,
      "invalid-input",
    ],
    [
      "a field the card does not have",
      { approval: { ask: { editable: ["amount"] } } },
      ({ step }) => ({ callId: step.id, digest: step.digest, action: "approve", input: { ...REFUND, orderId: "7" } }),
      400,
      "invalid-input",
    ],
    [
      "an id nobody has",
      {},
      ({ step }) => ({ callId: "c1", digest: step.digest, action: "approve" }),
      404,
      "not-found",
    ],
    ["the digest of nothing", {}, ({ step }) => ({ callId: step.id, digest: "x", action: "approve" }), 409, "stale"],
    [
      "__proto__ as id",
      {},
      ({ step }) => ({ callId: "__proto__", digest: step.digest, action: "approve" }),
      404,
      "not-found",
    ],
  ];

  it.each(refusals)("with %s is refused, and nothing runs", async (_title, refund, decision, status, code) => {
    const made = await waitingShop({ refund });
    const before = await made.server.events(made.threadId);
    expect(await outcomeOf(await post(made, decision(made)))).toEqual({ status, code });
    await made.server.clock.advance(1_000);
    expect(await made.server.events(made.threadId)).toEqual(before);
    expect(made.ran).toEqual([]);
  });

  it("with the digest of the step beside it is refused", async () => {
    const made = await waitingShop({
      script: [calls(call("refund", REFUND), call("refund", { ...REFUND, amount: 4_990 })), say("Done.")],
    });
    const [cheap, dear] = (await made.server.read({ user: clerk, threadId: made.threadId }))?.pending ?? [];
    const decision = { callId: dear?.id, digest: cheap?.digest, action: "approve" };
    expect(await outcomeOf(await post(made, decision))).toEqual({ status: 409, code: "stale" });
    expect(made.ran).toEqual([]);
  });

  it("for two calls with the same input needs the digest of each", async () => {
    const made = await waitingShop({ script: [calls(call("refund", REFUND), call("refund", REFUND)), say("Done.")] });
    const [first, second] = (await made.server.read({ user: clerk, threadId: made.threadId }))?.pending ?? [];
    expect(first?.digest).not.toBe(second?.digest);
  });

  it("for a call of another thread is refused as one that does not exist", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const mine = await waitingShop({ clock, store });
    const other = await waitingShop({ clock, store });
    const decision = { callId: other.step.id, digest: other.step.digest, action: "approve" };
    expect(await outcomeOf(await post(mine, decision))).toEqual({ status: 404, code: "not-found" });
    expect([...mine.ran, ...other.ran]).toEqual([]);
  });

  it("by another user is refused as a thread that does not exist", async () => {
    const made = await waitingShop();
    const decisions = [{ callId: made.step.id, digest: made.step.digest, action: "approve" }];
    const response = await made.server.post(
      `/${made.threadId}/decisions`,
      { decisions, key: "k" },
      { "x-user": "mallory" },
    );
    expect(await outcomeOf(response)).toEqual({ status: 404, code: "not-found" });
    expect(made.ran).toEqual([]);
  });

  it("with history, calls or results in its body is refused", async () => {
    const made = await waitingShop();
    const decisions = [
      { callId: made.step.id, digest: made.step.digest, action: "approve", output: { refunded: true } },
    ];
    for (const body of [
      { decisions, key: "k" },
      { decisions: [], messages: [], key: "k" },
      { decisions: [], tools: [], key: "k" },
    ]) {
      expect(await outcomeOf(await made.server.post(`/${made.threadId}/decisions`, body))).toMatchObject({
        status: 400,
      });
    }
    expect(made.ran).toEqual([]);
  });
});
