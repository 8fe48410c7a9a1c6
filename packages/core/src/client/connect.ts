import { createParser } from "eventsource-parser";
import type { Frame } from "../protocol/frame.ts";
import { parseFrame } from "../protocol/frame.ts";
import type { Refusal, WireOptions } from "./post.ts";
import { parseJson, readReply, send, utf8 } from "./post.ts";

/** Larger than any batch the server sends; a bigger `reset` is fetched as a snapshot instead. */
const BUFFER_LIMIT = 8_000_000;

/**
 * How a stream ended: `closed` by the server, `lost`, `handover` (another request goes on), `gap`
 * (what came does not join on: read the thread again), `removed`, or refused before it began.
 */
export type StreamEnd = "closed" | "lost" | "handover" | "gap" | "removed" | Refusal;

/** Who hears a stream. Frames and snapshots answer false when they do not join on. */
export interface StreamListener {
  onBytes(): void;
  onFrame(frame: Frame): boolean;
  onReset(body: unknown): boolean;
  /** Nothing more is wanted: the thread rests. */
  isOver(): boolean;
}

/** Hears of each event as it came, once it was taken. */
export type EventTap = (event: string | undefined, data: string) => void;

/** Opens one stream, at where `path` says then, and reads it to its end. Never throws. */
export type Connect = (
  wire: WireOptions,
  path: () => string,
  signal: AbortSignal,
  listener: StreamListener,
  tap?: EventTap,
) => Promise<StreamEnd>;

/** The stream of this tab itself. */
export const connect: Connect = async (wire, path, signal, listener, tap) => {
  let end: StreamEnd | undefined;
  const parser = createParser({
    maxBufferSize: BUFFER_LIMIT,
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") end ??= "gap";
    },
    onEvent: ({ event, data }) => {
      if (end) return;
      end = handle(event, data, listener);
      if (!end) tap?.(event, data);
    },
  });
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    const response = await send(wire, path(), signal);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (!response.ok || !isStream || !response.body) {
      const reply = await readReply(response);
      return reply.ok ? "lost" : reply;
    }
    const decoder = utf8();
    reader = response.body.getReader(); // WebKit cannot iterate a body
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) return "lost";
      if (done) return "closed";
      listener.onBytes();
      parser.feed(decoder.decode(value, { stream: true }));
      if (end) return end;
    }
  } catch {
    return "lost";
  } finally {
    reader?.cancel().catch(() => {}); // already closed, or the connection is dead
  }
};

/** Takes one event; what it answers ends the stream. */
export function handle(event: string | undefined, data: string, listener: StreamListener): StreamEnd | undefined {
  if (event === "handover" || event === "removed") return event;
  if (event === "reset") return listener.onReset(parseJson(data)) ? undefined : "gap";
  if (event !== undefined && event !== "message") return undefined; // of a newer server
  const frame = parseFrame(data);
  return frame && listener.onFrame(frame) ? undefined : "gap";
}
