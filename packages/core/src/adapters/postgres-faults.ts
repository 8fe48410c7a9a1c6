import { isToolRunError, ToolRunError } from "../errors.ts";

type Kind = "unavailable" | "misconfigured";

/** SQLSTATE, or its first two characters, or a client's own code → what is wrong and what to do. */
const FAULTS: Readonly<Record<string, readonly [Kind, string]>> = {
  "42P01": ["misconfigured", "The tables of toolrun are missing; run migrate(client), or postgresSchema, once."],
  "3F000": ["misconfigured", "The schema of toolrun is missing; run migrate(client, { schema }) once."],
  "42703": ["misconfigured", "The tables of toolrun are of another version; run migrate(client) of this release."],
  "42501": ["misconfigured", "The database's user lacks a right; grant it select, insert, update and delete."],
  "42601": ["misconfigured", "The database does not know a statement; toolrun needs PostgreSQL 13 or newer."],
  "22P05": ["misconfigured", "The database cannot keep every character; its encoding must be UTF8."],
  "28": ["misconfigured", "The database refused the user or password; check the connection string."],
  "3D000": ["misconfigured", "There is no such database; check the connection string."],
  "25006": ["unavailable", "The database is read-only, a standby perhaps; connect to the primary and try again."],
  "40": ["unavailable", "The database gave up on a conflict of transactions several times; try again."],
  "53300": ["unavailable", "The database has no connection left; lower the pools' max, or use a pooler."],
  "53": ["unavailable", "The database lacks space or memory; see its log."],
  "57014": ["unavailable", "The database's statement timeout ended a statement; try again, or raise it."],
  "55P03": ["unavailable", "The database's lock timeout ended a statement; try again, or raise it."],
  "57": ["unavailable", "The database is stopping or starting; try again."],
  "58": ["unavailable", "The database's system failed; see its log."],
  "08": ["unavailable", "The connection to the database broke; try again."],
  ECONNREFUSED: ["unavailable", "Nothing answers at the database's address; is it running, is the address right?"],
  ENOTFOUND: ["unavailable", "The database's host name is not known; check the connection string."],
  CONNECTION_ENDED: ["unavailable", "The Postgres client was ended; make a new one for the store."],
};

/** Texts of clients that give no code. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/timeout exceeded when trying to connect/i, "No connection of the pool became free in time; raise its max."],
  [/after calling end|is closed|was closed|CONNECTION_ENDED/i, "The Postgres client was ended; make a new one."],
];

/** An error of a client as ours: what is wrong, how to fix it, never the statement's values; the cause is kept. */
export function toPostgresError(error: unknown): ToolRunError {
  if (isToolRunError(error)) return error;
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  // Raised by our own migration: its text says which version or encoding it found.
  if (code === "0A000" && text.startsWith("toolrun needs")) {
    return new ToolRunError("misconfigured", text, { cause: error });
  }
  const fault = code === undefined ? undefined : (FAULTS[code] ?? FAULTS[code.slice(0, 2)]);
  const known = fault ?? ["unavailable", textFor(text) ?? "The database did not answer as it should; try again."];
  const [kind, message] = known as readonly [Kind, string]; // the second is "unavailable" with a text
  return new ToolRunError(kind, code === undefined ? message : `${message} (${code})`, { cause: error });
}

/** Serialization failure or deadlock: nothing was written, and the same statement may run again. */
export function isRetryable(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error) ?? "");
}

function textFor(text: string): string | undefined {
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1];
}

/** Its own, or that of what caused it: fetch hides the reason one level down. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return typeof code === "string" ? code : codeOf(cause);
}
