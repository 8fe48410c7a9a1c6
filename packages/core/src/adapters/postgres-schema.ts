import { ToolRunError } from "../errors.ts";
import type { PostgresClient } from "./postgres-client.ts";
import { connectionOf } from "./postgres-client.ts";
import { toPostgresError } from "./postgres-faults.ts";

export interface PostgresSchemaOptions {
  /**
   * The schema that holds the tables, as a plain lower-case name.
   * @defaultValue the connection's own: the first of its `search_path`, mostly `public`
   */
  readonly schema?: string | undefined;
}

/** The tables' names, and the channel of their notifications. */
export interface PostgresNames {
  readonly threads: string;
  readonly appends: string;
  readonly version: string;
  readonly channel: string;
}

/** @throws `invalid-config` for a name that would have to be quoted. */
export function namesIn(schema: string | undefined): PostgresNames {
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) {
    throw new ToolRunError(
      "invalid-config",
      `schema is ${JSON.stringify(schema)}; use at most 40 of a-z, 0-9 and _, a letter first.`,
    );
  }
  const prefix = schema === undefined ? "toolrun_" : `"${schema}".toolrun_`;
  return {
    threads: `${prefix}threads`,
    appends: `${prefix}appends`,
    version: `${prefix}version`,
    channel: schema === undefined ? "toolrun" : `toolrun_${schema}`,
  };
}

/**
 * Everything the store needs, as one statement that may run any number of times, also from several servers at
 * once: it makes what is missing and nothing else. A release that changes the tables adds a version to it.
 */
export const postgresSchema: string = schemaSql(undefined);

/**
 * Brings a database up to date: runs `postgresSchema`. At each deploy, before the new code takes requests.
 * @throws `misconfigured` when the database is too old or its user may not create tables · `unavailable`
 */
export async function migrate(client: PostgresClient, { schema }: PostgresSchemaOptions = {}): Promise<void> {
  const { run } = connectionOf(client);
  try {
    await run(schemaSql(schema), []);
  } catch (error) {
    throw toPostgresError(error);
  }
}

/**
 * - One row a thread, updated by every append: room in its pages (fillfactor) lets PostgreSQL do that without
 *   touching an index; the snapshot is kept outside the row as soon as the row grows.
 * - One row an append, not one an event: the batch id is there once, and PostgreSQL's own 30 bytes a row too.
 * - Names compare by bytes (`collate "C"`): no index breaks when an operating system changes its sorting.
 * - `pg_notify` is in no trigger: see postgres-hubs.ts.
 * - No `if not exists`: it answers with a notice, and some clients print those.
 */
function schemaSql(schema: string | undefined): string {
  const { threads, appends, version } = namesIn(schema);
  const createSchema = `
  if not exists (select from pg_catalog.pg_namespace where nspname = '${schema}') then
    create schema "${schema}";
  end if;`;
  return `do $toolrun$
begin
  if current_setting('server_version_num')::int < 130000 then
    raise exception 'toolrun needs PostgreSQL 13 or newer; this is %.', current_setting('server_version')
      using errcode = 'feature_not_supported';
  end if;
  if getdatabaseencoding() not in ('UTF8', 'SQL_ASCII') then
    raise exception 'toolrun needs a database whose encoding is UTF8; this is %.', getdatabaseencoding()
      using errcode = 'feature_not_supported';
  end if;
  perform pg_advisory_xact_lock(7307493421);${schema === undefined ? "" : createSchema}
  if to_regclass('${version}') is null then
    create table ${version} (
      version int primary key,
      applied_at timestamptz not null default clock_timestamp()
    );
  end if;
  if not exists (select from ${version} where version = 1) then
    create table ${threads} (
      id text collate "C" primary key,
      head bigint not null,
      control bigint not null,
      base bigint not null default 0,
      snapshot_seq bigint,
      snapshot text,
      lease_driver text,
      lease_until timestamptz,
      removed_at timestamptz,
      owner text collate "C",
      title text,
      status text,
      pending bigint,
      due_at double precision,
      updated_at double precision
    ) with (fillfactor = 70, toast_tuple_target = 256, autovacuum_vacuum_scale_factor = 0.05);
    create index toolrun_threads_owner on ${threads} (owner, updated_at desc, id) where owner is not null;
    create index toolrun_threads_running on ${threads} (updated_at) where status = 'running';
    create index toolrun_threads_due on ${threads} (due_at) where due_at is not null;
    create index toolrun_threads_removed on ${threads} (removed_at) where removed_at is not null;
    create table ${appends} (
      thread text collate "C" not null,
      last bigint not null,
      batch text not null,
      events text not null,
      primary key (thread, last)
    );
    insert into ${version} (version) values (1);
  end if;
end
$toolrun$`;
}
