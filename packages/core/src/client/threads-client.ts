import type { ActionResult, WireOptions } from "./post.ts";
import { createPost, refuse, request, toResult } from "./post.ts";

/** One line of a user's list of threads. */
export interface ThreadRow {
  readonly id: string;
  readonly title: string;
  readonly status: "idle" | "running" | "waiting" | "ended";
  /** How many steps wait for a person. */
  readonly pending: number;
  readonly updatedAt: number;
  readonly dueAt?: number | undefined;
}

export interface ThreadPage {
  readonly rows: readonly ThreadRow[];
  /** Where the next page begins; absent on the last one. */
  readonly cursor?: string | undefined;
}

/** A user's threads as requests; whoever caches them calls it. Nothing throws. */
export interface ThreadsClient {
  list(cursor?: string): Promise<({ readonly ok: true } & ThreadPage) | Exclude<ActionResult, { ok: true }>>;
  rename(threadId: string, title: string): Promise<ActionResult>;
  remove(threadId: string): Promise<ActionResult>;
}

/** Creates the client of a list; it holds no state. */
export function createThreadsClient(wire: WireOptions = {}): ThreadsClient {
  const post = createPost(wire);
  return {
    async list(cursor) {
      const reply = await request(wire, cursor === undefined ? "" : `?cursor=${encodeURIComponent(cursor)}`);
      if (!reply.ok) return reply;
      const { rows, cursor: next } = reply.body;
      if (!Array.isArray(rows)) return refuse("internal", "The server's answer is not a list of threads.");
      return { ok: true, rows, cursor: typeof next === "string" ? next : undefined };
    },
    rename: async (threadId, title) => toResult(await post(`/${threadId}/title`, { title })),
    remove: async (threadId) => toResult(await post(`/${threadId}`, {}, "DELETE")),
  };
}
