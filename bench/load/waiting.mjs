// What a thread that waits for a person leaves in the process that drove it: heap, timers, sockets.
import * as z from "zod";
import { createToolRun, defineAgent, tool } from "../../packages/core/src/server.ts";
import { heapNow } from "../limit/measure.mjs";
import { callsThenSays } from "./model.mjs";
import { openStore } from "./stores.mjs";

/** As many threads as the Redis store remembers the last batch of. */
const WARM = 1_000;
const AT_ONCE = 10;

export async function waiting({ store: name, url, count }, { say }) {
  const { store, bytes } = await openStore(name, url);
  const refund = tool({
    description: "Refunds.",
    inputSchema: z.object({ orderId: z.string() }),
    execute: () => "done",
  });
  const toolrun = createToolRun({
    agent: defineAgent({ model: callsThenSays("refund", { orderId: "1042" }), tools: { refund } }),
    store,
    identify: () => null,
  });
  const waitForPerson = async (index) => {
    const { settled } = await toolrun.send({ user: { id: `user-${index}` }, message: "Refund 1042" });
    const { status } = await settled();
    if (status !== "waiting") throw new Error(`The thread is ${status}.`);
  };
  const begin = async (from, to) => {
    for (let index = from; index < to; index += AT_ONCE) {
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, to - index) }, (_, offset) => waitForPerson(index + offset)),
      );
    }
  };
  await begin(0, WARM);
  await settle();
  const before = { heap: heapNow(), bytes: await bytes(), ...resources() };
  await begin(WARM, WARM + count);
  const atOnce = heapNow();
  await settle();
  const after = { heap: heapNow(), bytes: await bytes(), ...resources() };
  const kib = (name, now = after[name]) => ((now - before[name]) / 1_024 / count).toFixed(1);
  say("result", {
    "heap of the server right behind them, KiB a run": kib("heap", atOnce),
    "ten seconds later, KiB a run": kib("heap"),
    "timers more than before": after.timers - before.timers,
    "sockets more than before": after.sockets - before.sockets,
    "in the store, KiB a run": name === "memory" ? "–" : kib("bytes"),
  });
}

/** Timers that were cancelled are kept by the runtime until they would have fired, after 5 s at most. */
async function settle() {
  for (let times = 0; times < 5; times++) {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    globalThis.gc();
  }
}

function resources() {
  const all = process.getActiveResourcesInfo();
  const count = (pattern) => all.filter((name) => pattern.test(name)).length;
  return { timers: count(/^(Timeout|Immediate)$/), sockets: count(/^TCP/) };
}
