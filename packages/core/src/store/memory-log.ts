import type { StoredEvent, StoredSnapshot, ThreadRead, ThreadRow } from "./thread-store.ts";

/** One thread in memory. `events` are those after `base`, up to `head`. */
export interface MemoryLog {
  head: number;
  control: number;
  base: number;
  events: StoredEvent[];
  snapshot: StoredSnapshot | undefined;
  lease: { readonly driverId: string; readonly until: number } | null;
  row: ThreadRow | undefined;
}

/** Everything a memory store knows. Plain maps, so that reloaded code can go on with them. */
export interface MemoryData {
  readonly logs: Map<string, MemoryLog>;
  /** When each was removed, oldest first. */
  readonly tombstones: Map<string, number>;
  /** Followers that wait for a change, by thread: there only while they wait. */
  readonly waiters: Map<string, Set<() => void>>;
}

const SHARED = Symbol.for("toolrun.memory");

/** The data of this isolate's shared store. */
export function sharedData(): MemoryData {
  const holder = globalThis as { [SHARED]?: MemoryData }; // our own registered symbol: nobody else writes it
  holder[SHARED] ??= { logs: new Map(), tombstones: new Map(), waiters: new Map() };
  return holder[SHARED];
}

export function emptyLog(): MemoryLog {
  return { head: 0, control: 0, base: 0, events: [], snapshot: undefined, lease: null, row: undefined };
}

/** One consistent view: the events after a cursor, or a snapshot and what came after it. */
export function readLog(log: MemoryLog, after: number | undefined): ThreadRead {
  const { head, control, base, snapshot } = log;
  if (after !== undefined && after >= base && after <= head) {
    return { head, control, events: log.events.slice(after - base) };
  }
  if (!snapshot) return { head, control, events: log.events.slice() };
  return { head, control, snapshot, events: log.events.slice(snapshot.seq - base) };
}

/** True while a thread's tombstone stands; one from `until` or before is forgotten. */
export function isGone(data: MemoryData, id: string, until: number): boolean {
  const removedAt = data.tombstones.get(id);
  if (removedAt === undefined) return false;
  if (removedAt > until) return true;
  data.tombstones.delete(id);
  return false;
}

/** Tells waiting followers to look again. */
export function wake(data: MemoryData, id: string): void {
  const waiters = data.waiters.get(id);
  if (!waiters) return;
  data.waiters.delete(id);
  for (const waiter of waiters) waiter();
}
