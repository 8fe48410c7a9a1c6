import { ToolRunError } from "../errors.ts";
import type { MemoryData } from "./memory-log.ts";
import type { ThreadFilter, ThreadPage, ThreadRow } from "./thread-store.ts";

const ROWS_PER_PAGE = 50;

/** A page of rows, last changed first; equal times are in order of their ids, so that paging never skips one. */
export function listMemory(
  data: MemoryData,
  owner: string | undefined,
  cursor: string | undefined,
  filter: ThreadFilter = {},
): ThreadPage {
  const start = cursor === undefined ? undefined : readCursor(cursor);
  const rows: ThreadRow[] = [];
  for (const { row } of data.logs.values()) {
    if (row && matches(row, owner, filter) && (!start || newestFirst(start, row) < 0)) rows.push(row);
  }
  rows.sort(newestFirst);
  const page = rows.slice(0, filter.limit ?? ROWS_PER_PAGE).map((row) => ({ ...row }));
  const last = page.at(-1);
  return last && rows.length > page.length ? { rows: page, cursor: `${last.updatedAt}:${last.id}` } : { rows: page };
}

function matches(row: ThreadRow, owner: string | undefined, { status, dueBefore }: ThreadFilter): boolean {
  if (owner !== undefined && row.owner !== owner) return false;
  if (status !== undefined && row.status !== status) return false;
  return dueBefore === undefined || row.status === "running" || (row.dueAt !== undefined && row.dueAt <= dueBefore);
}

type Place = Pick<ThreadRow, "updatedAt" | "id">;

function newestFirst(left: Place, right: Place): number {
  if (left.updatedAt !== right.updatedAt) return right.updatedAt - left.updatedAt;
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}

function readCursor(cursor: string): Place {
  const [, updatedAt, id] = /^(\d+(?:\.\d+)?):(.+)$/s.exec(cursor) ?? [];
  if (updatedAt === undefined || id === undefined) {
    throw new ToolRunError("bad-request", "The cursor of the thread list is none of ours; start at the first page.");
  }
  return { updatedAt: Number(updatedAt), id };
}
