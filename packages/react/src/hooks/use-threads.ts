"use client";
import useSWR from "swr";
import type { ActionResult, Refusal, ThreadRow, WireOptions } from "toolrun";
import { createThreadsClient } from "toolrun";

export interface UseThreads {
  /** Newest first; empty until loaded. */
  readonly threads: readonly ThreadRow[];
  /** Steps that wait for a person, over all threads: the number for a badge. */
  readonly pending: number;
  readonly error: Refusal | null;
  readonly isLoading: boolean;
  /** Shown at once, taken back when the server refuses. */
  rename(threadId: string, title: string): Promise<ActionResult>;
  /** Gone at once, back when the server refuses. */
  remove(threadId: string): Promise<ActionResult>;
  /** Reads the list anew. */
  mutate(): Promise<unknown>;
}

/** The user's threads, read through SWR; polled while one of them is on the move. */
export function useThreads({ endpoint = "/api/toolrun", fetch, headers }: WireOptions = {}): UseThreads {
  const client = createThreadsClient({ endpoint, fetch, headers });
  const { data, error, isLoading, mutate } = useSWR<Rows, Refusal>(
    threadsKey(endpoint),
    async () => {
      const page = await client.list();
      if (page.ok) return page.rows;
      throw page;
    },
    { refreshInterval: (rows) => (rows?.some(isMoving) ? 5_000 : 0) },
  );

  /** Shows `change` at once; a refusal rolls it back and is the result. */
  async function optimistic(change: (rows: Rows) => Rows, action: Promise<ActionResult>): Promise<ActionResult> {
    const confirmed = action.then((result): Rows | undefined => {
      if (result.ok) return undefined;
      throw result;
    });
    const optimisticData = (rows?: Rows): Rows => change(rows ?? []);
    const options = { optimisticData, populateCache: false, rollbackOnError: true, throwOnError: false };
    await mutate(confirmed, options);
    return action;
  }

  const threads = data ?? [];
  return {
    threads,
    pending: threads.reduce((sum, row) => sum + row.pending, 0),
    error: error ?? null,
    isLoading,
    rename: (threadId, title) =>
      optimistic(
        (rows) => rows.map((row) => (row.id === threadId ? { ...row, title } : row)),
        client.rename(threadId, title),
      ),
    remove: (threadId) => optimistic((rows) => rows.filter((row) => row.id !== threadId), client.remove(threadId)),
    mutate: () => mutate(),
  };
}

type Rows = readonly ThreadRow[];

/** SWR's key of an endpoint's list. */
export function threadsKey(endpoint: string): readonly [string, "threads"] {
  return [endpoint, "threads"];
}

function isMoving(row: ThreadRow): boolean {
  return row.status === "running" || row.status === "waiting";
}
