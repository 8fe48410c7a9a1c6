// A log of text deltas for the two halves of a reader: bytes to frames, events to a thread.
import { connect } from "../packages/core/src/client/connect.ts";
import { toFrame } from "../packages/core/src/protocol/frame.ts";
import { reduceThread } from "../packages/core/src/protocol/reduce-thread.ts";
import { emptyThread } from "../packages/core/src/protocol/thread.ts";

/** A run whose answer is `count` deltas, one event and one frame each. */
export function textLog(count) {
  const run = { runId: "run", at: 1, v: 1 };
  const start = { type: "run-started", trigger: "message", depth: 0, agentVersion: "1" };
  const bodies = [start, { type: "turn-started", turn: 1, attempt: 1, model: "bench" }];
  for (let index = 0; index < count; index++) bodies.push({ type: "text-added", turn: 1, attempt: 1, text: "abcd" });
  const events = bodies.map((body, index) => ({ ...body, ...run, seq: index + 1 }));
  const frames = events.map((event) => toFrame(event.seq, event.seq, event.at, [event]));
  const sse = frames.map((frame) => `id: ${frame.to}\ndata: ${JSON.stringify(frame)}\n\n`).join("");
  return { events, bytes: new TextEncoder().encode(sse) };
}

export function foldLog({ events }) {
  let thread = emptyThread("bench");
  for (const event of events) thread = reduceThread(thread, event);
  if (thread.anomalies > 0) throw new Error(`The log has ${thread.anomalies} anomalies.`);
  return thread;
}

/** Reads the log's bytes, `size` at a time, with the browser's own connection. */
export async function decodeLog({ events, bytes }, size) {
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
  });
  let frames = 0;
  const headers = { "content-type": "text/event-stream" };
  const wire = { endpoint: "", fetch: async () => new Response(body, { headers }) };
  const end = await connect(wire, "/threads", new AbortController().signal, {
    onBytes() {},
    onFrame() {
      frames++;
      return true;
    },
    onReset: () => false,
  });
  if (end !== "closed" || frames !== events.length) throw new Error(`${frames} frames, then ${JSON.stringify(end)}.`);
}
