import { createParser } from "eventsource-parser";
import type { Frame } from "../protocol/frame.ts";
import { parseFrame, reduceFrame } from "../protocol/frame.ts";
import type { Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
import type { SnapshotBody } from "../server/snapshot-body.ts";
import { check, within } from "./store-case.ts";

/** One event stream, read as a browser reads it: every frame must join on to the one before. */
export interface EventStream {
  readonly response: Response;
  /** Comments so far. */
  readonly comments: readonly string[];
  /** Frames so far: the id each came with, and the thread with it. */
  readonly seen: readonly { readonly id: string; readonly frame: Frame; readonly thread: Thread }[];
  /** Names of the named events so far, such as `handover`. */
  readonly names: readonly string[];
  /** The thread with everything that arrived; of a stream from a cursor, the thread that was handed in. */
  readonly thread: Thread;
  /** Reads on until it holds; fails where the stream ends before. */
  until(what: string, holds: (stream: EventStream) => boolean): Promise<void>;
  /** Reads to the end. */
  rest(): Promise<Thread>;
  /** Leaves, as a tab that is closed. */
  leave(): void;
}

export interface StreamSource {
  readonly response: Response;
  /** What the reader knows already. */
  readonly from: Thread;
  readonly patienceMs: number;
  leave(): void;
}

export function readEvents({ response, from, patienceMs, leave }: StreamSource): EventStream {
  check(response.body !== null, "a stream has a body");
  const reader = response.body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const comments: string[] = [];
  const seen: EventStream["seen"][number][] = [];
  const names: string[] = [];
  let thread = from;

  const parser = createParser({
    onComment: (comment) => void comments.push(comment),
    onEvent: ({ event, id, data }) => {
      if (event) names.push(event);
      if (event === "reset") thread = (JSON.parse(data) as SnapshotBody).thread; // what our own server sent
      if (event) return;
      const frame = parseFrame(data);
      check(frame !== undefined, `not a frame: ${data.slice(0, 200)}`);
      check(frame.from === thread.seq + 1, `a frame from ${frame.from} after ${thread.seq}`);
      check(id !== undefined && id === String(frame.to), `the frame to ${frame.to} has the id ${id}`);
      thread = reduceFrame(thread, frame) ?? thread;
      seen.push({ id, frame, thread });
    },
  });

  const readOn = async (what: string): Promise<boolean> => {
    const { done, value } = await within({ patienceMs }, what, reader.read());
    if (!done) parser.feed(decoder.decode(value, { stream: true }));
    return !done;
  };

  const stream: EventStream = {
    response,
    comments,
    seen,
    names,
    get thread() {
      return thread;
    },
    async until(what, holds) {
      while (!holds(stream)) check(await readOn(what), `${what}: the stream ended before`);
    },
    async rest() {
      while (await readOn("the end of a stream"));
      return thread;
    },
    leave,
  };
  return stream;
}

/** True where nothing happens before somebody writes: where it is false, a stream that ended is opened again. */
export function isAtRest(thread: Thread): boolean {
  return thread.seq > 0 && rootOf(thread)?.status !== "running";
}
