// The server under load: the product's handlers behind node:http, with a model that speaks `perSecond` times a second.
import { createToolRun, defineAgent } from "../../packages/core/src/server.ts";
import { serve } from "../serve.mjs";
import { openStore } from "./stores.mjs";
import { spread } from "./table.mjs";

export async function server({ store: name, url, connections, deltas, perSecond }, { say, on }) {
  const { store } = await openStore(name, url, connections);
  const counted = countAppends(store);
  const toolrun = createToolRun({
    agent: defineAgent({ model: talkingModel(deltas, perSecond) }),
    store: counted.store,
    identify: (request) => ({ id: request.headers.get("x-user") }),
  });
  const { port } = await serve((request) => toolrun[request.method](request));
  let cpu = process.cpuUsage();

  on("begin", () => {
    cpu = process.cpuUsage();
    counted.reset();
    say("begin", null);
  });
  on("measure", () => {
    const { user, system } = process.cpuUsage(cpu);
    const counts = counted.read();
    const { rss } = process.memoryUsage();
    say("measure", { ...counts, cpuMs: (user + system) / 1_000, rss, heap: heap() });
  });
  on("heap", () => say("heap", { heap: heap() }));
  say("port", port);
}

function heap() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** Each delta says which one it is and when the model said it: `12:1764541234567 `. */
function talkingModel(deltas, perSecond) {
  return {
    id: "talking",
    async *stream() {
      const begun = Date.now();
      for (let index = 0; index < deltas; index++) {
        const due = begun + (index * 1_000) / perSecond;
        await new Promise((resolve) => setTimeout(resolve, due - Date.now()));
        yield { type: "text", text: `${index}:${Date.now()} ` };
      }
      yield { type: "end", reason: "stop" };
    },
  };
}

function countAppends(store) {
  let [batches, events, times] = [0, 0, []];
  const append = async (id, position, made) => {
    const sentAt = performance.now();
    const result = await store.append(id, position, made);
    times.push(performance.now() - sentAt);
    batches++;
    events += made.events.length;
    return result;
  };
  return {
    store: { ...store, append },
    reset() {
      [batches, events, times] = [0, 0, []];
    },
    read: () => ({ batches, events, append: spread(times) }),
  };
}
