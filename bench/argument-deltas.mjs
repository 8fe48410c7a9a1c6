// One call whose arguments come in deltas of one character, as an AI SDK model (spec v3) gives them: to Response bytes.
import * as z from "zod";
import { createToolRun, defineAgent, memoryStore, tool } from "../packages/core/src/server.ts";
import { drain } from "./limit/measure.mjs";

const user = { id: "bench" };
const BASE = "http://bench.local/api/threads";
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

const finish = (unified) => ({ type: "finish", finishReason: { unified, raw: unified }, usage });

/** Calls once, with as many characters as said, then answers. */
function model(count) {
  const input = `{"text":"${"a".repeat(count)}"}`;
  const call = [
    { type: "tool-input-start", id: "c", toolName: "noop" },
    ...[...input].map((delta) => ({ type: "tool-input-delta", id: "c", delta })),
    { type: "tool-input-end", id: "c" },
    { type: "tool-call", toolCallId: "c", toolName: "noop", input },
    finish("tool-calls"),
  ];
  const answer = [{ type: "text-delta", id: "t", delta: "Done." }, finish("stop")];
  const streamOf = (parts) => {
    let next = 0;
    return new ReadableStream({
      pull(controller) {
        if (next < parts.length) controller.enqueue(parts[next++]);
        else controller.close();
      },
    });
  };
  return {
    specificationVersion: "v3",
    provider: "bench",
    modelId: "m",
    doStream: async ({ prompt }) => ({ stream: streamOf(prompt.length === 1 ? call : answer) }),
  };
}

/** Plays the call once; resolves with the bytes a follower got. */
export function argumentDeltas(count) {
  const noop = tool({
    description: "Does nothing.",
    inputSchema: z.object({ text: z.string() }),
    readOnly: true,
    execute: ({ text }) => text.length,
  });
  const store = memoryStore();
  const agent = defineAgent({ model: model(count), tools: { noop } });
  const toolrun = createToolRun({ agent, store, identify: () => user });
  return async () => {
    const { threadId } = await toolrun.send({ user, message: "go" });
    const response = await toolrun.GET(new Request(`${BASE}/${threadId}/events`));
    const { bytes } = await drain(response);
    await store.remove(threadId);
    return bytes;
  };
}
