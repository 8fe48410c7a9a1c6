import { existsSync, rmSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { type PgliteThread, startPgliteThread } from "./pglite-thread.ts";
import { LockHeldError, type PidLock, type PidLockOptions, takePidLock } from "./pid-lock.ts";
import type { Database, Sql } from "./sql.ts";

/** Give this as the directory for a database that lives in memory and takes no lock: tests. */
export const inMemory = "memory://";

/** Another process that is alive has the directory open. The message is for people and says what to do. */
export class DatabaseInUseError extends Error {
  override readonly name = "DatabaseInUseError";
}

/**
 * Opens the embedded database in `directory`, under a lock file beside it (inside, initdb would find the directory not
 * empty). A new directory takes some four seconds, an old one half a second; the server goes on answering meanwhile.
 *
 * @throws DatabaseInUseError
 */
export async function openPglite(directory: string, options?: PidLockOptions): Promise<Database> {
  if (directory === inMemory) return toDatabase(await startPgliteThread(directory), () => undefined);
  const lock = await lockDirectory(directory, options);
  try {
    return toDatabase(await startWhole(directory), lock.release);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function lockDirectory(directory: string, options: PidLockOptions | undefined): Promise<PidLock> {
  try {
    return await takePidLock(`${directory}.lock`, options);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    const short = relative("", directory);
    throw new DatabaseInUseError(
      `The demo's database in ${short.startsWith("..") ? directory : short} is in use by process ${error.pid}. ` +
        `Stop that process (kill ${error.pid}), or set PGLITE_DIR to another directory, and try again.`,
      { cause: error },
    );
  }
}

/** A server killed while it made the directory leaves one that never opens again: the mark says so, and it is remade. */
async function startWhole(directory: string): Promise<PgliteThread> {
  const mark = `${directory}.making`;
  if (existsSync(mark)) rmSync(directory, { recursive: true, force: true });
  if (!existsSync(directory)) writeFileSync(mark, "");
  const thread = await startPgliteThread(directory);
  rmSync(mark, { force: true });
  return thread;
}

/** One connection, so statements and transactions take turns; within its turn a transaction has it to itself. */
function toDatabase({ send, end }: PgliteThread, release: () => void): Database {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  const inside: Sql = { query: (text, params = []) => send(text, params) };
  return {
    query: (text, params) => inTurn(() => inside.query(text, params)),
    transaction: (work) =>
      inTurn(async () => {
        await send("begin");
        try {
          const result = await work(inside);
          await send("commit");
          return result;
        } catch (error) {
          await send("rollback");
          throw error;
        }
      }),
    script: (text) =>
      inTurn(async () => {
        await send(text);
      }),
    close: () =>
      inTurn(async () => {
        await end();
        release();
      }),
  };
}
