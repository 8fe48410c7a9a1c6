import { expect, test } from "vitest";
import * as z from "zod";
import { defineAgent } from "../src/agent/define-agent.ts";
import { tool } from "../src/agent/tool.ts";
import { newId } from "../src/loop/clock.ts";
import type { Model, ModelPart } from "../src/model/model.ts";
import { createEngine } from "../src/server/create-tool-run.ts";
import { handleRequest } from "../src/server/handle-request.ts";
import { memoryStore } from "../src/store/memory-store.ts";
import { fakeClock } from "./fake-clock.ts";

const BASE = "https://shop.test/api/threads";

/** A model without latency: it asks for `calls` tools in each of `rounds` answers, then says `deltas` times "abcd". */
function storyModel(rounds: number, calls: number, deltas: number): Model {
  return {
    async *stream({ messages }): AsyncGenerator<ModelPart> {
      const round = messages.filter(({ role }) => role === "assistant").length;
      for (let index = 0; round < rounds && index < calls; index++) {
        const id = `call_${round}_${index}`;
        const input = JSON.stringify({ i: index });
        yield { type: "call-start", id, name: "noop" };
        yield { type: "call-input", id, text: input };
        yield { type: "call", id, name: "noop", input };
      }
      for (let index = 0; round >= rounds && index < deltas; index++) yield { type: "text", text: "abcd" };
      yield { type: "end", reason: round < rounds ? "tools" : "stop" };
    },
  };
}

/** Bytes of the event stream of one run, from its first event to its end. */
async function streamedBytes(model: Model): Promise<number> {
  const noop = tool({
    description: "Does nothing.",
    inputSchema: z.object({ i: z.number() }),
    readOnly: true,
    execute: ({ i }) => ({ ok: i }),
  });
  const agent = defineAgent({ model, tools: { noop }, limits: { turns: 60, calls: 300, repeats: false } });
  const clock = fakeClock(1_796_060_012_244); // stands still: how often it ticks must not count
  const runtime = { production: false, livesOn: true, waitUntil: undefined };
  const engine = createEngine({ agent, store: memoryStore({ clock }) }, runtime, { clock, newId });
  const http = { identify: async () => ({ id: "user" }), allowedOrigins: [] };
  const posted = await handleRequest(
    engine,
    http,
    new Request(BASE, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: { text: "go" }, key: "key" }),
    }),
  );
  const { threadId } = (await posted.json()) as { threadId: string }; // checked below: no id, no stream
  const streamed = await handleRequest(engine, http, new Request(`${BASE}/${threadId}/events`));
  expect(streamed.status).toBe(200);
  const text = await streamed.text();
  expect(text).toContain('"outcome":"completed"');
  return new TextEncoder().encode(text).length;
}

test("a tool call costs at most 400 bytes on the wire, its share of turns and frames included", async () => {
  const [rounds, calls] = [50, 4];
  expect((await streamedBytes(storyModel(rounds, calls, 1))) / (rounds * calls)).toBeLessThanOrEqual(400);
});

test("a text delta of four characters costs at most 31 bytes on the wire", async () => {
  const deltas = 20_000;
  expect((await streamedBytes(storyModel(0, 0, deltas))) / deltas).toBeLessThanOrEqual(31);
});
