import type { AppendResult, LeaseResult, ThreadStore } from "../../src/store/thread-store.ts";

/**
 * How one store call ends. `lost`: applied, the caller gets an error. `late`: the caller gets an error now, and
 * the call is applied some time later. `slow`: applied now, the answer arrives later. `fail`: nothing happened.
 */
export type Delivery = "ok" | "lost" | "late" | "slow" | "fail";

/** A call on its way to the store, or an answer on its way back. */
export interface PendingCall {
  readonly label: string;
  readonly server: string;
  readonly writes: boolean;
  /** Applied already: what is pending is its answer. */
  readonly answering: boolean;
  deliver(how: Delivery): void;
  /** Applies it for a caller that does not live any more. */
  applyOnly(): void;
}

/** What the world learns of calls. */
export interface StoreWatcher {
  /** A call was made: it waits until the scheduler delivers it. */
  onCall(call: PendingCall): void;
  /** A write nobody waits for any more, that may still arrive. */
  onGhost(ghost: PendingCall): void;
  onApplied(applied: AppliedAppend): void;
  onLease(id: string, driverId: string, ttlMs: number, result: LeaseResult): void;
  /** An answer reached a server. */
  onAnswer(server: string, text: string): void;
}

export interface AppliedAppend {
  readonly server: string;
  readonly id: string;
  readonly position: Parameters<ThreadStore["append"]>[1];
  readonly append: Parameters<ThreadStore["append"]>[2];
  readonly result: AppendResult;
}

/** One server's connection to the shared store: no call happens before the scheduler delivers it. */
export function faultyStore(inner: ThreadStore, server: string, watcher: StoreWatcher): ThreadStore {
  let count = 0;

  const schedule = <Result>(
    name: string,
    writes: boolean,
    apply: () => Promise<Result>,
    describe: (result: Result) => string,
  ): Promise<Result> => {
    const label = `${server}.${++count} ${name}`;
    return new Promise<Result>((resolve, reject) => {
      const answer = (result: Result): void => {
        watcher.onAnswer(server, `${label}=${describe(result)}`);
        resolve(result);
      };
      const lose = (how: string): void => {
        watcher.onAnswer(server, `${label}:${how}`);
        reject(new Error(`The store's answer to ${label} was ${how}.`));
      };
      const applyOnly = (): void => void apply();
      watcher.onCall({
        ...{ label, server, writes, answering: false, applyOnly },
        deliver(how) {
          if (how === "fail") return lose("failed");
          if (how === "late") {
            lose("late");
            const ghost = { label: `late ${label}`, server, writes, answering: false, applyOnly };
            return watcher.onGhost({ ...ghost, deliver: applyOnly });
          }
          const applied = apply();
          if (how === "ok") return void applied.then(answer, reject);
          if (how === "lost") return void applied.then(() => lose("lost"), reject);
          watcher.onCall({
            ...{ label: `answer ${label}`, server, writes: false, answering: true },
            applyOnly: () => undefined,
            deliver: (later) => void applied.then(later === "ok" ? answer : () => lose("lost"), reject),
          });
        },
      });
    });
  };

  return {
    read: (id, after) =>
      schedule(
        "read",
        false,
        () => inner.read(id, after),
        (read) => (read && "head" in read ? `${read.head}/${read.control}` : "none"),
      ),
    append: (id, position, append) =>
      schedule(
        `append ${append.events.map(({ data }) => /"type":"([^"]+)/.exec(data)?.[1] ?? "?").join("+")}`,
        true,
        async () => {
          const result = await inner.append(id, position, append);
          watcher.onApplied({ server, id, position, append, result });
          return result;
        },
        (result) => `${result.status}${"head" in result ? result.head : ""}`,
      ),
    lease: (id, driverId, ttlMs) =>
      schedule(
        "lease",
        true,
        async () => {
          const result = await inner.lease(id, driverId, ttlMs);
          watcher.onLease(id, driverId, ttlMs, result);
          return result;
        },
        (result) => `${result.status}${result.status === "ok" ? `${result.head}/${result.control}` : ""}`,
      ),
    list: (owner, cursor, filter) =>
      schedule(
        "list",
        false,
        () => inner.list(owner, cursor, filter),
        ({ rows }) => rows.map((row) => `${row.id}:${row.status}:${row.dueAt}`).join(),
      ),
    follow: (id, after, signal) => inner.follow(id, after, signal),
    remove: (id) => inner.remove(id),
  };
}
