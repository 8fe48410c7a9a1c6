// What real runs write, to be written again to a store under another name.
import * as z from "zod";
import { createToolRun, defineAgent, memoryStore, tool } from "../../packages/core/src/server.ts";
import { callsThenSays } from "./model.mjs";

const user = { id: "clerk" };

/** Every append of a thread in which each run asks a person, calls a tool and answers. */
export async function recordThread(runs, words) {
  const store = memoryStore();
  const appends = [];
  let run = 0;
  const append = async (id, position, made) => {
    const result = await store.append(id, position, made);
    if (result.status === "ok") appends.push({ run, position, append: made });
    return result;
  };
  const refund = tool({
    description: "Refunds an order.",
    inputSchema: z.object({ orderId: z.string(), cents: z.number() }),
    execute: ({ orderId, cents }) => ({ orderId, cents, refundedAt: "2026-11-30T12:00:00Z", status: "refunded" }),
  });
  const model = callsThenSays("refund", { orderId: "1042", cents: 1_999 }, wordsOf(words));
  const toolrun = createToolRun({ agent: defineAgent({ model, tools: { refund } }), store: { ...store, append } });
  let threadId;
  for (run = 1; run <= runs; run++) {
    const sent = await toolrun.send({ user, threadId, message: "Please refund order 1042, it arrived broken." });
    threadId = sent.threadId;
    const decided = await toolrun.approve((await sent.settled()).pending, { user });
    const { outcome } = await decided.settled();
    if (outcome !== "completed") throw new Error(`The run ended as ${outcome}.`);
  }
  return appends;
}

function wordsOf(count) {
  return Array.from({ length: count }, (_, index) => ["The ", "refund ", "was ", "made. "][index % 4]);
}
