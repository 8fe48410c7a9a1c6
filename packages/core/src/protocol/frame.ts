import type { ThreadEvent } from "./event.ts";
import { PROTOCOL_VERSION } from "./event.ts";
import { reduceThread } from "./reduce-thread.ts";
import type { Thread } from "./thread.ts";

/** An event on the wire: what its frame says already (seq, at, runId, v) is left out. */
type WireEvent = Record<string, unknown> & { readonly type: string };

/**
 * A range of the log on the wire. It covers every seq from `from` to `to`, also those whose events may
 * not leave the server: a hole between two frames is a loss, a dropped event is not.
 */
export interface Frame {
  readonly from: number;
  readonly to: number;
  /** Time of the last event covered. */
  readonly at: number;
  readonly runId?: string | undefined;
  readonly events: readonly WireEvent[];
}

/** Events of an attempt. A first one goes without saying; 0 stands for none. */
const HAVE_ATTEMPTS: ReadonlySet<string> = new Set([
  "turn-started",
  "text-added",
  "part-added",
  "turn-ended",
  "call-proposed",
  "call-started",
  "call-progressed",
  "attempt-failed",
  "call-interrupted",
  "call-settled",
]);

/** Packs projected events that cover `from` to `to`. */
export function toFrame(from: number, to: number, at: number, events: readonly ThreadEvent[]): Frame {
  const runId = events.find((event) => event.runId !== undefined)?.runId;
  let expected = from;
  const packed = events.map((event) => {
    const { seq, at: when, v, runId: run, epoch, ...body } = event;
    const wire: Record<string, unknown> = body;
    if (seq !== expected) wire.seq = seq;
    if (when !== at) wire.at = when;
    if (run !== runId) wire.runId = run ?? null;
    if (v !== PROTOCOL_VERSION) wire.v = v;
    if (HAVE_ATTEMPTS.has(event.type)) wire.attempt = wire.attempt === 1 ? undefined : (wire.attempt ?? 0);
    expected = seq + 1;
    return wire as WireEvent; // body carries its type
  });
  return runId === undefined ? { from, to, at, events: packed } : { from, to, at, runId, events: packed };
}

/** The events of a frame, whole again. */
export function eventsOf(frame: Frame): ThreadEvent[] {
  let expected = frame.from;
  return frame.events.map((wire) => {
    const { seq = expected, at = frame.at, runId = frame.runId, v = PROTOCOL_VERSION, ...body } = wire;
    expected = (seq as number) + 1; // checked by parseFrame
    if (HAVE_ATTEMPTS.has(wire.type)) body.attempt = body.attempt === 0 ? undefined : (body.attempt ?? 1);
    const envelope = runId === null || runId === undefined ? { seq, at, v } : { seq, at, v, runId };
    return { ...body, ...envelope } as ThreadEvent; // unknown kinds are passed by the reducer
  });
}

/** Folds a frame; `undefined` when it does not join on (a gap: read the thread again). */
export function reduceFrame(thread: Thread, frame: Frame): Thread | undefined {
  if (frame.to <= thread.seq) return thread;
  if (frame.from > thread.seq + 1) return undefined;
  let next = thread;
  for (const event of eventsOf(frame)) next = reduceThread(next, event);
  return { ...next, seq: frame.to, at: Math.max(next.at, frame.at) };
}

/** Reads a frame from the wire; undefined when the text is none. */
export function parseFrame(text: string): Frame | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { from, to, at, events } = value as Partial<Frame>; // each field is checked on the next line
  if (!isCount(from) || !isCount(to) || from > to || typeof at !== "number" || !Array.isArray(events)) return undefined;
  return coverInOrder(events, from, to) ? (value as Frame) : undefined; // shape checked above
}

/** An event outside the range would move the reader past what it has not seen. */
function coverInOrder(events: readonly unknown[], from: number, to: number): boolean {
  let last = from - 1;
  return events.every((event) => {
    if (!isWireEvent(event)) return false;
    const seq = event.seq ?? last + 1;
    if (!isCount(seq) || seq <= last || seq > to) return false;
    last = seq;
    return true;
  });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isWireEvent(value: unknown): value is WireEvent {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
