import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { EventQueue } from "../../src/loop/event-queue.ts";
import { createEventQueue } from "../../src/loop/event-queue.ts";
import type { Commit, LoopEnd, Proposal } from "../../src/loop/run-loop.ts";
import { runLoop } from "../../src/loop/run-loop.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock, until } from "../fake-clock.ts";
import { fold } from "../protocol/fold.ts";
import type { Draft } from "./small-log.ts";
import { asked, begun, decided, foldDrafts, ready, stopRequested, turnEnded, turnStarted } from "./small-log.ts";

/** What a host answers to a proposal: take it, or let somebody else have written these first. */
type Answer = "accept" | { readonly instead: readonly Draft[] };

interface Host {
  readonly clock: FakeClock;
  readonly queue: EventQueue;
  readonly log: ThreadEvent[];
  readonly proposals: Proposal[];
  readonly errors: unknown[];
  thread: Thread;
  mayStartUntil: number;
  /** Runs the loop to its end. */
  drive(): Promise<LoopEnd>;
}

interface HostOptions extends Omit<AgentOptions<Readonly<Record<string, Tool>>>, "model"> {
  readonly script: readonly ScriptEntry[];
  readonly from?: Thread | undefined;
  readonly answer?: ((proposal: Proposal, host: Host) => Answer) | undefined;
}

/** The smallest host: a log in an array. */
function host({ script, from = foldDrafts(begun), answer = () => "accept", ...options }: HostOptions): Host {
  const clock = fakeClock(2_000);
  const model = scriptedModel(script, { clock });
  const queue = createEventQueue();
  let ids = 0;
  const made: Host = {
    clock,
    queue,
    log: [],
    proposals: [],
    errors: [],
    thread: from,
    mayStartUntil: Number.POSITIVE_INFINITY,
    async drive() {
      const loop = runLoop({
        agent: defineAgent({ ...options, model }),
        user: { id: "u" },
        epoch: 1,
        driverId: "d",
        clock,
        newId: () => `c${++ids}`,
        queue,
        isFull: () => false,
        budgetEndsAt: Number.POSITIVE_INFINITY,
        onError: (error) => made.errors.push(error),
        thread: from,
        mayStartUntil: made.mayStartUntil,
      });
      let step = await loop.next();
      while (!step.done) {
        const proposal = step.value;
        made.proposals.push(proposal);
        const answered = answer(proposal, made);
        let commit: Commit;
        if (answered === "accept" && proposal.facts.length + proposal.intents.length > 0) {
          made.log.push(...proposal.facts, ...proposal.intents);
          made.thread = proposal.thread;
          commit = { accepted: true, mayStartUntil: made.mayStartUntil };
        } else {
          if (answered !== "accept") made.thread = foldDrafts(answered.instead, made.thread);
          commit = { accepted: false, thread: made.thread, mayStartUntil: made.mayStartUntil };
        }
        step = await loop.next(commit);
      }
      return step.value;
    },
  };
  return made;
}

const inputSchema = z.object({});

function counting(): { tools: Readonly<Record<string, Tool>>; count(): number } {
  let count = 0;
  const act = tool({ description: "x", inputSchema, approval: "allow", execute: () => ++count });
  return { tools: { act }, count: () => count };
}

describe("runLoop", () => {
  it("proposes a log that folds to the thread it says, and closes with its last proposal", async () => {
    const { tools } = counting();
    const from = foldDrafts(begun);
    const made = host({ script: [call("act", {}), say("Done.")], tools, from });
    expect(await made.drive()).toBe("closed");
    expect(fold(made.log, from)).toEqual(made.thread);
    expect(made.thread.anomalies).toBe(0);
    expect(made.proposals.map(({ closing }) => closing)).toEqual([...made.proposals.slice(1).map(() => false), true]);
    expect(made.log.map(({ seq }) => seq)).toEqual(made.log.map((_event, index) => from.seq + 1 + index));
    expect(made.log.at(-1)).toMatchObject({ type: "run-ended", outcome: "completed", text: "Done.", epoch: 1 });
  });

  it("puts what happened before what it wants", async () => {
    const { tools } = counting();
    const made = host({ script: [call("act", {}), say("Done.")], tools });
    await made.drive();
    const wishes = new Set([
      "turn-started",
      "call-judged",
      "call-started",
      "run-ended",
      "run-waiting",
      "decision-requested",
    ]);
    for (const { facts, intents } of made.proposals) {
      expect(facts.filter(({ type }) => wishes.has(type))).toEqual([]);
      expect(intents.filter(({ type }) => !wishes.has(type))).toEqual([]);
    }
  });

  it("calls neither model nor tool before their start is in the log", async () => {
    const seen: string[] = [];
    const note = (what: string, type: string) => seen.push(`${what}: ${made.log.some((event) => event.type === type)}`);
    const act = tool({
      description: "x",
      inputSchema,
      approval: "allow",
      execute: () => void note("tool", "call-started"),
    });
    const asks = (): ReturnType<typeof call> => {
      note("model", "turn-started");
      return call("act", {});
    };
    const made: Host = host({
      script: [asks, say("Done.")],
      tools: { act },
    });
    await made.drive();
    expect(seen).toEqual(["model: true", "tool: true"]);
  });

  it("[A5] starts nothing when its start is in the log after the lease was over", async () => {
    const { tools, count } = counting();
    const made = host({
      script: [call("act", {}), say("Done.")],
      tools,
      answer: ({ intents }, at) => {
        if (intents.some(({ type }) => type === "call-started")) at.mayStartUntil = at.clock.monotonic();
        return "accept";
      },
    });
    expect(await made.drive()).toBe("superseded");
    expect(count()).toBe(0);
    expect(made.log.at(-1)?.type).toBe("call-started");
  });

  it("[A4] drops its wishes and asks again when somebody wrote first", async () => {
    const { tools, count } = counting();
    let stopped = false;
    const made = host({
      script: [call("act", {}), say("Done.")],
      tools,
      answer: ({ intents }) => {
        if (stopped || !intents.some(({ type }) => type === "call-started")) return "accept";
        stopped = true;
        return { instead: [stopRequested()] };
      },
    });
    expect(await made.drive()).toBe("closed");
    expect(count()).toBe(0);
    expect(made.log.map(({ type }) => type)).not.toContain("call-started");
    expect(made.thread.runs[0]).toMatchObject({ outcome: "stopped" });
  });

  it("[A4] proposes what happened again when somebody wrote first, and performs nothing twice", async () => {
    const { tools, count } = counting();
    let interfered = 0;
    const made = host({
      script: [call("act", {}), say("Done.")],
      tools,
      answer: ({ facts }) => {
        if (interfered >= 5 || !facts.some(({ type }) => type === "call-settled")) return "accept";
        interfered++;
        const parts = [{ type: "text", text: `more ${interfered}` }] as const;
        return {
          instead: [
            {
              type: "message-added",
              messageId: `m${interfered}`,
              parts,
              by: { id: "u" },
              key: `k${interfered}`,
              bodyHash: "h",
            },
          ],
        };
      },
    });
    expect(await made.drive()).toBe("closed");
    expect(interfered).toBe(5);
    expect(count()).toBe(1);
    expect(made.log.filter(({ type }) => type === "call-settled")).toHaveLength(1);
    expect(made.thread.runs[0]?.outcome).toBe("completed");
  });

  it("[A1] does not pause when a decision came before the pause", async () => {
    const { tools, count } = counting();
    const hash = defineAgent({ model: scriptedModel([]), tools }).tools.get("act")?.hash ?? "";
    const call = { ...ready("a", "act"), toolHash: hash } as Draft;
    const from = foldDrafts([...begun, turnStarted(), turnEnded(), call, ...asked("a")]);
    let approved = false;
    const made = host({
      script: [say("Done.")],
      tools,
      from,
      answer: ({ closing }) => {
        if (approved || !closing) return "accept";
        approved = true;
        return { instead: [decided("a", "approve")] };
      },
    });
    expect(await made.drive()).toBe("closed");
    expect(approved).toBe(true);
    expect(made.log.map(({ type }) => type)).not.toContain("run-waiting");
    expect(count()).toBe(1);
    expect(made.thread.runs[0]?.outcome).toBe("completed");
  });

  it("[A3] aborts what is in flight and appends nothing more when another owner took over", async () => {
    let signal: AbortSignal | undefined;
    const act = tool({
      description: "x",
      inputSchema,
      approval: "allow",
      execute: (_input, context) => {
        signal = context.signal;
        return new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(new Error("gone"))));
      },
    });
    const made = host({
      script: [call("act", {})],
      tools: { act },
      answer: ({ facts, intents }) =>
        facts.length + intents.length > 0
          ? "accept"
          : { instead: [{ type: "run-resumed", runId: "r", epoch: 2, driverId: "e", why: "takeover" }] },
    });
    const driving = made.drive();
    await until(() => signal !== undefined);
    const before = made.log.length;
    made.queue.poke();
    expect(await driving).toBe("superseded");
    expect(signal?.aborted).toBe(true);
    expect(made.log).toHaveLength(before);
    expect(made.clock.armed).toBe(0);
  });

  it("[A19] refuses to drive a log it does not know", async () => {
    const future = { type: "from-the-future", runId: "r" } as unknown as Draft; // a newer version's event
    const made = host({ script: [], from: foldDrafts([...begun, future]) });
    expect(await made.drive()).toBe("refused");
    expect(made.log).toEqual([]);
  });

  it("looks into the log when it is told to, and goes on when there is nothing new", async () => {
    const made = host({ script: [calls(say("One "), delay(1_000), say("two"))] });
    const driving = made.drive();
    await made.clock.advance(500);
    made.queue.poke();
    await made.clock.advance(500);
    expect(await driving).toBe("closed");
    expect(made.proposals.filter(({ facts, intents }) => facts.length + intents.length === 0)).toHaveLength(1);
    expect(made.thread.runs[0]?.text).toBe("One two");
  });
});
