import { isAtRest } from "../loop/next-action.ts";
import type { ThreadEvent } from "../protocol/event.ts";
import type { Frame } from "../protocol/frame.ts";
import { toFrame } from "../protocol/frame.ts";
import { projectEvent } from "../protocol/project.ts";
import { reduceThread } from "../protocol/reduce-thread.ts";
import { parseEvent } from "../protocol/stored-event.ts";
import type { Thread } from "../protocol/thread.ts";
import type { StoredEvent } from "../store/thread-store.ts";
import type { Engine } from "./engine.ts";
import type { OpenThread } from "./thread-log.ts";
import { readThread } from "./thread-log.ts";

/** What a follower gets: ranges of the log, or that it has to start over. */
export type Followed =
  | {
      readonly type: "events";
      /** The cursor before them. */
      readonly after: number;
      readonly events: readonly ThreadEvent[];
      /** The thread with them. */
      readonly thread: Thread;
    }
  | { readonly type: "reset"; readonly open: OpenThread }
  | { readonly type: "removed" };

/** Everything after a cursor, until the thread is at rest, removed, or the signal aborts. */
export async function* followThread(
  engine: Engine,
  open: OpenThread,
  after: number,
  stored: readonly StoredEvent[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<Followed, void, undefined> {
  let thread = open.thread;
  if (stored === undefined) yield { type: "reset", open };
  else if (after < thread.seq) yield { type: "events", after, events: parseAll(stored, after), thread };
  while (!isAtRest(thread) && !signal.aborted) {
    let restarted = false;
    for await (const change of engine.store.follow(thread.id, thread.seq, signal)) {
      if (change.type === "removed") return yield { type: "removed" };
      if (change.type === "reset") {
        restarted = true;
        break;
      }
      const before = thread.seq;
      const read = foldOn(engine, thread, change.events);
      thread = read.thread;
      if (thread.seq > before) yield { type: "events", after: before, ...read };
      if (isAtRest(thread)) return;
    }
    if (!restarted) return;
    const again = await readThread(engine, thread.id);
    if (!again) return yield { type: "removed" };
    thread = again.thread;
    yield { type: "reset", open: again };
  }
}

/** Joins stored events to a thread; whole batches of this process are taken as they were made. */
function foldOn(
  engine: Engine,
  from: Thread,
  stored: readonly StoredEvent[],
): { readonly events: readonly ThreadEvent[]; readonly thread: Thread } {
  const events: ThreadEvent[] = [];
  let thread = from;
  for (let index = 0; index < stored.length; ) {
    const { seq, batch, data } = stored[index] as StoredEvent; // index is within the list
    const known = engine.recent.get(batch);
    if (known && seq === thread.seq + 1 && known.thread.seq < seq + stored.length - index) {
      events.push(...known.events);
      thread = known.thread;
      index += known.events.length;
      continue;
    }
    index++;
    if (seq <= thread.seq) continue;
    const event = parseEvent(data, seq);
    events.push(event);
    thread = reduceThread(thread, event);
  }
  return { events, thread };
}

function parseAll(stored: readonly StoredEvent[], after: number): readonly ThreadEvent[] {
  return stored.filter(({ seq }) => seq > after).map(({ seq, data }) => parseEvent(data, seq));
}

/** Covers every seq since the cursor, also those of events that stay on the server. */
export function frameOf({ after, events, thread }: Followed & { readonly type: "events" }): Frame {
  const open = events.map(projectEvent).filter((event) => event !== undefined);
  return toFrame(after + 1, thread.seq, thread.at, open);
}
