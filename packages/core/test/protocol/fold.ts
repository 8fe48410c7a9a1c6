import type { ThreadEvent } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";

export function fold(events: readonly ThreadEvent[], from: Thread = emptyThread("t")): Thread {
  return events.reduce(reduceThread, from);
}

/** Without undefined fields: what a snapshot or the wire keeps. */
export function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}
