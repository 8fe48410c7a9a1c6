import { ToolRunError } from "../errors.ts";
import { followMemory } from "./follow-memory.ts";
import { listMemory } from "./list-memory.ts";
import type { MemoryData, MemoryLog } from "./memory-log.ts";
import { emptyLog, isGone, readLog, sharedData, wake } from "./memory-log.ts";
import type { Append, AppendPosition, AppendResult, LeaseResult, StoredEvent, ThreadStore } from "./thread-store.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

export interface MemoryStoreOptions {
  /**
   * Judges leases and tombstones.
   * @defaultValue the system's clock
   */
  readonly clock?: { now(): number } | undefined;
  /**
   * How long a removed thread's id stays refused.
   * @defaultValue 7 days
   */
  readonly tombstoneMs?: number | undefined;
  /**
   * One set of threads for everybody in this isolate, so that they survive a hot reload and several route
   * modules see the same ones. Without it each store has its own.
   * @defaultValue false
   */
  readonly shared?: boolean | undefined;
}

/**
 * Threads in this process's memory: the reference implementation of the store contract and the default
 * in development. Every method does its work in one synchronous step, which is what makes it atomic.
 */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  const { clock = { now: () => Date.now() }, tombstoneMs = WEEK_MS, shared = false } = options;
  const data: MemoryData = shared ? sharedData() : { logs: new Map(), tombstones: new Map(), waiters: new Map() };
  const gone = (id: string): boolean => isGone(data, id, clock.now() - tombstoneMs);

  return {
    async read(id, after) {
      if (gone(id)) return { gone: true };
      const log = data.logs.get(id);
      return log ? readLog(log, after) : null;
    },
    async append(id, position, append) {
      if (append.events.length === 0) {
        throw new ToolRunError("internal", `append to thread "${id}" has no events; give it at least one.`);
      }
      if (gone(id)) return { status: "gone" };
      const log = data.logs.get(id) ?? emptyLog();
      const result = appendTo(log, position, append, clock.now());
      if (result.status === "ok") {
        data.logs.set(id, log);
        wake(data, id);
      }
      return result;
    },
    follow(id, after, signal) {
      return followMemory(data, id, after, signal);
    },
    async lease(id, driverId, ttlMs) {
      const log = gone(id) ? undefined : data.logs.get(id);
      return log ? renew(log, driverId, ttlMs, clock.now()) : { status: "lost" };
    },
    async list(owner, cursor, filter) {
      return listMemory(data, owner, cursor, filter);
    },
    async remove(id) {
      const now = clock.now();
      for (const [old, removedAt] of data.tombstones) {
        if (removedAt > now - tombstoneMs) break; // in order of removal
        data.tombstones.delete(old);
      }
      if (!data.logs.delete(id)) return;
      data.tombstones.set(id, now);
      wake(data, id);
    },
  };
}

/** Compare, sequence numbers, events, control, lease, snapshot with its trim, and row: all or nothing. */
function appendTo(log: MemoryLog, position: AppendPosition, append: Append, now: number): AppendResult {
  const [expected, actual] = "at" in position ? [position.at, log.head] : [position.atControl, log.control];
  // Before the lease: a claim sent again after a lost reply must learn that its batch is in the log.
  if (expected !== actual) return { status: "conflict", ...readLog(log, expected) };
  const claim = append.lease && "driverId" in append.lease ? append.lease : undefined;
  if (claim && log.lease && log.lease.driverId !== claim.driverId && log.lease.until > now) {
    return { status: "held", until: log.lease.until };
  }
  const first = log.head + 1;
  for (const { control, data } of append.events) {
    const event: StoredEvent = { seq: ++log.head, batch: append.batch, control, data };
    log.events.push(event);
    if (control) log.control = event.seq;
  }
  if (claim) log.lease = { driverId: claim.driverId, until: now + claim.ttlMs };
  else if (append.lease && "release" in append.lease && log.lease?.driverId === append.lease.release) log.lease = null;
  if (append.snapshot !== undefined) takeSnapshot(log, append.snapshot);
  if (append.row) log.row = { ...append.row };
  return { status: "ok", first, head: log.head };
}

/** Events after the previous snapshot stay: whoever read it just now still joins on. */
function takeSnapshot(log: MemoryLog, data: string): void {
  if (log.snapshot) {
    log.events = log.events.slice(log.snapshot.seq - log.base);
    log.base = log.snapshot.seq;
  }
  log.snapshot = { seq: log.head, data };
}

function renew(log: MemoryLog, driverId: string, ttlMs: number, now: number): LeaseResult {
  if (log.lease?.driverId !== driverId || log.lease.until <= now) return { status: "lost" };
  log.lease = { driverId, until: now + ttlMs };
  return { status: "ok", head: log.head, control: log.control };
}
