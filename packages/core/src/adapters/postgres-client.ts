import { ToolRunError } from "../errors.ts";

/** `pg`'s Pool and Client, PGlite, and HTTP drivers such as `neon()`: one statement, `$1` parameters. */
export interface PostgresQueryClient {
  query(text: string, params: (string | null)[]): PromiseLike<unknown>;
}

/** postgres.js: what `postgres(url)` returns. */
export interface PostgresJsClient {
  unsafe(text: string, params?: (string | null)[], options?: { prepare?: boolean }): PromiseLike<unknown>;
}

/** Any other way to a database: gets a statement and its parameters, answers rows or `{ rows }`. */
export type PostgresQueryFunction = (text: string, params: (string | null)[]) => PromiseLike<unknown>;

/** A client of your own making; nothing of a driver is imported. */
export type PostgresClient = PostgresQueryClient | PostgresJsClient | PostgresQueryFunction;

/** What comes of a session that listens. */
export interface Hearing {
  heard(payload: string): void;
  /** The session began to listen again by itself: what came meanwhile is lost. */
  ready(): void;
  /** The session is gone. */
  lost(): void;
}

/** A client as the store uses it. */
export interface PostgresConnection {
  /**
   * Runs one statement. Parameters are text, the answer is one text or nothing: no driver has an opinion
   * about those, while int8, bytea, JSON, dates and column names differ from driver to driver.
   */
  run(text: string, params: readonly (string | null)[]): Promise<string | null>;
  /** Listens to a channel on a session of its own; undefined where the client has none. Resolves to what ends it. */
  readonly listen?: ((channel: string, hearing: Hearing) => Promise<() => Promise<void>>) | undefined;
}

/**
 * Finds out what a client is by what it can do.
 * @throws `invalid-config` when it is no client.
 */
export function connectionOf(client: PostgresClient): PostgresConnection {
  const parts: unknown = client; // looked at, not trusted: JavaScript callers have no types
  if (isSession(parts)) {
    const session = oneAtATime(parts);
    return {
      run: async (text, params) => firstValue(await session.query(text, [...params])),
      listen: (channel, hearing) => listenOnSession(session, channel, hearing, () => {}),
    };
  }
  if (has(parts, "query")) {
    const { query } = parts;
    return {
      run: async (text, params) => firstValue(await query.call(client, text, [...params])),
      listen: listenerOf(parts),
    };
  }
  if (has(parts, "unsafe")) {
    const { unsafe } = parts;
    // Unprepared it takes two round trips for each statement. Its own `prepare: false`, for poolers, still wins.
    return {
      run: async (text, params) => firstValue(await unsafe.call(client, text, [...params], { prepare: true })),
      listen: has(parts, "listen") ? (channel, hearing) => listenWithPostgresJs(parts, channel, hearing) : undefined,
    };
  }
  if (typeof client === "function") return { run: async (text, params) => firstValue(await client(text, [...params])) };
  throw new ToolRunError(
    "invalid-config",
    `postgresStore got ${client === null ? "null" : typeof client}; give it a pg Pool, a postgres() client, a PGlite, ` +
      "or an HTTP driver: anything with query(text, params).",
  );
}

type Method = (...args: unknown[]) => unknown;

function has<Name extends string>(value: unknown, name: Name): value is Record<Name, Method> & object {
  const isHolder = (typeof value === "object" && value !== null) || typeof value === "function";
  return isHolder && typeof Reflect.get(value, name) === "function";
}

/** The only column of the only row, whatever it is called: arrays of rows, `{ rows }`, rows as arrays. */
function firstValue(result: unknown): string | null {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null)?.rows;
  if (!Array.isArray(rows)) {
    throw new ToolRunError(
      "misconfigured",
      "The Postgres client answered neither rows nor { rows }; wrap it so that it does.",
    );
  }
  const [row] = rows;
  const value: unknown = row === undefined ? null : Object.values(row as object)[0];
  return value === null || value === undefined ? null : String(value);
}

/** A pg Pool, by the count it keeps of its connections. */
function isPool(client: Record<"query", Method>): client is Record<"query" | "connect", Method> {
  return typeof Reflect.get(client, "totalCount") === "number" && has(client, "connect");
}

/** A single connection of `pg`: it emits notifications, and has no connections to give. */
function isSession(client: unknown): client is PgSession {
  return has(client, "query") && has(client, "on") && has(client, "removeListener") && !isPool(client);
}

/** A connection runs one statement after the other; `pg` warns of those that are sent before it is free. */
function oneAtATime(session: PgSession): PgSession {
  let last: Promise<unknown> = Promise.resolve();
  return {
    query: (text, params) => {
      const result = last.then(() => session.query(text, params));
      last = result.catch(() => {}); // whoever asked gets it
      return result;
    },
    on: (name, listener) => session.on(name, listener),
    removeListener: (name, listener) => session.removeListener(name, listener),
  };
}

/** Where a client with `query` can listen: PGlite itself, or a session of a pool. */
function listenerOf(client: Record<"query", Method>): PostgresConnection["listen"] {
  if (has(client, "listen")) return (channel, { heard }) => listenWithPglite(client, channel, heard);
  if (!isPool(client)) return undefined;
  // The session is kept: a pool of one would have none left to write with.
  if ((Reflect.get(client, "options") as { max?: unknown } | undefined)?.max === 1) return undefined;
  return async (channel, hearing) => {
    const session = (await client.connect()) as PgSession & { release(destroy?: boolean): void };
    return listenOnSession(session, channel, hearing, (isBroken) => session.release(isBroken));
  };
}

/** What is used of a session of `pg`. */
interface PgSession {
  query(text: string, params?: (string | null)[]): Promise<unknown>;
  on(name: string, listener: (value: { readonly payload?: string }) => void): unknown;
  removeListener(name: string, listener: (value: { readonly payload?: string }) => void): unknown;
}

async function listenOnSession(
  session: PgSession,
  channel: string,
  { heard, lost }: Hearing,
  release: (isBroken: boolean) => void,
): Promise<() => Promise<void>> {
  let isOver = false;
  const onNotification = ({ payload }: { readonly payload?: string }): void => heard(payload ?? "");
  const end = (isBroken: boolean): void => {
    isOver = true;
    session.removeListener("notification", onNotification);
    session.removeListener("end", onLost);
    // A broken session says "error" once more, and nobody listening would end the process.
    if (!isBroken) session.removeListener("error", onLost);
    release(isBroken);
  };
  const onLost = (): void => {
    if (isOver) return;
    end(true);
    lost();
  };
  session.on("notification", onNotification);
  session.on("error", onLost);
  session.on("end", onLost);
  try {
    await session.query(`listen "${channel}"`);
  } catch (error) {
    if (!isOver) end(true);
    throw error;
  }
  return async () => {
    if (isOver) return;
    isOver = true;
    let isBroken = false;
    await session.query(`unlisten "${channel}"`).catch(() => {
      isBroken = true;
    });
    end(isBroken);
  };
}

async function listenWithPglite(
  client: Record<"listen", Method>,
  channel: string,
  heard: Hearing["heard"],
): Promise<() => Promise<void>> {
  return (await client.listen(channel, heard)) as () => Promise<void>; // PGlite's answer
}

/** It reconnects by itself, and then calls its third argument again. */
async function listenWithPostgresJs(
  client: Record<"listen", Method>,
  channel: string,
  { heard, ready }: Hearing,
): Promise<() => Promise<void>> {
  const { unlisten } = (await client.listen(channel, heard, ready)) as { unlisten(): Promise<void> }; // its answer
  return unlisten;
}
