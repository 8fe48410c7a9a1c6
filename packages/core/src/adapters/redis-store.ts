import { ToolRunError } from "../errors.ts";
import type { Append, AppendPosition, StoredEvent, ThreadStore } from "../store/thread-store.ts";
import type { RedisClient } from "./redis-client.ts";
import { toLink } from "./redis-client.ts";
import { toEntry, toName, toWire } from "./redis-entry.ts";
import { isCrossSlot } from "./redis-failure.ts";
import { followLog } from "./redis-follow.ts";
import type { ApartList, RowState } from "./redis-list.ts";
import { apartList, listKeys, listRows, toRow } from "./redis-list.ts";
import { createPush } from "./redis-push.ts";
import { ENTRIES_PER_SCRIPT, toView, wholeView } from "./redis-read.ts";
import { toRun } from "./redis-run.ts";
import { APPEND, LEASE, READ, REMOVE } from "./redis-scripts.ts";
import type { LogSource } from "./redis-watch.ts";
import { createWatches } from "./redis-watch.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
const ENTRIES: string = String(ENTRIES_PER_SCRIPT);
const REMEMBERED_THREADS = 1000;

export interface RedisStoreOptions {
  /**
   * Stands in front of every key and channel, so that several apps can share a database.
   * @defaultValue "toolrun"
   */
  readonly prefix?: string | undefined;
}

/**
 * Threads in Redis 6.2 or newer, through the client an app has already: `redis`, `ioredis` or `@upstash/redis`.
 * Every method is one script, which Redis runs alone; all keys of a thread are in one slot of a cluster, and leases
 * run by the server's clock. Followers hear of changes on one more connection of the client, there only while
 * somebody follows; over HTTP they look, at most once a second for each thread and process.
 *
 * Redis must not evict (`maxmemory-policy noeviction`) and should write to its disk (`appendonly yes`).
 * @throws `invalid-config` for what is no client, for an Upstash client that parses what it reads, for a bad prefix
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): ThreadStore {
  const { prefix = "toolrun" } = options;
  if (prefix === "" || /[{}]/.test(prefix)) {
    throw new ToolRunError("invalid-config", `prefix "${prefix}" has to be a text without braces, such as "my-app".`);
  }
  const link = toLink(client);
  const run = toRun(link);
  const forList = listKeys(prefix);
  const tagOf = (id: string): string => `${prefix}:{${toName(id) || "%"}}`; // nothing in braces would be no slot
  const keysOf = (id: string): string[] => [tagOf(id), `${tagOf(id)}:log`, `${tagOf(id)}:snapshot`];

  const push = link.listen && createPush(link.listen);
  const source: LogSource = {
    async page(id, after, batch) {
      const [state, ...reply] = await run(READ, keysOf(id), [String(after), ENTRIES, toName(batch ?? "")]);
      if (state !== "ok") return { type: state === "gone" ? "removed" : state === "none" ? "none" : "reset" };
      const view = toView(reply, after);
      return view.from === after ? { type: "events", ...view } : { type: "reset" };
    },
    listen: push && ((id, look) => push.listen(tagOf(id), look)),
  };
  const watches = createWatches(source);
  const own = new Map<string, { readonly head: number; readonly batch: string }>(); // what this process wrote last

  let apart: ApartList | undefined;
  /** Changes a thread and its row, in one script where one can have the keys of both. */
  const change = async (
    script: string,
    id: string,
    args: readonly string[],
    stateOf: (reply: readonly unknown[]) => RowState,
  ): Promise<readonly unknown[]> => {
    if (!apart) {
      try {
        return await run(script, [...keysOf(id), forList.rows, forList.index], args);
      } catch (error) {
        if (!(error instanceof ToolRunError && isCrossSlot(error.cause))) throw error;
      }
    }
    apart ??= apartList(run, forList, keysOf);
    return apart.around(id, () => run(script, keysOf(id), args), stateOf);
  };

  return {
    async read(id, after) {
      for (;;) {
        const [state, ...reply] = await run(READ, keysOf(id), [String(after ?? ""), ENTRIES, ""]);
        if (state !== "ok") return state === "gone" ? { gone: true } : null;
        const whole = await wholeView(run, keysOf(id), toView(reply, after));
        if (whole) return whole;
      }
    },
    async append(id, position, append) {
      if (append.events.length === 0) {
        throw new ToolRunError("internal", `append to thread "${id}" has no events; give it at least one.`);
      }
      const last = own.get(id);
      const expected = "at" in position && position.at === last?.head ? last.batch : "";
      const args = argumentsOf(id, position, append, expected, tagOf(id));
      const { row } = append;
      const [status, ...reply] = row
        ? await change(APPEND, id, args, ([state, , head]) => (state === "ok" ? [state, toRow(row), head] : []))
        : await run(APPEND, keysOf(id), args);
      if (status === "gone") return { status };
      if (status === "held") return { status, until: Number(reply[0]) };
      if (status === "other") throw lostWrites();
      if (status === "conflict") {
        const after = "at" in position ? position.at : position.atControl;
        const whole = await wholeView(run, keysOf(id), toView(reply, after));
        if (!whole) throw new ToolRunError("unavailable", "The log was trimmed while it was read; try again.");
        return { status, ...whole };
      }
      const [first, head] = [Number(reply[0]), Number(reply[1])];
      if (own.size >= REMEMBERED_THREADS && !own.has(id)) own.clear();
      own.set(id, { head, batch: toName(append.batch) });
      watches.feed(id, storedOf(append, first));
      return { status: "ok", first, head };
    },
    follow(id, after, signal) {
      return followLog(source, watches, id, after, signal);
    },
    async lease(id, driverId, ttlMs) {
      const [state, head, control] = await run(LEASE, keysOf(id), [toName(driverId), String(ttlMs)]);
      return state === "ok" ? { status: "ok", head: Number(head), control: Number(control) } : { status: "lost" };
    },
    async list(owner, cursor, filter) {
      return listRows(run, forList, owner, cursor, filter, () => {
        apart ??= apartList(run, forList, keysOf);
        return apart.repair();
      });
    },
    async remove(id) {
      const args = [String(WEEK_MS), tagOf(id), toName(id)];
      await change(REMOVE, id, args, ([state]) => (state === "ok" ? ["gone"] : []));
    },
  };
}

/** The arguments of APPEND, in its order. */
function argumentsOf(
  id: string,
  position: AppendPosition,
  { batch, events, lease, snapshot, row }: Append,
  expected: string,
  channel: string,
): string[] {
  const [mode, at] = "at" in position ? ["at", position.at] : ["control", position.atControl];
  const [claim, driverId, ttlMs] = !lease
    ? ["", "", 0]
    : "release" in lease
      ? ["release", lease.release, 0]
      : ["claim", lease.driverId, lease.ttlMs];
  const lastControl = events.findLastIndex(({ control }) => control) + 1;
  return [
    ...[mode, String(at), toName(batch), toEntry(events), String(events.length), String(lastControl), expected],
    ...[claim, toName(driverId), String(ttlMs), snapshot === undefined ? "" : toWire(snapshot)],
    ...[channel, toName(id), row ? toRow(row) : "", ENTRIES],
  ];
}

function storedOf({ batch, events }: Append, first: number): StoredEvent[] {
  return events.map(({ control, data }, index) => ({ seq: first + index, batch, control, data }));
}

function lostWrites(): ToolRunError {
  return new ToolRunError(
    "unavailable",
    "Redis lost writes of this thread, as a failover may, and others wrote in their place. Read it again.",
  );
}
