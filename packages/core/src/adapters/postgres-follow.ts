import { isToolRunError, ToolRunError } from "../errors.ts";
import type { FollowChange, ThreadRead } from "../store/thread-store.ts";
import { oneByOne } from "./one-by-one.ts";
import type { Hub } from "./postgres-hub.ts";
import type { Hubs } from "./postgres-hubs.ts";
import { after } from "./timer.ts";

/** What a follower reads: nothing yet, a tombstone, or what is behind its cursor. */
export type FollowRead = Omit<ThreadRead, "control"> | { readonly gone: true } | null;

/** A database that fails over is away for some seconds: followers wait that long before they give up. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 250;
/** So long a look or a read may stay unanswered before a follower helps itself. */
const GUARD_MS = 5000;

/**
 * Follows a log by a cursor: nothing is queued for anybody. It reads, hands on what it read, and waits when it has
 * read all that is known; a hint only ever makes it read again.
 */
export function followPostgres(
  hubs: Hubs,
  { id, after: from, signal }: { readonly id: string; readonly after: number; readonly signal: AbortSignal },
  readAfter: (cursor: number) => Promise<FollowRead>,
): AsyncIterableIterator<FollowChange> {
  let cursor = from;
  let hub: Hub | undefined;
  let isOver = false;
  /** The hub's version at which there was nothing behind the cursor. */
  let quietAt = -1;
  let failingSince: number | undefined;
  /** Gives up the read that is under way; null while there is none. */
  let abandon: { readonly since: number; now(): void } | null = null;
  /** The next read is this follower's own: the one it shared was never answered. */
  let isAlone = false;
  let cancelGuard = (): void => {};
  const stops = new Set<() => void>();

  const end = (): void => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener("abort", end);
    cancelGuard();
    for (const stop of stops) stop();
    hub?.leave();
  };

  /** A promise that a stop settles too. Not Promise.race: that keeps a reaction on a long-lived promise each time. */
  const unlessOver = <Value>(start: (resolve: (value: Value | undefined) => void) => () => void) =>
    new Promise<Value | undefined>((resolve) => {
      const done = (value: Value | undefined): void => {
        if (!stops.delete(stop)) return; // an answer that comes too late
        cleanUp();
        resolve(value);
      };
      const stop = (): void => done(undefined);
      stops.add(stop);
      const cleanUp = start(done);
    });

  const changed = (joined: Hub): Promise<unknown> =>
    unlessOver<true>((resolve) => {
      const onChange = (): void => resolve(true);
      joined.onChange(onChange);
      return () => joined.offChange(onChange);
    });

  /** Undefined when it is over, or has to be tried again. */
  const read = async (joined: Hub): Promise<{ readonly read: FollowRead } | undefined> => {
    const events = joined.written(cursor);
    if (events) return { read: { head: cursor + events.length, events } };
    const since = performance.now();
    const ask = (): Promise<FollowRead> => readAfter(cursor);
    const question = isAlone ? ask() : joined.shared(String(cursor), ask);
    const answer = await unlessOver<{ read: FollowRead } | { error: unknown }>((resolve) => {
      abandon = { since, now: () => resolve({ error: unanswered() }) };
      question.then(
        (value) => resolve({ read: value }),
        (error: unknown) => resolve({ error }),
      );
      return () => {
        abandon = null;
      };
    });
    if (!answer) return undefined;
    isAlone = false;
    if ("read" in answer) {
      failingSince = undefined;
      joined.saw(endOf(answer.read));
      return answer;
    }
    failingSince ??= since;
    const isPassing = isToolRunError(answer.error) && answer.error.code === "unavailable";
    if (!isPassing || performance.now() > failingSince + PATIENCE_MS) throw answer.error;
    isAlone = true;
    await unlessOver<true>((resolve) => after(RETRY_MS, () => resolve(true)));
    return undefined;
  };

  const guard = (joined: Hub): void => {
    cancelGuard = after(GUARD_MS, () => {
      if (abandon === null) joined.nudge();
      else if (performance.now() >= abandon.since + GUARD_MS) abandon.now();
      guard(joined);
    });
  };

  const next = async (): Promise<FollowChange | undefined> => {
    if (signal.aborted) end();
    while (!isOver) {
      if (!hub) {
        hub = hubs.join(id);
        guard(hub);
        signal.addEventListener("abort", end);
      }
      const { version } = hub;
      if (quietAt === version) {
        await changed(hub);
        continue;
      }
      const answer = await read(hub);
      if (!answer) continue;
      const change = changeIn(answer.read, cursor);
      if (change?.type === "events") {
        cursor += change.events.length;
        if (endOf(answer.read) === cursor) quietAt = version;
        return change;
      }
      if (change) {
        end();
        return change;
      }
      quietAt = version;
    }
    return undefined;
  };

  const step = async (): Promise<IteratorResult<FollowChange>> => {
    try {
      const value = await next();
      return value ? { done: false, value } : { done: true, value: undefined };
    } catch (error) {
      end();
      throw error;
    }
  };
  return oneByOne(step, end);
}

function unanswered(): ToolRunError {
  return new ToolRunError("unavailable", "The database did not answer in time; try again.");
}

function endOf(read: FollowRead): number | "removed" | undefined {
  if (read === null) return undefined;
  return "gone" in read ? "removed" : read.head;
}

function changeIn(read: FollowRead, cursor: number): FollowChange | undefined {
  if (read === null) return cursor > 0 ? { type: "reset" } : undefined;
  if ("gone" in read) return { type: "removed" };
  // A failover lost writes, or a snapshot trimmed past the cursor.
  if (cursor > read.head || read.snapshot) return { type: "reset" };
  return read.events.length > 0 ? { type: "events", events: read.events } : undefined;
}
