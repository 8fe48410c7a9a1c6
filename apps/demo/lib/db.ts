import { join } from "node:path";
import { openPglite } from "./open-pglite.ts";
import { openPostgres } from "./open-postgres.ts";
import { createTables } from "./schema.ts";
import { seedOnce } from "./seed.ts";
import type { Database, Sql, SqlParam, SqlRow, Transaction } from "./sql.ts";

/**
 * The demo's database, in Node only: PGlite in `PGLITE_DIR` (else `.data/development` or `.data/production` under the
 * app), or the Postgres that `DATABASE_URL` names. It opens on first use; the first visitor need not be that use:
 * {@link warmDatabase}.
 */

/** On globalThis, because Next may load this module more than once, and two PGlites on one directory diverge. */
const slot = Symbol.for("toolrun.demo.database");

interface Shared {
  [slot]?: Promise<Database> | undefined;
}

/** Runs one statement. See {@link Sql} for what both databases agree on. */
export async function query(text: string, params?: readonly SqlParam[]): Promise<readonly SqlRow[]> {
  return (await database()).query(text, params);
}

/** Runs `work` in one transaction: whole or not at all. */
export const transaction: Transaction = async (work) => (await database()).transaction(work);

/**
 * Starts the database soon and returns at once, so that the page that calls it is sent first: starting takes a
 * processor. Call it from `after()` or from a route, never from edge code; a build starts nothing. A failure is
 * printed here and told again to whoever asks next.
 */
export function warmDatabase(): void {
  if (process.env.NEXT_PHASE === "phase-production-build") return;
  setTimeout(() => {
    database().catch((error: unknown) => console.error(error instanceof Error ? error.message : error));
  }, warmDelayMs).unref();
}

/** The open database, with its tables and, the first time, its orders. */
function database(): Promise<Database> {
  const shared = globalThis as Shared; // A symbol key of our own that the global type cannot know.
  shared[slot] ??= open().catch((error: unknown) => {
    // Not remembered: the person stops the other process and reloads.
    shared[slot] = undefined;
    throw error;
  });
  return shared[slot];
}

/** Long enough for the page's own requests (scripts, styles, fonts) to be answered first. */
const warmDelayMs = 300;

async function open(): Promise<Database> {
  const url = process.env.DATABASE_URL;
  const opened = url ? await openPostgres(url) : await openPglite(pgliteDirectory());
  try {
    await createTables(opened);
    await seedOnce(opened, new Date());
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function pgliteDirectory(): string {
  const mode = process.env.NODE_ENV === "production" ? "production" : "development";
  // Without the hint, the build traces every file of the app as a possible database.
  return process.env.PGLITE_DIR || join(/* turbopackIgnore: true */ process.cwd(), ".data", mode);
}
