import type { PGlite } from "@electric-sql/pglite";
import type { Pool as NeonPool, neon } from "@neondatabase/serverless";
import type pg from "pg";
import type postgres from "postgres";
import type { PostgresClient } from "../../src/postgres.ts";

/** Every client of the table in docs/stores.md is taken as its own package declares it. */
export const taken: readonly [
  (client: pg.Pool) => PostgresClient,
  (client: pg.Client) => PostgresClient,
  (client: pg.PoolClient) => PostgresClient,
  (client: postgres.Sql) => PostgresClient,
  (client: PGlite) => PostgresClient,
  (client: ReturnType<typeof neon>) => PostgresClient,
  (client: NeonPool) => PostgresClient,
  (client: { query(text: string, params: unknown[]): Promise<object[]> }) => PostgresClient,
  (client: (text: string, params: (string | null)[]) => Promise<{ rows: object[] }>) => PostgresClient,
] = [
  (client) => client,
  (client) => client,
  (client) => client,
  (client) => client,
  (client) => client,
  (client) => client,
  (client) => client,
  (client) => client,
  (client) => client,
];

// @ts-expect-error a connection string is no client
export const text: PostgresClient = "postgres://localhost/app";

// @ts-expect-error neither has an object without a method
export const nothing: PostgresClient = {};

// @ts-expect-error a statement is a text
export const numbers: PostgresClient = { query: async (statement: number) => statement };
