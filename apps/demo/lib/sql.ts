/**
 * What a parameter may be. JSON goes in as text and is cast in the statement (`$1::text::jsonb`), lists as text too
 * (`string_to_array($1, ',')`): the two drivers encode objects and arrays differently, and agree on these.
 */
export type SqlParam = string | number | boolean | Date | null;

/** A row as the driver gave it: unknown until a schema has parsed it. Cast counts to `int`, or drivers disagree. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** The one SQL interface of the demo: the database itself, or one transaction of it. */
export interface Sql {
  /** Runs one statement with `$1`, `$2`, … and gives its rows. */
  query(text: string, params?: readonly SqlParam[]): Promise<readonly SqlRow[]>;
}

/** Work that is done whole or not at all. */
export type Transaction = <Result>(work: (sql: Sql) => Promise<Result>) => Promise<Result>;

/** A database: embedded PGlite or a real Postgres behind the same three functions. */
export interface Database extends Sql {
  /** Commits when `work` resolves, rolls back when it throws. Use only the `sql` handed in, or you wait for yourself. */
  readonly transaction: Transaction;
  /** Runs several statements without parameters, all or none of them: a schema. */
  readonly script: (text: string) => Promise<void>;
  /** Gives back the connection and, for an embedded database, its lock. */
  readonly close: () => Promise<void>;
}
