import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { Policy } from "../../src/agent/policy.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock, until } from "../fake-clock.ts";
import { agentRun } from "../loop/agent-run.ts";
import type { Endpoint } from "./endpoint.ts";
import { clerk as user } from "./endpoint.ts";
import { kindsOf, meddlingStore, once } from "./meddling-store.ts";
import { mortal } from "./mortal.ts";
import type { ShopOptions, WaitingShop } from "./shop.ts";
import { errorOf, REFUND, shop, waitingShop } from "./shop.ts";
import { parseBlocks, readStream } from "./sse.ts";

const inputSchema = z.object({});
const approve = (server: Endpoint, { threadId, step }: Pick<WaitingShop, "threadId" | "step">, key = "yes") =>
  server.post(`/${threadId}/decisions`, {
    decisions: [{ callId: step.id, digest: step.digest, action: "approve" }],
    key,
  });

async function batchesOf(store: ThreadStore, threadId: string): Promise<readonly (readonly string[])[]> {
  const read = await store.read(threadId);
  if (!read || "gone" in read) throw new Error("There is no log.");
  const batches = [...new Set(read.events.map(({ batch }) => batch))];
  return batches.map((batch) =>
    read.events.flatMap((event) => (event.batch === batch ? [JSON.parse(event.data).type] : [])),
  );
}

/** A tool that ends when the test says so. */
function held(options: object = { readOnly: true }) {
  let finish: () => void = () => undefined;
  const state = { started: 0, aborted: false, finish: () => finish() };
  const made = tool({
    description: "x",
    inputSchema,
    ...options,
    execute: (_input, { signal }) =>
      new Promise<string>((resolve) => {
        state.started++;
        signal.addEventListener("abort", () => {
          state.aborted = true;
        });
        finish = () => resolve("ok");
      }),
  });
  return { state, tool: made };
}

describe("an approval beside the append that closes the epoch", () => {
  it.each([
    ["[A1] just before it: the pause gives way, and the call runs", "before", 0],
    ["[A1] just behind it, its answer not back yet: the poster takes the run up", "after", 0],
    ["[A1] just before it, on another server", "before", 1],
    ["[A1] just behind it, on another server", "after", 1],
  ] as const)("%s", async (_title, when, poster) => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    const slow = held();
    const answers: number[] = [];
    const meddle = async (): Promise<void> => {
      const threadId = (await inner.list(user.id)).rows[0]?.id ?? "";
      const [step] = (await first.server.read({ user, threadId }))?.pending ?? [];
      if (step) answers.push((await approve((poster ? other : first).server, { threadId, step })).status);
    };
    const store = meddlingStore(inner, { [when]: once("run-waiting", meddle) });
    const script = [calls(call("slow", {}), call("refund", REFUND)), say("Done.")];
    const first = shop({ clock, store, tools: { slow: slow.tool }, script });
    const other = shop({ clock, store: inner, tools: { slow: slow.tool }, script: [say("Done.")] });
    const { threadId } = await first.server.send({ user, message: "Go" });
    await clock.advance(0);
    slow.state.finish();
    await clock.advance(0);
    expect(answers).toEqual([200]);
    expect(first.ran.length + other.ran.length).toBe(1);
    expect((await first.server.thread(threadId)).runs[0]?.outcome).toBe("completed");
  });
});

describe("[A2] the answer of one append is lost", () => {
  /** A refund from the message to the end; the answer of append number `lost` does not come back. */
  const play = async (lost: number, timesLost = 1) => {
    const clock = fakeClock();
    let count = 0;
    let left = timesLost;
    const inner = memoryStore({ clock });
    const store = meddlingStore(inner, {
      after(_append, number) {
        count = number;
        if (number >= lost && left-- > 0) throw new Error("The connection was reset.");
      },
    });
    const made = shop({ clock, store, script: [calls(say("Let me. "), call("refund", REFUND)), say("Done.")] });
    const sent = made.server.post("", { message: { text: "Refund 1042" }, key: "hello" });
    await clock.advance(5_000);
    const { threadId }: { threadId: string } = await (await sent).json();
    await until(() => true);
    const [step] = (await made.server.read({ user, threadId }))?.pending ?? [];
    if (!step) throw new Error("Nothing waits.");
    const approved = approve(made.server, { threadId, step });
    await clock.advance(5_000);
    expect((await approved).status).toBe(200);
    const types = (await made.server.events(threadId)).map(({ type }) => type);
    const thread = await made.server.thread(threadId);
    return { types, count, ran: made.ran, text: thread.runs[0]?.text, anomalies: thread.anomalies };
  };

  it("positive control: of none is lost, and it is one run with one call", async () => {
    const { types, ran, count } = await play(Number.POSITIVE_INFINITY);
    expect([types.filter((type) => type === "run-ended").length, ran.length]).toEqual([1, 1]);
    expect(count).toBeGreaterThan(5);
  });

  it.each([1, 2, 3])(
    "whichever it is, %i times in a row: the log, the text and the effects are the same",
    async (times) => {
      const honest = await play(Number.POSITIVE_INFINITY);
      for (let lost = 1; lost <= honest.count; lost++) {
        const { count: _, ...seen } = await play(lost, times);
        const { count: __, ...wanted } = honest;
        expect(seen, `append ${lost}`).toEqual(wanted);
      }
    },
  );
});

describe("[A6] a claim", () => {
  it("does not rob a healthy owner, however often others look, sweep and write", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const slow = held();
    const options: ShopOptions = { clock, store, tools: { slow: slow.tool }, script: [call("slow", {}), say("Done.")] };
    const [first, other] = [shop(options), shop(options)];
    const { threadId } = await first.server.send({ user, message: "Go" });
    await clock.advance(0);
    for (let round = 0; round < 10; round++) {
      readStream(await other.server.get(`/${threadId}/events`)).flow();
      await other.server.sweep();
      await other.server.rename({ user, threadId, title: `Title ${round}` });
      await clock.advance(9_000);
    }
    slow.state.finish();
    await clock.advance(0);
    const thread = await first.server.thread(threadId);
    expect([thread.epoch, slow.state.started, thread.runs[0]?.outcome]).toEqual([1, 1, "completed"]);
  });

  it("positive control: takes a run up whose owner is dead, and of ten claims at once one is the owner", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const life = mortal(clock, store);
    const dead = shop({ clock: life.clock, store: life.store, script: [delay(Number.POSITIVE_INFINITY)] });
    const { threadId } = await dead.server.send({ user, message: "Go" });
    await clock.advance(0);
    life.kill();
    await clock.advance(30_001);
    const alive = Array.from({ length: 10 }, () => shop({ clock, store, script: [say("Here I am.")] }));
    await Promise.all(alive.map(({ server }) => server.sweep()));
    await clock.advance(0);
    const thread = await alive[0]?.server.thread(threadId);
    expect([thread?.epoch, thread?.runs[0]?.text]).toEqual([2, "Here I am."]);
  });
});

describe("what a person writes while text streams", () => {
  it.each([
    ["[A10] a message is in the log at its first try", "message-added", "/messages", { message: { text: "And" } }],
    ["[A10] a stop is in the log at its first try", "stop-requested", "/stop", {}],
    ["[A10] a title is in the log at its first try", "thread-renamed", "/title", { title: "Mine" }],
  ])("%s", async (_title, kind, path, body) => {
    const clock = fakeClock();
    let deltas = 0;
    let tries = 0;
    const store = meddlingStore(memoryStore({ clock }), {
      async before(append) {
        const kinds = kindsOf(append);
        if (kinds.includes("text-added")) deltas++;
        if (!kinds.includes(kind) || kinds.includes("run-started")) return;
        tries++;
        const seen = deltas;
        await until(() => deltas >= seen + 3); // words of the model get in before it
      },
    });
    const words = Array.from({ length: 20 }, (_, index) => [say(`word${index} `), delay(10)]).flat();
    const { server } = shop({ clock, store, script: [words, say("And.")] });
    const { threadId, runId } = await server.send({ user, message: "Go" });
    await clock.advance(20);
    const posted = server.post(`/${threadId}${path}`, {
      ...body,
      runId: path === "/stop" ? runId : undefined,
      key: "k",
    });
    await clock.advance(2_000);
    expect((await posted).status).toBeLessThan(300);
    expect(tries).toBe(1);
  });
});

describe("what the log tells whoever comes next", () => {
  it("[A11] a turn's end and its calls are one append: no reader sees one without the other", async () => {
    const made = await waitingShop({ script: [calls(call("refund", REFUND), call("refund", { orderId: "7" }))] });
    const batch = (await batchesOf(made.server.store, made.threadId)).find((types) => types.includes("turn-ended"));
    expect(batch?.filter((type) => ["turn-ended", "call-ready", "call-settled"].includes(type))).toEqual([
      ...["turn-ended", "call-ready", "call-ready"],
      "call-settled", // the one whose input does not fit
    ]);
  });

  it("[A12] a verdict is in it: the next server does not ask the policy again, whatever it would say now", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const asked: string[] = [];
    const policy =
      (verdict: Verdict): Policy =>
      ({ tool: name }) => {
        asked.push(name);
        return name === "read" ? verdict : "ask";
      };
    const ran: string[] = [];
    const acts = (name: string) => tool({ description: "x", inputSchema, execute: () => void ran.push(name) });
    const tools = { read: acts("read"), write: acts("write") };
    const script = [calls(call("read", {}), call("write", {})), say("Done.")];
    const one = agentRun({ script, tools, clock, holdTurn: true, policy: policy("allow"), server: { store } });
    const asks = await one.start();
    const two = agentRun({
      script: [say("Done.")],
      tools,
      clock,
      holdTurn: true,
      policy: policy({ deny: "Not any more." }),
      server: { store },
    });
    const ended = await (await two.approve(asks.pending, { user })).settled();
    expect([ended.outcome, ran.toSorted()]).toEqual(["completed", ["read", "write"]]);
    expect(asked).toEqual(["read", "write"]);
  });

  it("[A14] who finds a question to be over writes that down before saying so, and all say the same then", async () => {
    const made = await waitingShop({ refund: { approval: { ask: { expiresInMs: 1_000 } } } });
    const { rows } = await made.server.store.list(user.id);
    expect(rows[0]?.dueAt).toBe(made.server.clock.now() + 1_000);
    // A server whose clock is behind would still take the approval.
    const behind = shop({ clock: { ...fakeClock(0) }, store: made.server.store, script: [say("Done.")] });
    await made.server.clock.advance(1_000);
    expect(await errorOf(await approve(made.server, made))).toMatchObject({ status: 410, code: "expired" });
    const recorded = (await made.server.events(made.threadId)).filter(({ type }) => type === "decision-recorded");
    expect(recorded).toMatchObject([{ action: "expire" }]);
    expect(await errorOf(await approve(behind.server, made, "other"))).toMatchObject({ status: 410, code: "expired" });
    expect([made.ran, behind.ran]).toEqual([[], []]);
  });

  it("[A15] the hours between a crash and the takeover do not count as active time", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const life = mortal(clock, store);
    const more = { limits: { timeMs: 60_000 } };
    const dead = shop({ clock: life.clock, store: life.store, more, script: [delay(Number.POSITIVE_INFINITY)] });
    const { threadId } = await dead.server.send({ user, message: "Go" });
    await clock.advance(0);
    life.kill();
    await clock.advance(5 * 3_600_000);
    const alive = shop({ clock, store, more, script: [say("Here I am.")] });
    await alive.server.sweep();
    await clock.advance(0);
    expect((await alive.server.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Here I am." });
  });
});

describe("a stop", () => {
  it("[A16] is heard by a driver inside a silent tool on another server within a third of its lease", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const slow = held();
    const first = shop({ clock, store, tools: { slow: slow.tool }, script: [call("slow", {})] });
    const other = shop({ clock, store, tools: { slow: slow.tool } });
    const { threadId } = await first.server.send({ user, message: "Go" });
    await clock.advance(0);
    await other.server.stop({ user, threadId });
    expect(slow.state.aborted).toBe(false);
    await clock.advance(10_000);
    expect(slow.state.aborted).toBe(true);
    await clock.advance(2_000);
    expect((await first.server.thread(threadId)).runs[0]).toMatchObject({ outcome: "stopped" });
  });

  it("[A17] with nobody driving ends the run in the same append, its calls first, the run last", async () => {
    const made = await waitingShop();
    await made.server.post(`/${made.threadId}/stop`, { runId: made.runId, key: "s" });
    const last = (await batchesOf(made.server.store, made.threadId)).at(-1);
    expect(last).toEqual(["stop-requested", "call-settled", "run-ended"]);
  });

  it("[A17] gives a running tool two seconds, then calls its effect unknown", async () => {
    const clock = fakeClock();
    const slow = held();
    const made = shop({ clock, tools: { slow: slow.tool }, script: [call("slow", {})] });
    const { threadId } = await made.server.send({ user, message: "Go" });
    await clock.advance(0);
    await made.server.stop({ user, threadId });
    await clock.advance(1_999);
    expect((await made.server.thread(threadId)).active).toHaveLength(1);
    await clock.advance(1);
    expect((await made.server.thread(threadId)).runs[0]?.turn?.calls[0]).toMatchObject({ effect: "unknown" });
  });
});

describe("[A19] a log that newer code wrote in", () => {
  const NEWER: readonly (readonly [string, object])[] = [
    ["an event of a newer version", { type: "thread-renamed", v: 2, title: "x", by: user, key: "n", bodyHash: "h" }],
    ["a control kind nobody knows here", { type: "run-forked", v: 1 }],
  ];
  const WRITES: readonly (readonly [string, (made: WaitingShop) => object])[] = [
    ["/messages", () => ({ message: { text: "And" } })],
    ["/messages", () => ({ message: { text: "No" }, pending: "deny" })],
    ["/decisions", ({ step }) => ({ decisions: [{ callId: step.id, digest: step.digest, action: "approve" }] })],
    ["/decisions", ({ step }) => ({ decisions: [{ callId: step.id, digest: step.digest, action: "deny" }] })],
    ["/decisions", ({ step }) => ({ decisions: [{ callId: step.id, digest: step.digest, action: "extend" }] })],
    ["/stop", ({ runId }) => ({ runId })],
    ["/continue", ({ runId }) => ({ runId })],
    ["/title", () => ({ title: "Mine" })],
    ["/revoke", ({ step }) => ({ grantId: `g-${step.id}` })],
  ];
  /** A refund waits, and newer code writes behind it. */
  const withNewer = async (event: object): Promise<WaitingShop> => {
    const made = await waitingShop();
    const { seq } = await made.server.thread(made.threadId);
    const data = JSON.stringify({ at: made.server.clock.now(), ...event });
    const written = { batch: "newer", events: [{ control: true, data }] };
    expect(await made.server.store.append(made.threadId, { at: seq }, written)).toMatchObject({ status: "ok" });
    return made;
  };

  it.each(NEWER)(
    "%s: every write is a 503 that may be tried again, nothing is written and nothing runs",
    async (_title, event) => {
      for (const [path, body] of WRITES) {
        const made = await withNewer(event);
        const before = await made.server.events(made.threadId);
        const response = await made.server.post(`/${made.threadId}${path}`, { ...body(made), key: "k" });
        expect(await errorOf(response), path).toMatchObject({ status: 503, code: "unavailable" });
        await made.server.sweep();
        await made.server.clock.advance(60_000);
        expect(await made.server.events(made.threadId), path).toEqual(before);
        expect(made.ran).toEqual([]);
      }
    },
  );

  it.each(NEWER)("%s: nobody drives on, and the server that knows it does", async (_title, event) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const slow = held();
    const made = shop({ clock, store, tools: { slow: slow.tool }, script: [call("slow", {}), say("Done.")] });
    const { threadId } = await made.server.send({ user, message: "Go" });
    await clock.advance(0);
    const { seq } = await made.server.thread(threadId);
    const data = JSON.stringify({ at: clock.now(), ...event });
    await store.append(threadId, { at: seq }, { batch: "newer", events: [{ control: true, data }] });
    slow.state.finish();
    await clock.advance(120_000);
    await made.server.sweep();
    readStream(await made.server.get(`/${threadId}/events`)).flow();
    await clock.advance(120_000);
    const types = (await made.server.events(threadId)).map(({ type }) => type);
    expect(types.filter((type) => type === "turn-started")).toHaveLength(1);
    expect(types).not.toContain("run-ended");
    expect([made.server.errors, clock.armed <= 2]).toEqual([[], true]); // the reader's heartbeat and its look
  });

  it.each(NEWER)("%s: readers read on, with every seq", async (_title, event) => {
    const made = await withNewer(event);
    const body = await (await made.server.get(`/${made.threadId}`)).json();
    expect(body.seq).toBe((await made.server.thread(made.threadId)).seq);
    const ids = parseBlocks(await (await made.server.get(`/${made.threadId}/events`)).text()).flatMap(
      ({ id }) => id ?? [],
    );
    expect(ids.at(-1)).toBe(String(body.seq));
    expect((await made.server.read({ user, threadId: made.threadId }))?.pending).toHaveLength(1);
  });

  it("positive control: a kind nobody knows that moves no control stops nobody, and old events never do", async () => {
    const made = await withNewer({
      type: "limit-reached",
      v: 1,
      runId: "x",
      limit: "turns",
      count: 1,
      follows: "stop",
    });
    expect((await approve(made.server, made)).status).toBe(200);
    await made.server.clock.advance(0);
    expect((await made.server.thread(made.threadId)).runs[0]?.outcome).toBe("completed");
    expect(made.ran).toEqual([REFUND]);
  });
});

describe("[A22] the digest of a step whose input is easy to guess", () => {
  it("is another each time, and the salt in it leaves the server nowhere", async () => {
    const made = await waitingShop({ script: [calls(call("refund", REFUND), call("refund", REFUND))] });
    const pending = (await made.server.read({ user, threadId: made.threadId }))?.pending ?? [];
    expect(new Set(pending.map(({ digest }) => digest)).size).toBe(2);
    const salts = (await made.server.events(made.threadId)).flatMap((event) =>
      event.type === "call-ready" && event.salt ? [event.salt] : [],
    );
    expect(salts).toHaveLength(2);
    const shown = await (await made.server.get(`/${made.threadId}`)).text();
    const streamed = await (await made.server.get(`/${made.threadId}/events`)).text();
    for (const salt of salts) expect(shown + streamed).not.toContain(salt);
  });
});

describe("[A24] a sub-agent that waits", () => {
  const managed = () => {
    const ran: unknown[] = [];
    const refund = tool({ description: "x", inputSchema, execute: () => void ran.push(1) });
    const helper = defineAgent({
      model: scriptedModel([call("refund", {}), say("Refunded.")]),
      tools: { refund },
      limits: { timeMs: 60_000 },
    });
    const run = agentRun({
      script: [call("helper", { prompt: "Refund it." }), say("Done.")],
      tools: { helper: agentTool({ agent: helper, description: "x" }) },
      limits: { timeMs: 60_000 },
    });
    return { run, ran };
  };

  it("makes the whole run wait, once and at the root, and its hours count for nobody's time", async () => {
    const { run, ran } = managed();
    const asked = await run.start();
    const events = await run.events(asked.id);
    const waits = events.filter(({ type }) => type === "run-waiting");
    const [root] = events.filter(({ type }) => type === "run-started");
    expect(waits.map(({ runId }) => runId)).toEqual([root?.runId]);
    await run.clock.advance(5 * 3_600_000);
    const ended = await (await run.approve(asked.pending, { user })).settled();
    expect([ended.outcome, ran.length]).toEqual(["completed", 1]);
  });
});
