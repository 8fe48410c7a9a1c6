import { setTimeout as sleep } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { canonicalJson } from "../../src/protocol/digest.ts";
import { eventsOf, parseFrame } from "../../src/protocol/frame.ts";
import type { HttpUser } from "./http-user.ts";

/** What one follower got of a thread, over all its streams. */
export interface Follower {
  /** Every event as canonical JSON, in the order it came. */
  readonly events: readonly string[];
  /** Seq up to which it knows the log. */
  readonly seq: number;
  readonly streams: number;
  /** Gaps, repetitions, resets. */
  readonly wrong: readonly string[];
  /** Resolves when it has seen the log up to a seq; with false when it does not get there in time. */
  sees(seq: number): Promise<boolean>;
  close(): Promise<void>;
}

const SILENT_MS = 2_500;

/** Follows a thread as a page does: each stream goes on behind the last event of the one before. */
export function follow(user: HttpUser, threadId: string, deadline: number): Follower {
  const events: string[] = [];
  const wrong: string[] = [];
  let seq = 0;
  let streams = 0;
  let stream = new AbortController();
  let isClosed = false;

  const onEvent = ({
    event,
    data,
    id,
  }: {
    event?: string | undefined;
    data: string;
    id?: string | undefined;
  }): void => {
    if (event === "handover") return;
    const frame = event === undefined ? parseFrame(data) : undefined;
    if (!frame) return void wrong.push(`${event ?? "no frame"} at ${seq}: ${data.slice(0, 200)}`);
    if (frame.from !== seq + 1) wrong.push(`after ${seq} came ${frame.from} to ${frame.to}`);
    if (id !== String(frame.to)) wrong.push(`the id ${id} of a frame to ${frame.to}`);
    seq = frame.to;
    events.push(...eventsOf(frame).map((each) => canonicalJson(each)));
  };

  const readStream = async (): Promise<void> => {
    streams++;
    stream = new AbortController();
    const headers = { "x-user": user.id, "last-event-id": String(seq) };
    let silent = setTimeout(() => stream.abort(), SILENT_MS);
    try {
      const response = await fetch(`${user.url}/${threadId}/events`, { headers, signal: stream.signal });
      if (!response.ok || !response.body) return;
      const parser = createParser({ onEvent });
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        clearTimeout(silent);
        silent = setTimeout(() => stream.abort(), SILENT_MS);
        parser.feed(decoder.decode(chunk, { stream: true }));
      }
    } catch {
      // cut, or its server is dead: what came of an event that is not whole does not count
    } finally {
      clearTimeout(silent);
    }
  };

  const work = (async () => {
    while (!isClosed && Date.now() < deadline) {
      await readStream();
      await sleep(60);
    }
  })();
  return {
    events,
    wrong,
    get seq() {
      return seq;
    },
    get streams() {
      return streams;
    },
    async sees(target) {
      while (seq < target && Date.now() < deadline) await sleep(20);
      return seq >= target;
    },
    async close() {
      isClosed = true;
      stream.abort();
      await work;
    },
  };
}
