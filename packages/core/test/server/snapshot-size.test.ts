import { expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Model } from "../../src/model/model.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { turnOfTheLoop } from "../fake-clock.ts";
import { clerk, endpoint } from "./endpoint.ts";

const WORDS = 40;

/** Calls a tool for each message, then answers a word at a time: each word is an event, as with a real model. */
const model: Model = {
  async *stream({ messages }) {
    if (messages.at(-1)?.role === "user") {
      yield { type: "call-start", id: "1", name: "refund" };
      yield { type: "call", id: "1", name: "refund", input: '{"orderId":"1042"}' };
      yield { type: "end", reason: "tools" };
      return;
    }
    for (let word = 0; word < WORDS; word++) {
      await turnOfTheLoop();
      yield { type: "text", text: "word " };
    }
    yield { type: "end", reason: "stop" };
  },
};

/** A store, and how many characters of events were written up to each. */
function counted(): { readonly store: ThreadStore; readonly chars: number[] } {
  const store = memoryStore();
  const chars = [0];
  const append: ThreadStore["append"] = async (id, position, made) => {
    const result = await store.append(id, position, made);
    if (result.status === "ok") for (const { data } of made.events) chars.push((chars.at(-1) ?? 0) + data.length);
    return result;
  };
  return { store: { ...store, append }, chars };
}

it("the snapshot of 200 runs is at most half of the log it stands for, and grows no faster than it", async () => {
  const { store, chars } = counted();
  const refund = tool({
    description: "Refunds.",
    inputSchema: z.object({ orderId: z.string() }),
    execute: () => "done",
  });
  const server = endpoint({ agent: defineAgent({ model, tools: { refund } }), store });
  let threadId: string | undefined;
  const shares: number[] = [];
  for (let run = 1; run <= 200; run++) {
    const sent = await server.send({ user: clerk, message: "Refund 1042", ...(threadId ? { threadId } : {}) });
    threadId = sent.threadId;
    const decided = await server.approve((await sent.settled()).pending, { user: clerk });
    expect(await decided.settled()).toMatchObject({ outcome: "completed" });
    if (run % 100 > 0) continue;
    const read = await store.read(threadId);
    if (read === null || "gone" in read || !read.snapshot) throw new Error("There is no snapshot.");
    shares.push(read.snapshot.data.length / (chars[read.snapshot.seq] ?? 0));
  }
  const [half = 0, whole = 0] = shares;
  expect(whole).toBeLessThanOrEqual(0.5);
  expect(whole).toBeLessThanOrEqual(half * 1.02);
}, 60_000);
