import { Worker } from "node:worker_threads";
import type { SqlParam, SqlRow } from "./sql.ts";

/** What `pglite-worker.mjs` sends back. `code` is Postgres's own, such as 23505. */
interface Reply {
  readonly id: number;
  readonly rows?: readonly SqlRow[];
  readonly error?: { readonly message: string; readonly code?: string };
}

interface Waiting {
  readonly resolve: (rows: readonly SqlRow[]) => void;
  readonly reject: (error: Error) => void;
}

export interface PgliteThread {
  /** Runs one statement; without `params` a script of several. Statements run in the order they were sent. */
  readonly send: (text: string, params?: readonly SqlParam[]) => Promise<readonly SqlRow[]>;
  /** Ends the thread. What was acknowledged is on disk already. */
  readonly end: () => Promise<void>;
}

/** Starts PGlite on a directory in its own thread. Should the thread die, everything asked of it fails. */
export async function startPgliteThread(directory: string): Promise<PgliteThread> {
  const worker = new Worker(new URL("./pglite-worker.mjs", import.meta.url), { workerData: { directory } });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let stopped: Error | undefined;

  const expect = (id: number): Promise<readonly SqlRow[]> =>
    new Promise((resolve, reject) => {
      // While nobody waits for an answer, the thread does not keep the process alive.
      worker.ref();
      waiting.set(id, { resolve, reject });
    });

  worker.on("message", ({ id, rows = [], error }: Reply) => {
    const asker = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) worker.unref();
    if (error) asker?.reject(Object.assign(new Error(error.message), { code: error.code }));
    else asker?.resolve(rows);
  });
  const stop = (reason: Error): void => {
    stopped ??= reason;
    for (const asker of waiting.values()) asker.reject(stopped);
    waiting.clear();
  };
  worker.on("error", stop);
  worker.on("exit", () => stop(new Error("The embedded database has stopped. Restart the server.")));

  await expect(0);
  return {
    send: async (text, params) => {
      if (stopped) throw stopped;
      const id = ++lastId;
      const reply = expect(id);
      worker.postMessage({ id, text, params });
      return reply;
    },
    end: async () => {
      await worker.terminate();
    },
  };
}
