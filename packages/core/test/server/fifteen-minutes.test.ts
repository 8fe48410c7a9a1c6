import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Model } from "../../src/model/model.ts";
import { eventsOf } from "../../src/protocol/frame.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread, turnsOf } from "../../src/protocol/thread.ts";
import { readThread } from "../../src/server/thread-log.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint, EndpointOptions } from "./endpoint.ts";
import { clerk, endpoint, jsonRequest } from "./endpoint.ts";
import type { Mortal } from "./mortal.ts";
import { mortal } from "./mortal.ts";
import { foldBlocks, framesOf, parseBlocks } from "./sse.ts";

const MAX_REQUEST_MS = 5_000;
const PIECES = 15;
const PIECE_MS = 220;
const TOOL_MS = 400;
/** One turn with its tool is 3.7 s: the next one does not fit into 5 s, so each turn is a request of its own. */
const TURN_MS = PIECES * PIECE_MS + TOOL_MS;
const WORK_MS = 15 * 60_000;
const TURNS = Math.ceil(WORK_MS / TURN_MS);

function textOf(turn: number): string {
  return Array.from({ length: PIECES }, (_, piece) => `${turn}.${piece} `).join("");
}

function pause(clock: FakeClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** A model that says one turn's text in pieces and asks for more work, until the work is done. */
function workModel(clock: FakeClock): Model {
  return {
    async *stream({ messages }) {
      const turn = messages.filter(({ role }) => role === "assistant").length + 1;
      for (let piece = 0; piece < PIECES; piece++) {
        await pause(clock, PIECE_MS);
        yield { type: "text", text: `${turn}.${piece} ` };
      }
      if (turn < TURNS) yield { type: "call", id: `work-${turn}`, name: "work", input: `{"turn":${turn}}` };
      yield { type: "end", reason: turn < TURNS ? "tools" : "stop" };
    },
  };
}

interface Platform {
  readonly clock: FakeClock;
  readonly store: ThreadStore;
  /** Starts a function instance, which the platform kills when its time is over. */
  request(): Endpoint;
  /** Timers that an instance had armed when it was killed. */
  readonly leftArmed: readonly number[];
  readonly worked: readonly number[];
}

/** A platform of functions: each request is an instance of its own, dead after five seconds. */
function platform(options: Omit<EndpointOptions, "agent">): Platform {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const leftArmed: number[] = [];
  const worked: number[] = [];
  const request = (): Endpoint => {
    const life: Mortal = mortal(clock, store);
    const work = tool({
      description: "Works.",
      inputSchema: z.object({ turn: z.number() }),
      readOnly: true,
      timeoutMs: 800,
      execute: async ({ turn }) => {
        worked.push(turn);
        await pause(life.clock, TOOL_MS);
        return turn;
      },
    });
    const agent = defineAgent({
      model: workModel(life.clock),
      tools: { work },
      limits: { turns: TURNS + 1, calls: TURNS, timeMs: WORK_MS * 2 },
    });
    clock.after(MAX_REQUEST_MS, () => {
      leftArmed.push(life.clock.armed);
      life.kill();
    });
    return endpoint({
      ...options,
      agent,
      clock: life.clock,
      store: life.store,
      maxRequestMs: MAX_REQUEST_MS,
      livesOn: false,
    });
  };
  return { clock, store, request, leftArmed, worked };
}

async function threadOf({ request }: Platform, threadId: string): Promise<Thread> {
  const open = await readThread(request().engine, threadId);
  if (!open) throw new Error("There is no such thread.");
  return open.thread;
}

/** Every turn was said once, whole, at its first attempt, and worked once. */
function checkWork(thread: Thread, worked: readonly number[]): void {
  const [run] = thread.runs;
  if (!run) throw new Error("The run has not ended.");
  expect(run.outcome).toBe("completed");
  const said = turnsOf(run).map(({ attempt, parts }) => [
    attempt,
    parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
  ]);
  expect(said).toEqual(Array.from({ length: TURNS }, (_, index) => [1, textOf(index + 1)]));
  expect(worked).toEqual(Array.from({ length: TURNS - 1 }, (_, index) => index + 1));
  expect(thread.anomalies).toBe(0);
}

describe("fifteen minutes of work in requests of five seconds", () => {
  it("go from request to request with a tab open: each reconnect drives, and no character is lost", async () => {
    const functions = platform({});
    const { clock } = functions;
    const posted = await functions.request().handle(jsonRequest("", { message: { text: "Work" }, key: "k" }));
    const { threadId } = (await posted.json()) as { threadId: string };
    const start = clock.now();
    let seen = emptyThread(threadId);
    let text = "";
    let handovers = 0;
    let requests = 0;
    while (seen.runs.length === 0 && requests < TURNS * 2) {
      requests++;
      const response = await functions.request().get(`/${threadId}/events`, { "last-event-id": String(seen.seq) });
      const reading = response.text();
      let isRead = false;
      void reading.then(() => {
        isRead = true;
      });
      while (!isRead) await clock.advance(TURN_MS);
      const blocks = parseBlocks(await reading);
      if (blocks.at(-1)?.event === "handover") handovers++;
      for (const event of framesOf(blocks).flatMap(eventsOf)) if (event.type === "text-added") text += event.text;
      seen = foldBlocks(
        blocks.filter(({ event }) => event === undefined),
        seen,
      );
    }
    expect([requests, handovers]).toEqual([TURNS, TURNS - 1]);
    expect(seen.at - start).toBe(TURNS * TURN_MS - TOOL_MS); // not a moment was waited
    expect(text).toBe(Array.from({ length: TURNS }, (_, index) => textOf(index + 1)).join(""));
    await clock.advance(MAX_REQUEST_MS);
    checkWork(await threadOf(functions, threadId), functions.worked);
    expect(new Set(functions.leftArmed)).toEqual(new Set([0]));
  }, 60_000);

  it("go from request to request with no tab: each hand-over wakes the next", async () => {
    const woken: string[] = [];
    const functions: Platform = platform({
      waitUntil: () => undefined, // the instance lives on until it is killed
      wake: async (threadId) => {
        woken.push(threadId);
        await functions.request().sweep();
      },
    });
    const { clock } = functions;
    const { threadId } = await functions.request().send({ user: clerk, message: "Work" });
    const start = clock.now();
    let thread = await threadOf(functions, threadId);
    while (thread.runs.length === 0 && clock.now() < start + WORK_MS * 2) {
      await clock.advance(TURN_MS * 10);
      thread = await threadOf(functions, threadId);
    }
    await clock.advance(MAX_REQUEST_MS);
    expect(woken).toEqual(Array.from({ length: TURNS - 1 }, () => threadId));
    checkWork(thread, functions.worked);
    expect((thread.runs[0]?.endedAt ?? 0) - start).toBe(TURNS * TURN_MS - TOOL_MS); // not a moment was waited
    expect(new Set(functions.leftArmed)).toEqual(new Set([0]));
    expect(clock.armed).toBe(0);
  }, 60_000);
});
