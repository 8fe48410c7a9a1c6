import { vi } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../../src/agent/define-agent.ts";
import { tool } from "../../../src/agent/tool.ts";
import type { AskOptions } from "../../../src/agent/verdict.ts";
import type { Model } from "../../../src/model/model.ts";
import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { AnyStep } from "../../../src/protocol/step.ts";
import { parseEvent } from "../../../src/protocol/stored-event.ts";
import type { ToolRun } from "../../../src/server/create-tool-run.ts";
import { createToolRun } from "../../../src/server/create-tool-run.ts";
import type { ThreadStore } from "../../../src/store/thread-store.ts";
import type { RaceStores } from "./race-stores.ts";

const BASE = "https://shop.test/api/toolrun/threads";
export const INPUT = { orderId: "1042", amount: 40 } as const;
/** Longer than a clock jumps, so that nobody seems dead who is not. */
const LEASE_MS = 15_000;

/** Both may do everything with ann's conversations. */
export const PEOPLE = ["ann", "bea"] as const;

/** A request somebody makes, at one of the two servers. */
export interface Wish {
  readonly at: number;
  readonly user: string;
  readonly method?: "DELETE";
  /** Below the thread. */
  readonly path: string;
  readonly body?: { readonly key: string; readonly [name: string]: unknown };
}

/** What came of it in the end; what was answered `unavailable` was sent again, as every client does. */
export interface Answer {
  readonly wish: Wish;
  readonly status: number;
  readonly text: string;
}

/** Two servers, one conversation in which one refund waits. */
export interface RaceShop {
  readonly servers: readonly [ToolRun, ToolRun];
  readonly threadId: string;
  readonly runId: string;
  readonly step: AnyStep;
  /** Inputs the refund ran with. */
  readonly ran: readonly unknown[];
  send(wish: Wish): Promise<Answer>;
  events(): Promise<readonly ThreadEvent[]>;
  /** All steps as a screen shows them. */
  steps(): Promise<readonly AnyStep[]>;
  /** Lets the tool that holds its turn go on, at its server. */
  release(): void;
  /** Waits for something, while a cron looks after the threads. */
  until<Found>(check: () => Promise<Found>): Promise<unknown>;
  /** Waits until nothing goes on by itself. */
  settled(): Promise<void>;
}

export interface RaceShopOptions {
  readonly ask?: AskOptions;
  /** The model's turns: what it asks for in each. */
  readonly turns?: readonly (readonly ("refund" | "hold")[])[];
}

export async function raceShop(
  { stores }: RaceStores,
  { ask = {}, turns = [["refund"]] }: RaceShopOptions,
): Promise<RaceShop> {
  const ran: unknown[] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const agent = defineAgent({
    model: modelOf(turns),
    tools: {
      refund: tool({
        description: "x",
        inputSchema: z.object({ orderId: z.string(), amount: z.number().max(100) }),
        approval: { ask },
        execute: (input) => void ran.push(input),
      }),
      hold: tool({
        description: "x",
        inputSchema: z.object({}),
        readOnly: true,
        sequential: true,
        execute: () => held,
      }),
    },
    limits: { repeats: false },
  });
  const open = (store: ThreadStore): ToolRun =>
    createToolRun({
      agent,
      store,
      identify: (request) => ({ id: request.headers.get("x-user") ?? "" }),
      authorize: ({ user, owner }) => owner === "ann" && PEOPLE.some((id) => id === user.id),
      onError: () => undefined,
      leaseMs: LEASE_MS,
    });
  const servers = [open(stores[0]), open(stores[1])] as const;
  const send = async (wish: Wish): Promise<Answer> => {
    const { at, user, method = "POST", path, body } = wish;
    const handler = servers[at % 2]?.[method];
    for (let tries = 0; ; tries++) {
      const headers = { "content-type": "application/json", "x-user": user };
      const request = new Request(BASE + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
      const response = (await handler?.(request)) as Response; // of one of two
      const text = await response.text();
      if (response.status !== 503 || tries > 100) return { wish, status: response.status, text };
    }
  };
  const message = { message: { text: "Refund 1042" }, key: crypto.randomUUID() };
  const first = await send({ at: 0, user: "ann", path: "", body: message });
  if (first.status !== 201) throw new Error(first.text);
  const { threadId, runId } = JSON.parse(first.text);
  const events = async (): Promise<readonly ThreadEvent[]> => {
    const read = await patiently(() => stores[0].read(threadId));
    return read && "events" in read ? read.events.map(({ seq, data }) => parseEvent(data, seq)) : [];
  };
  const read = () => patiently(() => servers[0].read({ user: { id: "ann" }, threadId }));
  // A driver whose store failed too often has given up: once its lease is over, a cron takes the run up.
  const until = <Found>(check: () => Promise<Found>) =>
    vi.waitUntil(
      async () => {
        await servers[1].sweep().catch(() => undefined);
        return check();
      },
      { timeout: 4 * LEASE_MS, interval: 5 },
    );
  const step = await until(async () => (await read())?.pending[0]);
  return {
    ...{ servers, threadId, runId, step: step as AnyStep, ran, send, events, release },
    steps: async () => ((await read())?.steps ?? []) as readonly AnyStep[], // any agent's
    until,
    settled: async () => void (await until(async () => (await read())?.status !== "running")),
  };
}

/** Asks for one turn after the other, whatever server calls it. */
function modelOf(turns: RaceShopOptions["turns"] & object): Model {
  return {
    id: "scripted",
    async *stream({ messages }) {
      const turn = turns[messages.filter(({ role }) => role === "assistant").length] ?? [];
      yield { type: "text", text: "Well." };
      for (const [index, name] of turn.entries()) {
        yield { type: "call", id: `c${index}`, name, input: name === "refund" ? JSON.stringify(INPUT) : "{}" };
      }
      yield { type: "end", reason: turn.length > 0 ? "tools" : "stop" };
    },
  };
}

/** Again, as long as the store does not answer. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries > 100) throw error;
    }
  }
}
