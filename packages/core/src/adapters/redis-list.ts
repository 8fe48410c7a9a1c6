import { ToolRunError } from "../errors.ts";
import type { ThreadFilter, ThreadPage, ThreadRow } from "../store/thread-store.ts";
import { fromName, toName, toSortable } from "./redis-entry.ts";
import type { Run } from "./redis-run.ts";
import { LIST, MARK, OLD_MARKS, ROW, WRITE_ROW } from "./redis-scripts.ts";

/** The keys of the list. All in one slot, which is another one than a thread's. */
export interface ListKeys {
  readonly rows: string;
  readonly index: string;
  readonly marks: string;
  readonly removed: string;
}

const ROWS_PER_PAGE = 50;
/** So that one script never holds up Redis for long. */
const ROWS_PER_SCRIPT = 500;
/** A writer that has not finished by then died on the way. */
const MARK_MS = 10_000;

export function listKeys(prefix: string): ListKeys {
  const key = (name: string): string => `${prefix}:{list}:${name}`;
  return { rows: key("rows"), index: key("index"), marks: key("marks"), removed: key("removed") };
}

/** A row as the scripts keep it: what its places in the index are made of, then its JSON. */
export function toRow(row: ThreadRow): string {
  const due = row.dueAt === undefined ? "-" : toSortable(row.dueAt);
  return `${toSortable(row.updatedAt, "falling")} ${due} ${row.status[0]} ${toName(row.owner)} ${JSON.stringify(row)}`;
}

/**
 * A page of rows, last changed first; equal times are in the order of their ids. `repair` is called first where
 * somebody left a row undone.
 */
export async function listRows(
  run: Run,
  keys: ListKeys,
  owner: string | undefined,
  cursor: string | undefined,
  { status, dueBefore, limit = ROWS_PER_PAGE }: ThreadFilter = {},
  repair?: () => Promise<void>,
): Promise<ThreadPage> {
  if (cursor !== undefined && !/^[0-9a-f]{16}:/.test(cursor)) {
    throw new ToolRunError("bad-request", "The cursor of the thread list is none of ours; start at the first page.");
  }
  const scope = owner === undefined ? "*" : `=${toName(owner)}`;
  const kind = status === "running" ? "r" : dueBefore === undefined ? "a" : "d"; // what runs is due
  const letter = kind === "r" ? "" : (status?.[0] ?? "");
  const due = dueBefore === undefined ? "" : toSortable(dueBefore);
  const found: ThreadRow[] = [];
  let next = cursor ?? "";
  do {
    const size = String(Math.min(limit - found.length, ROWS_PER_SCRIPT));
    const args = [scope, next, size, kind, due, letter, String(MARK_MS)];
    const [undone, more, ...texts] = await run(LIST, [keys.rows, keys.index, keys.marks], args);
    if (repair && Number(undone) > 0) {
      await repair().catch(() => undefined); // a part of a cluster is away: its rows come later
      return listRows(run, keys, owner, cursor, { status, dueBefore, limit });
    }
    for (const text of texts) found.push(JSON.parse(String(text)) as ThreadRow); // written by toRow
    next = String(more);
  } while (next !== "" && found.length < limit);
  return next === "" ? { rows: found } : { rows: found, cursor: next };
}

/** What a thread says about its row, as ROW replies: `ok` with the row and the seq it came with, `gone` or `none`. */
export type RowState = readonly unknown[];

/**
 * Where threads and list cannot be in one script (a cluster), a row is brought to the list by a second one. A mark
 * is set before, so that what a dead writer left undone is found.
 */
export interface ApartList {
  /** Performs a change of a thread and brings its row to the list; `stateOf` says what became of it. */
  around<Result>(id: string, change: () => Promise<Result>, stateOf: (result: Result) => RowState): Promise<Result>;
  /** Does what dead writers left undone. */
  repair(): Promise<void>;
}

export function apartList(run: Run, keys: ListKeys, threadKeys: (id: string) => readonly string[]): ApartList {
  const bring = async (name: string, mark: string, [state, row = "", at = 0]: RowState): Promise<void> => {
    const action = state === "ok" ? "list" : state === "gone" ? "unlist" : "nothing";
    const all = [keys.rows, keys.index, keys.marks, keys.removed];
    await run(WRITE_ROW, all, [name, action, mark, String(row), String(at)]);
  };
  return {
    async around(id, change, stateOf) {
      const name = toName(id);
      const [mark] = await run(MARK, [keys.marks], [name]);
      const result = await change();
      // The change is made: a failure here only leaves the mark.
      await bring(name, String(mark), stateOf(result)).catch(() => undefined);
      return result;
    },
    async repair() {
      const [marks] = await run(OLD_MARKS, [keys.marks], [String(MARK_MS)]);
      const flat = (marks as readonly unknown[]).map(String); // names and marks by turns
      for (let index = 0; index < flat.length; index += 2) {
        const [name = "", mark = ""] = flat.slice(index);
        await bring(name, mark, await run(ROW, threadKeys(fromName(name)), []));
      }
    },
  };
}
