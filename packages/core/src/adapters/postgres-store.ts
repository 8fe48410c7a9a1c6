import { ToolRunError } from "../errors.ts";
import type {
  Append,
  AppendPosition,
  AppendResult,
  LeaseResult,
  ThreadRead,
  ThreadStore,
} from "../store/thread-store.ts";
import type { PostgresClient, PostgresConnection } from "./postgres-client.ts";
import { connectionOf } from "./postgres-client.ts";
import { isRetryable, toPostgresError } from "./postgres-faults.ts";
import type { FollowRead } from "./postgres-follow.ts";
import { followPostgres } from "./postgres-follow.ts";
import { createHubs } from "./postgres-hubs.ts";
import { listPostgres } from "./postgres-list.ts";
import type { PostgresSchemaOptions } from "./postgres-schema.ts";
import { namesIn } from "./postgres-schema.ts";
import { statementsFor } from "./postgres-sql.ts";
import { decodeEvents, decodeText, encodeEvents, encodeText, FIELD, RECORD } from "./postgres-text.ts";
import { after as wait } from "./timer.ts";

export interface PostgresStoreOptions extends PostgresSchemaOptions {
  /**
   * Whether followers hear of other processes' appends by LISTEN, on one connection that is kept while anybody
   * follows. False: they poll, every 150 ms to 1 s. An HTTP driver always polls.
   * @defaultValue true where the client can hold a session
   */
  readonly listen?: boolean | undefined;
}

const TRIES = 6;

/**
 * Threads in PostgreSQL 13 or newer, through the client the app has anyway: a `pg` Pool, postgres.js, PGlite or an
 * HTTP driver. Run `migrate(client)` first. Every method is a single statement where it matters, so nothing here
 * needs a transaction or a session.
 * @throws `invalid-config` when the client is none, or the schema's name cannot be used
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): ThreadStore {
  const { schema, listen = true } = options;
  const names = namesIn(schema);
  const sql = statementsFor(names);
  const connection = safely(connectionOf(client), listen);
  const { run } = connection;
  const hubs = createHubs(connection, names, sql);

  const look = async (id: string, after: number | undefined, statement = sql.read): Promise<Look> =>
    toLook(await run(statement, [encodeText(id), after === undefined ? null : String(after)]), after);

  /** Why an append was refused, and what to answer. Undefined when the reason is gone by now. */
  const refusal = async (id: string, position: AppendPosition, append: Append): Promise<AppendResult | undefined> => {
    const expected = "at" in position ? position.at : position.atControl;
    const found = await look(id, expected);
    if (found === "gone") return { status: "gone" };
    if (found === "past") {
      await purge(id);
      return undefined;
    }
    if (found === null) {
      return expected === 0 ? undefined : { status: "conflict", head: 0, control: 0, events: [] };
    }
    const { read, lease } = found;
    if (expected !== ("at" in position ? read.head : read.control)) return { status: "conflict", ...read };
    const claim = append.lease && "driverId" in append.lease ? append.lease.driverId : undefined;
    return claim !== undefined && lease && lease.driverId !== claim
      ? { status: "held", until: lease.until }
      : undefined;
  };

  const purge = async (id: string): Promise<void> => {
    await run(sql.purgeAppends, [encodeText(id)]);
    await run(sql.purgeThreads, []);
  };

  return {
    async read(id, after) {
      return toRead(await look(id, after));
    },
    async append(id, position, append) {
      const { length } = append.events;
      if (length === 0) {
        throw new ToolRunError("internal", `append to thread "${id}" has no events; give it at least one.`);
      }
      const [at, begin, go] =
        "at" in position
          ? [position.at, sql.beginAt, sql.appendAt]
          : [position.atControl, sql.beginAtControl, sql.appendAtControl];
      const statement = at === 0 ? begin : go;
      const values = appendValues(id, at, append);
      for (let tries = 0; tries < TRIES; tries++) {
        const answer = await run(statement, values);
        if (answer !== null) {
          const head = Number(answer);
          const first = head - length + 1;
          hubs.appended(id, first, append);
          return { status: "ok", first, head };
        }
        const refused = await refusal(id, position, append);
        if (refused) return refused;
      }
      throw new ToolRunError("unavailable", `Thread "${id}" changed too often; try again.`);
    },
    follow(id, after, signal) {
      const readAfter = async (cursor: number): Promise<FollowRead> => toRead(await look(id, cursor, sql.readPage));
      return followPostgres(hubs, { id, after, signal }, readAfter);
    },
    async lease(id, driverId, ttlMs): Promise<LeaseResult> {
      const answer = await run(sql.renew, [encodeText(id), encodeText(driverId), String(ttlMs)]);
      if (answer === null) return { status: "lost" };
      const [head, control] = answer.split(FIELD).map(Number);
      return { status: "ok", head: head ?? 0, control: control ?? 0 };
    },
    async list(owner, cursor, filter) {
      return listPostgres(connection, sql, { owner, cursor, filter });
    },
    async remove(id) {
      const removed = await run(sql.remove, [encodeText(id)]);
      await purge(id);
      if (removed !== null) hubs.removed(id);
    },
  };
}

/** Errors as ours; what failed for nothing but bad timing runs again, as nothing of it was written. */
function safely({ run, listen }: PostgresConnection, mayListen: boolean): PostgresConnection {
  return {
    listen: mayListen ? listen : undefined,
    run: async (text, params) => {
      for (let tries = 1; ; tries++) {
        try {
          return await run(text, params);
        } catch (error) {
          if (!isRetryable(error) || tries >= TRIES) throw toPostgresError(error);
          await new Promise<void>((resolve) => wait(tries * 10 * Math.random(), resolve));
        }
      }
    },
  };
}

/** In the order of postgres-sql.ts. */
function appendValues(id: string, at: number, { batch, events, lease, snapshot, row }: Append): (string | null)[] {
  const claim = lease && "driverId" in lease ? lease : undefined;
  const release = lease && "release" in lease ? lease.release : undefined;
  return [
    encodeText(id),
    String(at),
    String(events.length),
    String(events.findLastIndex(({ control }) => control) + 1),
    encodeText(batch),
    encodeEvents(events),
    text(claim?.driverId),
    text(claim?.ttlMs),
    text(release),
    text(snapshot),
    text(row?.owner),
    text(row?.title),
    text(row?.status),
    text(row?.pending),
    text(row?.dueAt),
    text(row?.updatedAt),
  ];
}

function text(value: string | number | undefined): string | null {
  return value === undefined ? null : encodeText(String(value));
}

/** What there is of a thread; "past" is a tombstone that no longer stands. */
type Look =
  | { readonly read: ThreadRead; readonly lease: { readonly driverId: string; readonly until: number } | null }
  | "gone"
  | "past"
  | null;

function toRead(found: Look): ThreadRead | { readonly gone: true } | null {
  if (found === "gone") return { gone: true };
  return found === null || found === "past" ? null : found.read;
}

function toLook(answer: string | null, after: number | undefined): Look {
  if (answer === null || answer === "gone" || answer === "past") return answer;
  const [first = "", ...appends] = answer.split(RECORD);
  const [head, control, joins, driverId = "", until, isValid, snapshotSeq, snapshot = ""] = first.split(FIELD);
  const seq = Number(snapshotSeq);
  const cursor = joins === "t" ? (after ?? 0) : seq;
  const events = appends.flatMap((record) => {
    const [last, batch = "", text = ""] = record.split(FIELD);
    return decodeEvents(Number(last), decodeText(batch), text, cursor);
  });
  const place = { head: Number(head), control: Number(control) };
  const isWhole = joins === "t" || snapshotSeq === "";
  return {
    read: isWhole ? { ...place, events } : { ...place, snapshot: { seq, data: decodeText(snapshot) }, events },
    lease: isValid === "t" ? { driverId: decodeText(driverId), until: Number(until) } : null,
  };
}
