import type { ThreadFilter } from "../store/thread-store.ts";
import type { PostgresNames } from "./postgres-schema.ts";

// Every parameter is text and cast here; every answer is one text: see PostgresConnection.run.
// chr(29), chr(30) and chr(31) are RECORD, FIELD and EVENT of postgres-text.ts.

/** How long the id of a removed thread stays refused. */
const TOMBSTONE = "interval '7 days'";

/** A slow follower gets a long log in pieces: at most so many appends and bytes at a time. */
const PAGE_APPENDS = 200;
const PAGE_BYTES = 1_000_000;

export interface PostgresStatements {
  /** Appends behind the head, or the last control event; `begin` where that is 0. */
  readonly appendAt: string;
  readonly appendAtControl: string;
  readonly beginAt: string;
  readonly beginAtControl: string;
  readonly read: string;
  readonly readPage: string;
  readonly renew: string;
  readonly remove: string;
  readonly purgeAppends: string;
  readonly purgeThreads: string;
  readonly heads: string;
  readonly notify: string;
  list(options: { owner: boolean; cursor: boolean; filter: ThreadFilter }): string;
}

export function statementsFor({ threads, appends }: PostgresNames): PostgresStatements {
  return {
    appendAt: appendSql(update(threads, "head"), appends),
    appendAtControl: appendSql(update(threads, "control"), appends),
    beginAt: appendSql(upsert(threads, "head"), appends),
    beginAtControl: appendSql(upsert(threads, "control"), appends),
    read: readSql(threads, `select b.* from ${appends} b where b.thread = t.id and b.last > c.after`),
    readPage: readSql(
      threads,
      `select p.* from (
         select b.last, b.batch, b.events,
           sum(octet_length(b.events)) over (order by b.last) - octet_length(b.events) as before
         from (
           select * from ${appends} a where a.thread = t.id and a.last > c.after
           order by a.last limit ${PAGE_APPENDS}
         ) b
       ) p where p.before < ${PAGE_BYTES}`,
    ),
    renew: `update ${threads} set lease_until = clock_timestamp() + $3::text::double precision * interval '1 ms'
      where id = $1::text and removed_at is null and lease_driver = $2::text and lease_until > clock_timestamp()
      returning concat(head, chr(30), control)`,
    remove: `update ${threads} set removed_at = clock_timestamp(), snapshot_seq = null, snapshot = null,
        lease_driver = null, lease_until = null,
        owner = null, title = null, status = null, pending = null, due_at = null, updated_at = null
      where id = $1::text and removed_at is null
      returning id`,
    // In a statement of its own: it must see what an append wrote while the removal waited for it.
    purgeAppends: `delete from ${appends} where thread in (
      select id from ${threads} where id = $1::text and removed_at is not null
      union all
      (select id from ${threads} where removed_at <= clock_timestamp() - ${TOMBSTONE} limit 100))`,
    purgeThreads: `delete from ${threads} t where removed_at <= clock_timestamp() - ${TOMBSTONE}
      and not exists (select from ${appends} a where a.thread = t.id)`,
    heads: `select string_agg(
        concat(id, chr(30), case when removed_at is null then head::text else 'removed' end), chr(29))
      from ${threads} where id = any(string_to_array($1::text, chr(31)))`,
    notify: "select count(pg_notify($1::text, payload))::text from unnest(string_to_array($2::text, chr(31))) payload",
    list: (options) => listSql(threads, options),
  };
}

// $1 id, $2 position, $3 number of events, $4 which of them is the last control event or 0, $5 batch, $6 events,
// $7 claiming driver, $8 its span, $9 releasing driver, $10 snapshot, $11-$16 owner, title, status, pending, due, updated
const CLAIMED_UNTIL = "clock_timestamp() + $8::text::double precision * interval '1 ms'";

/** What both an update and a first insert that found somebody else's row do with it. */
const MOVE = `
    head = t.head + $3::text::bigint,
    control = case when $4::text = '0' then t.control else t.head + $4::text::bigint end,
    base = case when $10::text is null then t.base else coalesce(t.snapshot_seq, t.base) end,
    snapshot_seq = case when $10::text is null then t.snapshot_seq else t.head + $3::text::bigint end,
    snapshot = coalesce($10::text, t.snapshot),
    lease_driver = case when $7::text is not null then $7::text
      when t.lease_driver = $9::text then null else t.lease_driver end,
    lease_until = case when $7::text is null then t.lease_until else ${CLAIMED_UNTIL} end,
    owner = coalesce($11::text, t.owner),
    title = coalesce($12::text, t.title),
    status = coalesce($13::text, t.status),
    pending = coalesce($14::text::bigint, t.pending),
    due_at = case when $11::text is null then t.due_at else $15::text::double precision end,
    updated_at = coalesce($16::text::double precision, t.updated_at)`;

/** Judged again on the newest version of the row by whoever waited for its lock: that is the compare-and-set. */
const mayMove = (position: "head" | "control"): string => `
    t.removed_at is null and t.${position} = $2::text::bigint and ($7::text is null or t.lease_driver is null
      or t.lease_driver = $7::text or t.lease_until <= clock_timestamp())
  returning t.head, t.base`;

const update = (threads: string, position: "head" | "control"): string =>
  `update ${threads} t set ${MOVE} where t.id = $1::text and ${mayMove(position)}`;

const upsert = (threads: string, position: "head" | "control"): string =>
  `insert into ${threads} as t (id, head, control, snapshot_seq, snapshot, lease_driver, lease_until,
    owner, title, status, pending, due_at, updated_at)
  values ($1::text, $3::text::bigint, $4::text::bigint,
    case when $10::text is null then null else $3::text::bigint end, $10::text,
    $7::text, case when $7::text is null then null else ${CLAIMED_UNTIL} end,
    $11::text, $12::text, $13::text, $14::text::bigint, $15::text::double precision, $16::text::double precision)
  on conflict (id) do update set ${MOVE} where ${mayMove(position)}`;

/** One statement, so one transaction also where a client has no transactions. No row: refused, and nothing written. */
const appendSql = (move: string, appends: string): string => `with moved as (${move}
), written as (
  insert into ${appends} (thread, last, batch, events) select $1::text, head, $5::text, $6::text from moved
), trimmed as (
  delete from ${appends} a using moved where $10::text is not null and a.thread = $1::text and a.last <= moved.base
)
select head::text from moved`;

/**
 * $1 id, $2 cursor or null. "gone", "past" (a tombstone that is over), or records: first head, control, lease and
 * snapshot, then the appends behind the cursor, else behind the snapshot. One statement: one consistent view.
 */
const readSql = (threads: string, behind: string): string => `select case
    when t.removed_at > clock_timestamp() - ${TOMBSTONE} then 'gone'
    when t.removed_at is not null then 'past'
    else concat_ws(chr(29),
      concat(t.head, chr(30), t.control, chr(30), c.joins, chr(30),
        t.lease_driver, chr(30), extract(epoch from t.lease_until) * 1000, chr(30), clock_timestamp() < t.lease_until,
        chr(30), t.snapshot_seq, chr(30), case when not c.joins then t.snapshot end),
      (select string_agg(concat(b.last, chr(30), b.batch, chr(30), b.events), chr(29) order by b.last)
        from (${behind}) b))
  end
  from ${threads} t
  cross join lateral (select coalesce($2::text::bigint between t.base and t.head, false) as joins) j
  cross join lateral (select j.joins,
    case when j.joins then $2::text::bigint else coalesce(t.snapshot_seq, 0) end as after) c
  where t.id = $1::text`;

/** $1 limit; then, where asked for, owner, time and id of the last row seen, status, due time. */
function listSql(
  threads: string,
  { owner, cursor, filter }: { owner: boolean; cursor: boolean; filter: ThreadFilter },
): string {
  let count = 1;
  const next = (): string => `$${++count}::text`;
  const conditions = [owner ? `owner = ${next()}` : "owner is not null"];
  if (cursor) {
    const time = `${next()}::double precision`;
    conditions.push(`updated_at <= ${time} and (updated_at < ${time} or id > ${next()})`);
  }
  if (filter.status !== undefined) conditions.push(`status = ${next()}`);
  if (filter.dueBefore !== undefined) {
    conditions.push(`(status = 'running' or due_at <= ${next()}::double precision)`);
  }
  return `select string_agg(concat(id, chr(30), owner, chr(30), title, chr(30), status, chr(30), pending, chr(30),
      due_at, chr(30), updated_at), chr(29) order by updated_at desc, id)
    from (select * from ${threads} where ${conditions.join(" and ")}
      order by updated_at desc, id limit $1::text::bigint) r`;
}
