import type { StoredEvent, ThreadRead } from "../store/thread-store.ts";
import { fromEntry, fromName, fromWire } from "./redis-entry.ts";
import { evicted } from "./redis-failure.ts";
import type { Run } from "./redis-run.ts";
import { READ } from "./redis-scripts.ts";

/** So that one script never holds up Redis for long. */
export const ENTRIES_PER_SCRIPT = 500;

/** What a script saw of a log: the first events after `from`. */
export interface LogView extends ThreadRead {
  readonly from: number;
  /** The one that ends at the head. */
  readonly batch: string;
}

/**
 * The reply of a view: head, control, where it begins, the snapshot there, entries as id, batch and text by turns, the batch at the head.
 * @throws `misconfigured` when the events do not join on: part of the log is gone
 */
export function toView(reply: readonly unknown[], after: number | undefined): LogView {
  const [head, control, from, snapshot] = [Number(reply[0]), Number(reply[1]), Number(reply[2]), String(reply[3])];
  const entries = reply[4] as readonly unknown[]; // the list that VIEW makes
  const events: StoredEvent[] = [];
  for (let index = 0; index < entries.length; index += 3) {
    const lastSeq = Number.parseInt(String(entries[index]), 10);
    for (const event of fromEntry(String(entries[index + 1]), String(entries[index + 2]), lastSeq)) {
      if (event.seq <= from) continue;
      if (event.seq !== from + events.length + 1) throw evicted();
      events.push(event);
    }
  }
  if (events.length === 0 && from < head) throw evicted();
  const view = { head, control, from, events, batch: fromName(String(reply[5])) };
  if (from === after || from === 0) return view;
  if (snapshot === "") throw evicted();
  return { ...view, snapshot: { seq: from, data: fromWire(snapshot) } };
}

/** Reads on to the head that a view saw; undefined when the log was trimmed meanwhile. */
export async function wholeView(run: Run, keys: readonly string[], view: LogView): Promise<ThreadRead | undefined> {
  const { head, control, snapshot } = view;
  const events = [...view.events];
  for (let at = view.from + events.length; at < head; at = view.from + events.length) {
    const [state, ...reply] = await run(READ, keys, [String(at), String(ENTRIES_PER_SCRIPT), ""]);
    if (state !== "ok") return undefined;
    const next = toView(reply, at);
    if (next.from !== at) return undefined;
    for (const event of next.events) if (event.seq <= head) events.push(event);
  }
  return snapshot ? { head, control, snapshot, events } : { head, control, events };
}
