import { z } from "zod";
import { ShopError } from "./shop-error.ts";
import type { Sql, Transaction } from "./sql.ts";

/** One write by a tool: whose key it is, and what exactly was asked. */
export interface Write {
  readonly tool: string;
  readonly subject: string;
  readonly key: string;
  readonly input: unknown;
}

export interface WriteOnceOptions<Result extends object> extends Write {
  /** Reads a remembered answer back. */
  readonly schema: z.ZodType<Result>;
  /** The work, in the transaction that also remembers its answer. Throw to undo all of it and free the key. */
  readonly work: (sql: Sql) => Promise<Result>;
}

/**
 * Does `work` once per idempotency key; the same key again gets the remembered answer, marked `replayed`.
 *
 * The key's row is inserted first: a second transaction with the same key waits there until the first one has ended,
 * then finds the answer, or, after a rollback, does the work itself.
 *
 * @throws ShopError `key-reused` when the key was used for something else.
 */
export async function writeOnce<Result extends object>(
  transaction: Transaction,
  options: WriteOnceOptions<Result>,
): Promise<Result & { replayed: boolean }> {
  const request = JSON.stringify([options.tool, options.subject, options.input]);
  return transaction(async (sql) => {
    const reserved = await sql.query(
      `insert into tool_results (idempotency_key, request) values ($1, $2)
      on conflict (idempotency_key) do nothing returning idempotency_key`,
      [options.key, request],
    );
    if (reserved.length === 0) {
      return { ...options.schema.parse(await remembered(sql, options.key, request)), replayed: true };
    }
    const result = await options.work(sql);
    await sql.query("update tool_results set result = $2 where idempotency_key = $1", [
      options.key,
      JSON.stringify(result),
    ]);
    return { ...result, replayed: false };
  });
}

/**
 * Counts a call of a tool, replays and refusals included. On its own and before the work, so that a rollback does not
 * take the count back: it says how often the tool ran, which is what "executed once" has to prove.
 */
export async function countCall(sql: Sql, write: Pick<Write, "tool" | "subject">): Promise<void> {
  await sql.query(
    `insert into tool_counter (tool, subject, count) values ($1, $2, 1)
    on conflict (tool, subject) do update set count = tool_counter.count + 1`,
    [write.tool, write.subject],
  );
}

/** How often a tool was called for a subject, or for all of them. */
export async function readCount(sql: Sql, tool: string, subject: string | null): Promise<number> {
  const [row] = await sql.query(
    `select coalesce(sum(count), 0)::int as count from tool_counter
    where tool = $1 and ($2::text is null or subject = $2::text)`,
    [tool, subject],
  );
  return z.object({ count: z.int() }).parse(row).count;
}

async function remembered(sql: Sql, key: string, request: string): Promise<unknown> {
  const [row] = await sql.query("select request, result from tool_results where idempotency_key = $1", [key]);
  const saved = z.object({ request: z.string(), result: z.string() }).parse(row);
  if (saved.request !== request) {
    throw new ShopError("key-reused", "This idempotency key was already used for another request.");
  }
  return JSON.parse(saved.result);
}
