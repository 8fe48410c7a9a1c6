// The subject: toolrun playing a plan, from its source and through its public server entry.
import { createToolRun, defineAgent, memoryStore, tool } from "../packages/core/src/server.ts";
import { perPlan, work } from "./limit/memo.mjs";
import { callId } from "./limit/plan.mjs";
import { schema } from "./limit/server-limit.mjs";

const user = { id: "bench" };
const BASE = "http://bench.local/api/threads";

/** A plan's story as a toolrun model: without latency, the parts of one call together, text one delta at a time. */
function storyModel(plan) {
  return {
    id: "bench",
    async *stream({ messages }) {
      const turn = messages.filter((message) => message.role === "assistant").length;
      if (turn >= plan.rounds) {
        const delta = { type: "text", text: plan.delta };
        for (let index = 0; index < plan.deltas; index++) yield delta;
        yield { type: "end", reason: "stop" };
        return;
      }
      for (let index = 0; index < plan.calls; index++) {
        const id = callId(turn, index);
        const pieces = plan.piecesOf(index).map((text) => ({ type: "call-input", id, text }));
        yield [
          { type: "call-start", id, name: "noop" },
          ...pieces,
          { type: "call", id, name: "noop", input: plan.argsOf(index) },
        ];
      }
      yield { type: "end", reason: "tools" };
    },
  };
}

/** An endpoint for a plan, made once, as an application makes it once a module. */
export const endpointOf = perPlan((plan, kind) => {
  const noop = tool({
    description: "Does nothing.",
    inputSchema: schema,
    readOnly: kind !== "asks",
    execute: work(plan),
  });
  const agent = defineAgent({
    model: storyModel(plan),
    tools: { noop },
    limits: { turns: plan.rounds + 2, calls: plan.rounds * plan.calls + 1, repeats: false },
  });
  const store = memoryStore();
  const toolrun = createToolRun({ agent, store, identify: () => user, maxActiveRuns: 10_000 });
  return { toolrun, store };
});

/** One run in code, from a message to its end. */
export async function run(plan) {
  const { toolrun, store } = endpointOf(plan);
  const { threadId, settled } = await toolrun.send({ user, message: "go" });
  const ended = await settled();
  if (ended.outcome !== "completed") throw new Error(`The run ended as ${ended.outcome} ${ended.limit ?? ended.code}.`);
  await store.remove(threadId); // so that every run finds the same small store
  return ended;
}

let keys = 0;

export function postRequest() {
  const body = JSON.stringify({ message: { text: "go" }, key: `key-${++keys}` });
  return new Request(BASE, { method: "POST", headers: { "content-type": "application/json" }, body });
}

/** One run over the web handlers: a message posted, its thread's events followed from the start. */
export async function respond(plan) {
  const { toolrun } = endpointOf(plan);
  const posted = await toolrun.POST(postRequest());
  if (posted.status !== 201) throw new Error(`POST answered ${posted.status}: ${await posted.text()}`);
  const { threadId } = await posted.json();
  const response = await toolrun.GET(new Request(`${BASE}/${threadId}/events`));
  return { threadId, response };
}

/** Starts a run that asks a person, and returns when it waits. */
export async function waitForPerson(plan) {
  const { toolrun } = endpointOf(plan, "asks");
  const { settled } = await toolrun.send({ user, message: "go" });
  const thread = await settled();
  if (thread.status !== "waiting") throw new Error(`The thread is ${thread.status}.`);
}
