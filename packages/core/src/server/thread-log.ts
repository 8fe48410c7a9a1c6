import type { EventDraft, ThreadEvent } from "../protocol/event.ts";
import { isControl } from "../protocol/event.ts";
import { reduceThread } from "../protocol/reduce-thread.ts";
import { sealEvent } from "../protocol/seal-event.ts";
import { parseEvent, serialiseEvent } from "../protocol/stored-event.ts";
import type { Thread } from "../protocol/thread.ts";
import { emptyThread, openAsk, rootOf } from "../protocol/thread.ts";
import { parseState } from "../protocol/upgrade-state.ts";
import type { Append, StoredEvent, ThreadRead, ThreadRow } from "../store/thread-store.ts";
import type { Engine } from "./engine.ts";

/** A folded log and where it stands in the store. */
export interface OpenThread {
  readonly thread: Thread;
  /** Seq of the last control event: where a poster appends. */
  readonly control: number;
  readonly size: LogSize;
}

/** What a reader of a log has to load: the snapshot, and what came since. */
export interface LogSize {
  readonly events: number;
  readonly chars: number;
  /** Characters of the snapshot. */
  readonly base: number;
}

export const EMPTY_LOG: LogSize = { events: 0, chars: 0, base: 0 };

/** A log with more events in it. */
export function grown(size: LogSize, events: readonly { readonly data: string }[]): LogSize {
  return {
    events: size.events + events.length,
    chars: events.reduce((sum, { data }) => sum + data.length, size.chars),
    base: size.base,
  };
}

const SNAPSHOT_EVERY_EVENTS = 500;
const SNAPSHOT_EVERY_CHARS = 256 * 1024;

/** True when a snapshot would spare a reader enough. */
export function wantsSnapshot({ events, chars }: LogSize): boolean {
  return events >= SNAPSHOT_EVERY_EVENTS || chars >= SNAPSHOT_EVERY_CHARS;
}

const MAX_LOG_CHARS = 32 * 1024 * 1024;

/** True when a log takes no more work: every later reader would pay for it. */
export function isFull({ chars, base }: LogSize): boolean {
  return chars + base >= MAX_LOG_CHARS;
}

/** Folds a thread's log; null for one that never was or was removed. */
export async function readThread(engine: Engine, id: string): Promise<OpenThread | null> {
  const read = await engine.store.read(id);
  if (read === null || "gone" in read) return null;
  return openRead(emptyThread(id), read);
}

/** Joins what a store returned to what is folded already. */
export function openRead(thread: Thread, read: ThreadRead, before: LogSize = EMPTY_LOG): OpenThread {
  const base =
    read.snapshot && read.snapshot.seq > thread.seq ? parseState(read.snapshot.data, read.snapshot.seq) : thread;
  const news = read.events.filter(({ seq }) => seq > thread.seq);
  const size = read.snapshot ? { ...EMPTY_LOG, base: read.snapshot.data.length } : before;
  return { thread: foldStored(base, read.events), control: read.control, size: grown(size, news) };
}

/** Folds stored events; what is folded already is passed over. */
export function foldStored(thread: Thread, events: readonly StoredEvent[]): Thread {
  let next = thread;
  for (const { seq, data } of events) if (seq > next.seq) next = reduceThread(next, parseEvent(data, seq));
  return next;
}

/** Gives drafts their places behind a thread and folds them. */
export function sealAll(
  thread: Thread,
  drafts: readonly EventDraft[],
  now: number,
): { readonly events: readonly ThreadEvent[]; readonly thread: Thread } {
  const events: ThreadEvent[] = [];
  let next = thread;
  for (const draft of drafts) {
    const event = sealEvent(draft, next.seq + 1, Math.max(now, next.at));
    events.push(event);
    next = reduceThread(next, event);
  }
  return { events, thread: next };
}

/** Events as an append takes them. */
export function toStored(events: readonly ThreadEvent[]): Append["events"] {
  return events.map((event) => ({ control: isControl(event), data: serialiseEvent(event) }));
}

/** True when a batch is among the events of a conflict: the reply was lost, the write was not. */
export function hasBatch(events: readonly StoredEvent[], batch: string): boolean {
  return events.some((event) => event.batch === batch);
}

/** The thread's line in its owner's list. */
export function rowOf(thread: Thread): ThreadRow {
  const root = rootOf(thread);
  const pending = thread.active.flatMap((run) => run.turn?.calls ?? []).filter((call) => openAsk(call)).length;
  const status = root ? root.status : thread.runs.length > 0 ? "ended" : "idle";
  const { id, owner, title, at } = thread;
  return { id, owner, title, status, pending, dueAt: root?.dueAt, updatedAt: at };
}
