import { PGlite } from "@electric-sql/pglite";
import { neon, neonConfig } from "@neondatabase/serverless";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { migrate, type PostgresClient, postgresStore } from "../../src/postgres.ts";
import { storeConformance } from "../../src/testing/store-conformance.ts";
import { startNeon } from "./neon-server.ts";
import {
  movableClock,
  moveClock,
  type PostgresServer,
  postgresBinaries,
  startPostgres,
  withClient,
} from "./postgres-server.ts";

interface Opened {
  readonly client: PostgresClient;
  moveClock(ms: number): Promise<unknown>;
  close(): Promise<unknown>;
}

/** The suite on one client of one database; every case has a store of its own on it. */
function conform(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    let opened: Opened;
    beforeAll(async () => {
      opened = await open();
      await migrate(opened.client);
    }, 60_000);
    afterAll(() => opened?.close());
    storeConformance(
      name,
      async () => ({
        store: postgresStore(opened.client),
        other: postgresStore(opened.client, { listen: false }), // notifies nobody
        advance: async (ms) => void (await opened.moveClock(ms)),
        close: () => {},
      }),
      { describe, it },
    );
  });
}

describe.skipIf(postgresBinaries === undefined)("PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.stop());

  conform("pg", async () => {
    const url = await server.createDatabase(...movableClock);
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    return { client: pool, moveClock: (ms) => pool.query(moveClock(ms)), close: () => pool.end() };
  });

  conform("postgres.js", async () => {
    const url = await server.createDatabase(...movableClock);
    const sql = postgres(url, { max: 10, onnotice: (notice) => console.warn(notice.message) });
    return { client: sql, moveClock: (ms) => sql.unsafe(moveClock(ms)), close: () => sql.end() };
  });

  conform("neon() over HTTP", async () => {
    const url = await server.createDatabase(...movableClock);
    const http = await startNeon(url);
    neonConfig.fetchEndpoint = http.endpoint;
    const sql = neon("postgres://user:password@db.example.com/test");
    const move = (ms: number): Promise<unknown> => withClient(url, (client) => client.query(moveClock(ms)));
    return { client: sql, moveClock: move, close: () => http.close() };
  });
});

describe("PGlite", () => {
  let pglite: PGlite;
  beforeAll(async () => {
    pglite = await PGlite.create();
    for (const statement of movableClock) await pglite.exec(statement);
    await pglite.exec("set search_path = clocked, pg_catalog, public");
  }, 60_000);
  afterAll(() => pglite?.close());

  conform("PGlite", async () => ({
    client: pglite,
    moveClock: (ms) => pglite.exec(moveClock(ms)),
    close: async () => {},
  }));

  test("two stores on one instance hear each other", async () => {
    const [left, right] = [postgresStore(pglite), postgresStore(pglite)];
    const [control, id] = [new AbortController(), crypto.randomUUID()];
    const next = left.follow(id, 0, control.signal)[Symbol.asyncIterator]().next();
    await right.append(id, { at: 0 }, { batch: "b", events: [{ control: true, data: "a" }] });
    expect(await next).toMatchObject({ value: { type: "events", events: [{ data: "a" }] } });
    control.abort();
  });
});
