import { ToolRunError } from "../errors.ts";
import type { ThreadFilter, ThreadPage, ThreadRow } from "../store/thread-store.ts";
import type { PostgresConnection } from "./postgres-client.ts";
import type { PostgresStatements } from "./postgres-sql.ts";
import { decodeText, encodeText, FIELD, RECORD } from "./postgres-text.ts";

const ROWS_PER_PAGE = 50;

/** Whose rows, after which, and which of them. */
export interface ListQuestion {
  readonly owner: string | undefined;
  readonly cursor: string | undefined;
  readonly filter: ThreadFilter | undefined;
}

/** A page of rows, last changed first; equal times are in order of their ids, so that paging never skips one. */
export async function listPostgres(
  { run }: PostgresConnection,
  statements: PostgresStatements,
  { owner, cursor, filter = {} }: ListQuestion,
): Promise<ThreadPage> {
  const limit = filter.limit ?? ROWS_PER_PAGE;
  const place = cursor === undefined ? [] : readCursor(cursor);
  const statement = statements.list({ owner: owner !== undefined, cursor: cursor !== undefined, filter });
  const given = [owner, ...place, filter.status, filter.dueBefore].filter((value) => value !== undefined);
  const answer = await run(statement, [String(limit + 1), ...given.map((value) => encodeText(String(value)))]);
  const rows = answer === null ? [] : answer.split(RECORD).map(toRow);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return last && rows.length > limit ? { rows: page, cursor: `${last.updatedAt}:${last.id}` } : { rows: page };
}

function toRow(record: string): ThreadRow {
  const [id = "", owner = "", title = "", status, pending, dueAt, updatedAt] = record.split(FIELD);
  const row = {
    id: decodeText(id),
    owner: decodeText(owner),
    title: decodeText(title),
    status: status as ThreadRow["status"], // written by the store from a row
    pending: Number(pending),
    updatedAt: Number(updatedAt),
  };
  return dueAt === undefined || dueAt === "" ? row : { ...row, dueAt: Number(dueAt) };
}

function readCursor(cursor: string): readonly string[] {
  const [, updatedAt, id] = /^(\d+(?:\.\d+)?):(.+)$/s.exec(cursor) ?? [];
  if (updatedAt === undefined || id === undefined) {
    throw new ToolRunError("bad-request", "The cursor of the thread list is none of ours; start at the first page.");
  }
  return [updatedAt, id];
}
