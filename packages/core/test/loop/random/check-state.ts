import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { parseFrame, reduceFrame, toFrame } from "../../../src/protocol/frame.ts";
import { projectEvent, projectThread } from "../../../src/protocol/project.ts";
import { reduceThread } from "../../../src/protocol/reduce-thread.ts";
import { eventSchemas } from "../../../src/protocol/schemas.ts";
import { parseEvent, serialiseEvent } from "../../../src/protocol/stored-event.ts";
import type { Thread } from "../../../src/protocol/thread.ts";
import { emptyThread } from "../../../src/protocol/thread.ts";
import { viewThread } from "../../../src/protocol/view-thread.ts";
import { plain, sameJson } from "./same-json.ts";
import type { Seen } from "./seen.ts";
import type { Fail } from "./violation.ts";

/** The log is all there is: read again, from anywhere, on the server and in the browser, it gives the same state. */
export function checkState({ threadId, stored, thread }: Seen, fail: Fail): void {
  const events = stored.map(({ seq, data }) => parseEvent(data, seq));
  for (const [index, event] of events.entries()) {
    if (event.seq !== index + 1) {
      fail("replay", `event ${event.seq} is at place ${index + 1}`);
      return;
    }
    const data = stored[index]?.data ?? "";
    if (serialiseEvent(event) !== data) fail("replay", `event ${event.seq} is another one when it is stored again`);
    const fits = eventSchemas[event.type].safeParse(event);
    if (!fits.success) {
      fail("replay", `a ${event.type} that is none: ${fits.error.message}: ${data.slice(0, 500)}`);
      return;
    }
  }
  const middle = Math.floor(events.length / 2);
  const half: Thread = plain(fold(emptyThread(threadId), events.slice(0, middle)));
  const rest = events.slice(middle);
  if (!sameJson(fold(half, rest), thread)) fail("replay", "the log folds to another state");
  const projected = projectThread(thread);
  const screens = [fold(emptyThread(threadId), seenBy(events)), fold(projectThread(half), seenBy(rest))];
  for (const screen of [...screens, overTheWire(emptyThread(threadId), events)]) {
    const { seq, at } = thread;
    const same = { ...screen, seq, at, anomalies: 0 };
    if (!sameJson(same, projected)) fail("replay", "the browser folds to another state");
    if (!sameJson(viewThread(same), viewThread(plain(projected)))) fail("replay", "the screen differs");
  }
  if (viewThread(half).seq !== half.seq) fail("replay", "the view is of another state");
  if (viewThread(thread).pending.length > 0) fail("replay", "the screen asks after the end");
}

function fold(thread: Thread, events: readonly ThreadEvent[]): Thread {
  return events.reduce(reduceThread, thread);
}

function seenBy(events: readonly ThreadEvent[]): readonly ThreadEvent[] {
  return events.flatMap((event) => projectEvent(event) ?? []);
}

/** The browser's fold of frames, as a stream sends them. */
function overTheWire(from: Thread, events: readonly ThreadEvent[]): Thread {
  let thread = from;
  for (let at = 0; at < events.length; at += 3) {
    const range = events.slice(at, at + 3);
    const [first, last] = [range[0], range.at(-1)];
    if (!first || !last) break;
    const frame = parseFrame(JSON.stringify(toFrame(first.seq, last.seq, last.at, seenBy(range))));
    thread = (frame && reduceFrame(thread, frame)) ?? thread;
  }
  return thread;
}
