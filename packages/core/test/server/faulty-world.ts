import * as z from "zod";
import type { Agent } from "../../src/agent/agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { questionTool } from "../../src/agent/question-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { ToolContext } from "../../src/agent/tool-context.ts";
import { isToolRunError } from "../../src/errors.ts";
import type { Model } from "../../src/model/model.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseFrame, reduceFrame } from "../../src/protocol/frame.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { newThreadId } from "../../src/server/writer.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { FaultyStore, StoreFaults } from "../../src/testing/faulty-store.ts";
import { faultyStore } from "../../src/testing/faulty-store.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import { pass } from "../loop/random/waiting.ts";
import { fold } from "../protocol/fold.ts";
import type { Endpoint } from "./endpoint.ts";
import { clerk, endpoint } from "./endpoint.ts";
import { mortal } from "./mortal.ts";
import { errorOf } from "./shop.ts";
import { parseBlocks, readStream } from "./sse.ts";

export const TOOLS = ["look", "refund", "slow", "again", "which"] as const;

/** One schedule: what the model asks for, what goes wrong, who dies. */
export interface Schedule {
  readonly turns: readonly (readonly (typeof TOOLS)[number][])[];
  readonly faults: readonly StoreFaults[];
  readonly seed: number;
  /** When the store heals. */
  readonly healMs: number;
  /** When the first server dies; null: never. */
  readonly killMs: number | null;
  readonly denies: boolean;
  readonly says: boolean;
}

/** What is there when it is over. */
export interface Played {
  readonly thread: Thread;
  readonly events: readonly ThreadEvent[];
  /** What each reader has, from frames alone. */
  readonly readers: readonly Reader[];
  /** `callId#attempt`, once for each time a tool ran. */
  readonly ran: readonly string[];
  /** What a caller got that is no refusal of ours, in words. */
  readonly untyped: readonly string[];
  readonly struck: Readonly<Record<string, number>>;
  readonly takeovers: number;
  /** Timers that are left when all is over. */
  readonly armed: number;
}

export interface Reader {
  thread: Thread;
  /** A hole or a repetition, in words. */
  readonly faults: string[];
}

const STEP_MS = 1_000;
const LEASE_MS = 30_000;
const END_MS = 30 * 60_000;

export async function play(schedule: Schedule): Promise<Played> {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  const threadId = newThreadId(clerk, "first");
  const ran: string[] = [];
  const untyped: string[] = [];
  const stores: FaultyStore[] = [];
  const servers = schedule.faults.map((faults, index) => {
    const store = faultyStore(inner, { faults, seed: schedule.seed + index, clock, delayMs: 8_000, lateMs: 20_000 });
    stores.push(store);
    const process = mortal(clock, store);
    const agent = agentOf(schedule, process.clock, ({ callId, attempt }) => ran.push(`${callId}#${attempt}`));
    return {
      ...endpoint({ agent, clock: process.clock, store: process.store, leaseMs: LEASE_MS }),
      kill: process.kill,
    };
  });
  let alive: readonly (typeof servers)[number][] = servers;

  const eventsNow = async (): Promise<readonly ThreadEvent[]> => {
    const read = await inner.read(threadId, 0);
    return read && "events" in read ? read.events.map(({ seq, data }) => parseEvent(data, seq)) : [];
  };

  const readers: (Reader & { busy: Endpoint | undefined })[] = [0, 1].map(() => ({
    ...{ thread: emptyThread(threadId), faults: [], busy: undefined },
  }));
  const follow = async (reader: (typeof readers)[number], server: Endpoint): Promise<void> => {
    reader.busy = server;
    const response = await server.get(`/${threadId}/events?after=${reader.thread.seq}`);
    if (response.status === 200) {
      const stream = readStream(response);
      for (let text = await stream.next(); text !== undefined; text = await stream.next()) {
        if (reader.busy !== server) return; // its server died
        readOn(reader, text);
      }
    } else await expectTyped(response, untyped);
    if (reader.busy === server) reader.busy = undefined;
  };

  /** Writes that are sent until their answer is definite; by key. */
  const writes = new Map<
    string,
    { readonly send: (server: Endpoint) => Promise<Response>; busy: boolean; done: boolean }
  >();
  const write = (key: string, send: (server: Endpoint) => Promise<Response>): void => {
    if (!writes.has(key)) writes.set(key, { send, busy: false, done: false });
  };
  write("first", (server) => server.post("", { message: { text: "Go" }, key: "first" }));
  let sent = 0;
  const deliver = (): void => {
    for (const each of writes.values()) {
      const server = alive[sent++ % alive.length];
      if (each.busy || each.done || !server) continue;
      each.busy = true;
      void each.send(server).then(async (response) => {
        each.busy = false;
        each.done = response.status < 500;
        if (response.status >= 400) await expectTyped(response, untyped);
      });
    }
  };
  const decide = (thread: Thread): void => {
    for (const { id, digest, ask } of viewThread(thread).pending) {
      const action =
        ask?.kind === "question"
          ? { action: "answer", value: "Blue" }
          : ask?.kind === "interrupted"
            ? { action: "skip" }
            : { action: schedule.denies ? "deny" : "approve" };
      const key = `${id}.${digest}`.slice(0, 200);
      write(key, (server) =>
        server.post(`/${threadId}/decisions`, { decisions: [{ callId: id, digest, ...action }], key }),
      );
    }
  };

  const from = clock.now();
  let thread = emptyThread(threadId);
  for (let time = 0; time < END_MS; time = clock.now() - from) {
    if (time >= schedule.healMs) for (const store of stores) store.heal();
    if (schedule.killMs !== null && time >= schedule.killMs && alive.length > 1) {
      alive[0]?.kill();
      for (const each of writes.values()) each.busy = false; // their connections are gone
      for (const reader of readers) if (reader.busy === alive[0]) reader.busy = undefined;
      alive = alive.slice(1);
    }
    thread = fold(await eventsNow(), emptyThread(threadId));
    if (schedule.says && thread.active.length > 0) {
      write("more", (server) => server.post(`/${threadId}/messages`, { message: { text: "More" }, key: "more" }));
    }
    decide(thread);
    deliver();
    const isOver =
      thread.runs.length > 0 && thread.active.length === 0 && [...writes.values()].every(({ done }) => done);
    readers.forEach((reader, index) => {
      const server = alive[(index + Math.floor(time / 10_000)) % alive.length];
      if (!reader.busy && server && (!isOver || reader.thread.seq < thread.seq)) {
        void follow(reader, server).catch((error: unknown) => untyped.push(`a reader: ${error}`));
      }
    });
    if (isOver && time >= schedule.healMs && readers.every((reader) => reader.thread.seq === thread.seq)) break;
    if (time >= schedule.healMs && time % (LEASE_MS + STEP_MS) < STEP_MS) {
      void alive
        .at(-1)
        ?.sweep()
        .catch((error: unknown) => untyped.push(String(error)));
    }
    await clock.advance(STEP_MS);
  }
  await clock.advance(2 * LEASE_MS);
  const struck: Record<string, number> = {};
  for (const store of stores) {
    for (const [name, count] of Object.entries(store.struck)) struck[name] = (struck[name] ?? 0) + count;
  }
  const events = await eventsNow();
  return {
    ...{ thread: fold(events, emptyThread(threadId)), events, readers, ran, untyped, struck },
    takeovers: events.filter((event) => event.type === "run-resumed" && event.why === "takeover").length,
    armed: alive.reduce((sum, server) => sum + server.clock.armed, 0),
  };
}

/** Folds what came, as a browser does, and insists that it joins on. */
function readOn(reader: Reader, text: string): void {
  for (const { data, event, id } of parseBlocks(text)) {
    if (data === undefined || event === "handover") continue;
    if (event === "reset") {
      reader.thread = JSON.parse(data).thread;
      continue;
    }
    const frame = parseFrame(data);
    const { seq } = reader.thread;
    if (!frame || frame.from !== seq + 1 || id !== String(frame.to))
      reader.faults.push(`after ${seq}: ${data.slice(0, 80)}`);
    reader.thread = (frame && reduceFrame(reader.thread, frame)) ?? reader.thread;
  }
}

async function expectTyped(response: Response, untyped: string[]): Promise<void> {
  try {
    const { code } = await errorOf(response);
    if (code === "internal") untyped.push(`${response.status} internal`);
  } catch (error) {
    untyped.push(isToolRunError(error) ? error.code : String(error));
  }
}

/** Asks for the tools of one turn after the other, then answers in pieces. */
function modelOf({ turns }: Schedule, clock: FakeClock): Model {
  return {
    id: "scheduled",
    async *stream({ messages }, signal) {
      const wanted = turns[messages.filter(({ role }) => role === "tool").length];
      for (const word of ["One ", "moment ", "please."]) {
        yield { type: "text", text: word };
        await pass(clock, 300, signal);
      }
      for (const [index, name] of (wanted ?? []).entries()) {
        yield { type: "call", id: `c${index}`, name, input: "{}" };
      }
      yield { type: "end", reason: wanted ? "tools" : "stop" };
    },
  };
}

function agentOf(schedule: Schedule, clock: FakeClock, onRun: (context: ToolContext) => void): Agent {
  const inputSchema = z.object({});
  const takes = (ms: number) => async (_input: unknown, context: ToolContext) => {
    onRun(context);
    await pass(clock, ms, context.signal);
    return { done: true };
  };
  return defineAgent({
    model: modelOf(schedule, clock),
    tools: {
      look: tool({ description: "x", inputSchema, readOnly: true, execute: takes(300) }),
      refund: tool({ description: "x", inputSchema, execute: takes(1_000) }),
      slow: tool({ description: "x", inputSchema, approval: "allow", execute: takes(45_000) }),
      again: tool({ description: "x", inputSchema, approval: "allow", idempotent: true, execute: takes(20_000) }),
      which: questionTool({ description: "x", inputSchema, answerSchema: z.string(), prompt: () => "Which?" }),
    },
    limits: { timeMs: END_MS, repeats: false, failures: false },
  });
}
