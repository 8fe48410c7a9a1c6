/** One stored event. `data` is opaque text, kept byte-exact; the store reads nothing in it. */
export interface StoredEvent {
  readonly seq: number;
  /** The append it came with; how a writer knows its own batch again after a lost reply. */
  readonly batch: string;
  /** Control events move `control`; deltas and progress do not. */
  readonly control: boolean;
  readonly data: string;
}

/** The folded thread at a seq, as opaque text. */
export interface StoredSnapshot {
  readonly seq: number;
  readonly data: string;
}

/** A thread's line in its owner's list, written with an append. The only thing that may lag. */
export interface ThreadRow {
  readonly id: string;
  readonly owner: string;
  readonly title: string;
  readonly status: "idle" | "running" | "waiting" | "ended";
  /** Steps that wait for a person. */
  readonly pending: number;
  /** When `sweep` should look at it, ms since the epoch. */
  readonly dueAt?: number | undefined;
  readonly updatedAt: number;
}

/** Where an append must land: exactly at the head, or at the last control event. */
export type AppendPosition = { readonly at: number } | { readonly atControl: number };

export interface Append {
  /** The same bytes sent again carry the same batch. */
  readonly batch: string;
  readonly events: readonly Pick<StoredEvent, "control" | "data">[];
  /** Claim or keep the lease, or release one's own (`driverId`). */
  readonly lease?: { readonly driverId: string; readonly ttlMs: number } | { readonly release: string } | undefined;
  /** Replaces the snapshot; events up to the previous snapshot are trimmed. `seq` is this append's last. */
  readonly snapshot?: string | undefined;
  readonly row?: ThreadRow | undefined;
}

export type AppendResult =
  | { readonly status: "ok"; readonly first: number; readonly head: number }
  /** Somebody was faster: `events` is everything after the position (a snapshot first when that was trimmed). */
  | ({ readonly status: "conflict" } & ThreadRead)
  /** Another driver's lease is valid until `until` (the store's clock). Nothing was written. */
  | { readonly status: "held"; readonly until: number }
  | { readonly status: "gone" };

/** One consistent view of a log. */
export interface ThreadRead {
  readonly head: number;
  /** Seq of the last control event. */
  readonly control: number;
  /** Present when the cursor is missing, before the base or beyond the head. */
  readonly snapshot?: StoredSnapshot | undefined;
  /** Events after the cursor, else after the snapshot, else all. */
  readonly events: readonly StoredEvent[];
}

export type FollowChange =
  | { readonly type: "events"; readonly events: readonly StoredEvent[] }
  /** The cursor was trimmed away or is beyond the head: read again. */
  | { readonly type: "reset" }
  | { readonly type: "removed" };

export type LeaseResult =
  | { readonly status: "ok"; readonly head: number; readonly control: number }
  | { readonly status: "lost" };

export interface ThreadFilter {
  readonly status?: ThreadRow["status"] | undefined;
  /** Only rows that are due at this time, or whose run is running (for `sweep`). */
  readonly dueBefore?: number | undefined;
  /** At most this many rows, 50 by default. */
  readonly limit?: number | undefined;
}

export interface ThreadPage {
  readonly rows: readonly ThreadRow[];
  /** Pass it back for the next page; absent on the last. */
  readonly cursor?: string | undefined;
}

/**
 * Where logs live: six methods, none optional. A store never folds events; compare-and-set, sequence
 * numbers, lease, snapshot and row of one append are one atomic step.
 */
export interface ThreadStore {
  /** Null when there is no such thread; gone when it was removed. */
  read(id: string, after?: number | undefined): Promise<ThreadRead | { readonly gone: true } | null>;
  append(id: string, position: AppendPosition, append: Append): Promise<AppendResult>;
  /** At least once, in order, without a hole; ends with the signal. */
  follow(id: string, after: number, signal: AbortSignal): AsyncIterable<FollowChange>;
  /** Renews a lease that is still one's own; never claims. */
  lease(id: string, driverId: string, ttlMs: number): Promise<LeaseResult>;
  /** The owner's threads, last changed first; without an owner everybody's (for `sweep`). */
  list(owner: string | undefined, cursor?: string | undefined, filter?: ThreadFilter | undefined): Promise<ThreadPage>;
  /** Leaves a tombstone for at least 7 days: appends are refused, followers get `removed`. */
  remove(id: string): Promise<void>;
}
