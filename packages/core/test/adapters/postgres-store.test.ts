import { neon, neonConfig } from "@neondatabase/serverless";
import pg from "pg";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import {
  migrate,
  type PostgresClient,
  type PostgresStoreOptions,
  postgresSchema,
  postgresStore,
} from "../../src/postgres.ts";
import { createToolRun, type ToolRun } from "../../src/server/create-tool-run.ts";
import type { Append, FollowChange, ThreadStore } from "../../src/store/thread-store.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { codeBlocks, read, section } from "../docs/read-docs.ts";
import { startNeon } from "./neon-server.ts";
import { type PostgresServer, postgresBinaries, startPostgres, withClient } from "./postgres-server.ts";
import { stealReplies } from "./reply-thief.ts";

// Real services on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

const one = (data: string, rest: Partial<Append> = {}): Append => ({
  batch: `batch of ${data}`,
  events: [{ control: true, data }],
  ...rest,
});

/** Ended after each test, last first. */
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function poolOf(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options });
  pool.on("error", () => {});
  endings.push(() => pool.end());
  return pool;
}

/** A follower that is asked step by step; it ends with the test. */
function follower(store: ThreadStore, id: string, after: number): { next(): Promise<FollowChange>; end(): void } {
  const control = new AbortController();
  endings.push(() => control.abort());
  const changes = store.follow(id, after, control.signal)[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await changes.next();
      if (done) throw new Error("The follower ended.");
      return value;
    },
    end: () => control.abort(),
  };
}

async function dataOf(change: Promise<FollowChange>): Promise<readonly string[]> {
  const value = await change;
  if (value.type !== "events") throw new Error(`Not events but ${value.type}.`);
  return value.events.map(({ data }) => data);
}

/** Asks again until the answer is the one that is waited for. */
async function until<Value>(ask: () => Promise<Value>, isIt: (value: Value) => boolean): Promise<Value> {
  for (const give = Date.now() + 15_000; ; ) {
    const value = await ask();
    if (isIt(value)) return value;
    if (Date.now() > give) throw new Error(`Still ${JSON.stringify(value)}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.skipIf(postgresBinaries === undefined)("the Postgres store on PostgreSQL", () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = await server.createDatabase(postgresSchema);
  }, 60_000);
  afterAll(() => server?.stop());

  const open = (options?: PostgresStoreOptions, config?: pg.PoolConfig): ThreadStore =>
    postgresStore(poolOf(url, config), options);
  const newId = (): string => crypto.randomUUID();

  describe("a lost reply", () => {
    const clients: readonly (readonly [string, (url: string) => PostgresClient])[] = [
      ["pg", (address) => poolOf(address)],
      [
        "postgres.js",
        (address) => {
          const sql = postgres(address, { max: 2 });
          endings.push(() => sql.end({ timeout: 1 }));
          return sql;
        },
      ],
    ];

    test.each(clients)("of an append through %s: the same batch sent again is in the log once", async (_, connect) => {
      const thief = await stealReplies(server.port);
      endings.push(() => thief.close());
      const store = postgresStore(connect(url.replace(/:\d+\//, `:${thief.port}/`)), { listen: false });
      const id = newId();
      await store.append(id, { at: 0 }, one("a"));
      const append = one("b", { lease: { driverId: "A", ttlMs: 60_000 } });
      thief.loseReplyTo("batch of b");
      await expect(store.append(id, { at: 1 }, append)).rejects.toMatchObject({ code: "unavailable" });
      expect(thief.lost).toBe(1);
      expect(await store.append(id, { at: 1 }, append)).toMatchObject({
        status: "conflict",
        head: 2,
        events: [{ batch: append.batch, data: "b" }],
      });
      expect(await store.append(id, { at: 2 }, one("c"))).toMatchObject({ status: "ok", head: 3 });
    });

    test("of a first append: the thread began once", async () => {
      const thief = await stealReplies(server.port);
      endings.push(() => thief.close());
      const store = postgresStore(poolOf(url.replace(/:\d+\//, `:${thief.port}/`)), { listen: false });
      const id = newId();
      thief.loseReplyTo("batch of a");
      await expect(store.append(id, { at: 0 }, one("a"))).rejects.toMatchObject({ code: "unavailable" });
      expect(await store.append(id, { at: 0 }, one("a"))).toMatchObject({ status: "conflict", head: 1 });
    });
  });

  describe("text", () => {
    const hard = "\0 \ud800 \udc00 \u0010 \u001d\u001e\u001f \ufeff € 👍 ' \" \\";

    test("of every kind comes back as it was, in ids, owners, titles and batches too", async () => {
      const store = open();
      const id = `${newId()} ${hard}`;
      const row = {
        id,
        owner: `${id} o`,
        title: hard,
        status: "waiting",
        pending: 1,
        dueAt: 1.5,
        updatedAt: 2.25,
      } as const;
      const first = { batch: hard, events: [{ control: false, data: hard }], row, snapshot: hard };
      const live = follower(store, id, 0);
      expect(await store.append(id, { at: 0 }, { ...first, lease: { driverId: hard, ttlMs: 60_000 } })).toMatchObject({
        head: 1,
      });
      expect(await dataOf(live.next())).toEqual([hard]);
      const event = { seq: 1, batch: hard, control: false, data: hard };
      expect(await store.read(id, 0)).toEqual({ head: 1, control: 0, events: [event] });
      expect(await store.read(id)).toEqual({ head: 1, control: 0, snapshot: { seq: 1, data: hard }, events: [] });
      expect((await store.lease(id, hard, 60_000)).status).toBe("ok");
      await store.append(`${id}2`, { at: 0 }, one("b", { row: { ...row, id: `${id}2` } }));
      const page = await store.list(row.owner, undefined, { limit: 1 });
      expect(page.rows).toEqual([row]);
      expect((await store.list(row.owner, page.cursor, { limit: 1 })).rows).toMatchObject([{ id: `${id}2` }]);
      await store.remove(id);
      expect(await store.read(id)).toEqual({ gone: true });
    });

    test.each(["__proto__", ""])("an id and an owner may be %j", async (name) => {
      const store = open();
      const live = follower(store, name, 0);
      const next = live.next();
      const row = { id: name, owner: name, title: "", status: "ended", pending: 0, updatedAt: 1 } as const;
      await postgresStore(poolOf(url), { listen: false }).append(name, { at: 0 }, one("a", { row }));
      expect(await dataOf(next)).toEqual(["a"]);
      expect((await store.list(name)).rows).toEqual([row]);
    });
  });

  describe("followers of another process", () => {
    test("are notified with an id and a head, nothing else", async () => {
      const heard: (string | undefined)[] = [];
      const ear = new pg.Client({ connectionString: url });
      await ear.connect();
      endings.push(() => ear.end());
      ear.on("notification", ({ payload }) => heard.push(payload));
      await ear.query("listen toolrun");
      const [id, store] = [newId(), open()];
      await store.append(id, { at: 0 }, one("secret"));
      await store.append(id, { at: 1 }, one("secret"));
      await store.remove(id);
      await until(
        async () => heard,
        (payloads) => payloads.includes(`removed ${id}`),
      );
      for (const payload of heard) expect([`1 ${id}`, `2 ${id}`, `removed ${id}`]).toContain(payload);
    });

    test("see what nobody notified them of, and then look more often", async () => {
      const id = newId();
      const live = follower(open(), id, 0);
      const silent = open({ listen: false });
      const start = performance.now();
      for (let head = 0; head < 4; head++) {
        const next = live.next();
        await silent.append(id, { at: head }, one(`${head}`));
        expect(await dataOf(next)).toEqual([`${head}`]);
      }
      expect(performance.now() - start).toBeLessThan(5000);
    });

    test("see it although their session hears nothing, as behind a pooler", async () => {
      const pool = poolOf(url);
      const deaf = {
        totalCount: 1,
        query: (text: string, params?: (string | null)[]) => pool.query(text, params),
        connect: async () => ({ query: async () => {}, on: () => {}, removeListener: () => {}, release: () => {} }),
      };
      const id = newId();
      const live = follower(postgresStore(deaf), id, 0);
      const writer = open();
      const start = performance.now();
      for (let head = 0; head < 3; head++) {
        const next = live.next();
        await writer.append(id, { at: head }, one(`${head}`));
        expect(await dataOf(next)).toEqual([`${head}`]);
      }
      expect(performance.now() - start).toBeLessThan(5000);
    });

    test("get a long log in pieces, whole: many appends, large ones", async () => {
      const store = open({ listen: false });
      const [many, large] = [newId(), newId()];
      for (let head = 0; head < 450; head++) await store.append(many, { at: head }, one(`${head}`));
      for (let head = 0; head < 6; head++) await store.append(large, { at: head }, one("x".repeat(600_000)));
      for (const [id, total] of [
        [many, 450],
        [large, 6],
      ] as const) {
        const live = follower(open(), id, 0);
        const pieces: number[] = [];
        for (let seen = 0; seen < total; seen += pieces.at(-1) ?? 0) pieces.push((await dataOf(live.next())).length);
        expect(pieces).toEqual(id === many ? [200, 200, 50] : [2, 2, 2]);
      }
    });

    test("are reset when a snapshot trims past them, never given a hole", async () => {
      const id = newId();
      const writer = open();
      await writer.append(id, { at: 0 }, one("1"));
      const live = follower(open(), id, 0);
      expect(await dataOf(live.next())).toEqual(["1"]);
      for (let head = 1; head < 8; head++) {
        await writer.append(id, { at: head }, one(`${head + 1}`, { snapshot: `s${head + 1}` }));
      }
      expect(await live.next()).toEqual({ type: "reset" });
      expect(await writer.read(id, 7)).toMatchObject({ head: 8, events: [{ seq: 8 }] });
      const rows = await withClient(url, (client) =>
        client.query("select count(*)::int from toolrun_appends where thread = $1", [id]),
      );
      expect(rows.rows).toEqual([{ count: 1 }]);
    });
  });

  describe("the session that listens", () => {
    const sessions = "select pid from pg_stat_activity where query ilike 'listen %' and datname = current_database()";
    const ask = async (): Promise<readonly number[]> =>
      (await withClient(url, (client) => client.query(sessions))).rows.map(({ pid }) => pid);

    test("is one for all followers, and goes back to the pool with the last", async () => {
      const pool = poolOf(url, { max: 3 });
      const store = postgresStore(pool);
      const lives = Array.from({ length: 20 }, () => follower(store, newId(), 0));
      for (const live of lives) live.next().catch(() => {});
      const [pid] = await until(ask, (pids) => pids.length === 1);
      expect(pid).toBeGreaterThan(0);
      for (const live of lives) live.end();
      await until(ask, (pids) => pids.length === 0);
      await until(
        async () => pool.idleCount,
        (count) => count === pool.totalCount,
      );
    });

    test("that breaks is replaced", async () => {
      const id = newId();
      const live = follower(open(), id, 0);
      const first = live.next();
      const [pid] = await until(ask, (pids) => pids.length === 1);
      await withClient(url, (client) => client.query("select pg_terminate_backend($1)", [pid]));
      await until(ask, (pids) => pids.length === 1 && pids[0] !== pid);
      await open().append(id, { at: 0 }, one("a"));
      expect(await dataOf(first)).toEqual(["a"]);
    });

    test("of postgres.js that breaks is replaced", async () => {
      const sql = postgres(url, { max: 2 });
      endings.push(() => sql.end({ timeout: 1 }));
      const id = newId();
      const live = follower(postgresStore(sql), id, 0);
      const first = live.next();
      const [pid] = await until(ask, (pids) => pids.length === 1);
      await withClient(url, (client) => client.query("select pg_terminate_backend($1)", [pid]));
      await until(ask, (pids) => pids.length === 1 && pids[0] !== pid);
      await open().append(id, { at: 0 }, one("a"));
      expect(await dataOf(first)).toEqual(["a"]);
    });

    test("may be the client itself, where that is a single connection", async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      endings.push(() => client.end());
      const store = postgresStore(client);
      const id = newId();
      const first = follower(store, id, 0).next();
      await open().append(id, { at: 0 }, one("a"));
      expect(await dataOf(first)).toEqual(["a"]);
    });

    test("that is the client itself and breaks does not end the process", async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      endings.push(() => client.end().catch(() => {}));
      const store = postgresStore(client);
      follower(store, newId(), 0)
        .next()
        .catch(() => {});
      const listening = "select pg_backend_pid() as pid from pg_listening_channels()";
      const [session] = await until(
        async () => (await client.query(listening)).rows,
        (rows) => rows.length === 1,
      );
      await withClient(url, (other) => other.query("select pg_terminate_backend($1)", [session?.pid]));
      const code = (): Promise<unknown> => store.read("t").catch((error: { code: string }) => error.code);
      expect(await until(code, (value) => value !== null)).toBe("unavailable");
    });

    test("is not taken from a pool of one", async () => {
      const store = open({}, { max: 1 });
      const id = newId();
      const first = follower(store, id, 0).next();
      await open({ listen: false }).append(id, { at: 0 }, one("a"));
      expect(await dataOf(first)).toEqual(["a"]);
      expect(await ask()).toEqual([]);
    });
  });

  describe("faults", () => {
    const never = { code: "unavailable" };

    test("a read-only database refuses writes, says so, and is still read", async () => {
      const id = newId();
      await open().append(id, { at: 0 }, one("a"));
      const standby = open({}, { options: "-c default_transaction_read_only=on" });
      const refused = standby.append(id, { at: 1 }, one("b"));
      await expect(refused).rejects.toMatchObject({
        ...never,
        message: expect.stringMatching(/read-only.*primary.*25006/),
      });
      await expect(refused).rejects.toHaveProperty("cause.code", "25006");
      await expect(standby.remove(id)).rejects.toMatchObject(never);
      expect(await standby.read(id)).toMatchObject({ head: 1 });
      expect(await dataOf(follower(standby, id, 0).next())).toEqual(["a"]);
    });

    test("a database without the tables names the command that makes them", async () => {
      const empty = postgresStore(poolOf(await server.createDatabase()));
      const fix = { code: "misconfigured", message: expect.stringContaining("migrate(client)") };
      await expect(empty.read("t")).rejects.toMatchObject(fix);
      await expect(empty.append("t", { at: 0 }, one("a"))).rejects.toMatchObject(fix);
      await expect(follower(empty, "t", 0).next()).rejects.toMatchObject(fix);
      await expect(open({ schema: "nowhere" }).list("o")).rejects.toMatchObject(fix);
    });

    test("of an HTTP driver say the same: no tables, nobody there", async () => {
      const http = await startNeon(await server.createDatabase());
      neonConfig.fetchEndpoint = http.endpoint;
      const store = postgresStore(neon("postgres://user:password@db.example.com/test"));
      await expect(store.read("t")).rejects.toMatchObject({ code: "misconfigured", message: /migrate.*42P01/ });
      await http.close();
      await expect(store.append("t", { at: 0 }, one("a"))).rejects.toMatchObject({ code: "unavailable" });
    });

    test("a user without rights learns which are needed", async () => {
      await withClient(url, (client) => client.query("create role guest login"));
      const guest = postgresStore(poolOf(url.replace("toolrun@", "guest@")));
      await expect(guest.read("t")).rejects.toMatchObject({
        code: "misconfigured",
        message: expect.stringContaining("grant"),
      });
    });

    test.each(["serializable", "repeatable read"])(
      "at isolation %s one of 40 concurrent appends wins, the others conflict",
      async (level) => {
        const store = open({}, { options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}` });
        const id = newId();
        for (const at of [0, 1]) {
          const results = await Promise.all(
            Array.from({ length: 40 }, (_, index) => store.append(id, { at }, one(`${at}.${index}`))),
          );
          expect(results.filter(({ status }) => status === "ok")).toHaveLength(1);
          expect(results.filter(({ status }) => status === "conflict")).toHaveLength(39);
        }
      },
    );

    test("a conflict of transactions that never ends is unavailable after some tries, one that ends is none", async () => {
      const pool = poolOf(url);
      let left = 3;
      const shaky = {
        query: async (text: string, params?: (string | null)[]) => {
          if (left-- > 0) throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
          return pool.query(text, params);
        },
      };
      const id = newId();
      expect(await postgresStore(shaky).append(id, { at: 0 }, one("a"))).toMatchObject({ status: "ok" });
      left = 1000;
      await expect(postgresStore(shaky).append(id, { at: 1 }, one("b"))).rejects.toMatchObject(never);
      expect(left).toBeGreaterThan(990);
    });

    test("a statement timeout is unavailable, and wrote nothing", async () => {
      const id = newId();
      await open().append(id, { at: 0 }, one("a"));
      const hasty = open({}, { statement_timeout: 100 });
      await withClient(url, async (client) => {
        await client.query("begin");
        await client.query("select from toolrun_threads where id = $1 for update", [id]);
        await expect(hasty.append(id, { at: 1 }, one("b"))).rejects.toMatchObject({
          ...never,
          message: expect.stringContaining("57014"),
        });
      });
      expect(await hasty.append(id, { at: 1 }, one("c"))).toMatchObject({ status: "ok", head: 2 });
    });

    test("an exhausted pool, a closed one, and an address where nobody listens say which they are", async () => {
      const pool = poolOf(url, { max: 1, connectionTimeoutMillis: 50 });
      const taken = await pool.connect();
      await expect(postgresStore(pool).read("t")).rejects.toMatchObject({
        ...never,
        message: expect.stringContaining("max"),
      });
      taken.release();
      const closed = new pg.Pool({ connectionString: url });
      await closed.end();
      await expect(postgresStore(closed).read("t")).rejects.toMatchObject({
        ...never,
        message: expect.stringContaining("ended"),
      });
      const nobody = postgresStore(poolOf("postgres://toolrun@127.0.0.1:1/x"));
      await expect(nobody.read("t")).rejects.toMatchObject({
        ...never,
        message: expect.stringContaining("ECONNREFUSED"),
      });
    });

    test("a failover that lost writes is a conflict for writers, a reset for followers", async () => {
      const [id, store] = [newId(), open()];
      for (let head = 0; head < 5; head++) await store.append(id, { at: head }, one(`${head + 1}`));
      const live = follower(open(), id, 4);
      expect(await dataOf(live.next())).toEqual(["5"]);
      const changed = live.next();
      await withClient(url, (client) =>
        client.query(`with lost as (delete from toolrun_appends where thread = '${id}' and last > 3)
          update toolrun_threads set head = 3, control = 3 where id = '${id}'`),
      );
      expect(await changed).toEqual({ type: "reset" });
      const result = await store.append(id, { at: 5 }, one("6"));
      expect(result).toMatchObject({
        status: "conflict",
        head: 3,
        events: [{ data: "1" }, { data: "2" }, { data: "3" }],
      });
      await withClient(url, (client) => client.query(`delete from toolrun_threads where id = '${id}'`));
      expect(await store.append(id, { at: 5 }, one("6"))).toEqual({
        status: "conflict",
        head: 0,
        control: 0,
        events: [],
      });
    });

    test("a lease ends by the database's clock, whatever the process thinks", async () => {
      const [id, store] = [newId(), open()];
      const claim = (driverId: string): Partial<Append> => ({ lease: { driverId, ttlMs: 300 } });
      await store.append(id, { at: 0 }, one("a", claim("A")));
      const held = await store.append(id, { at: 1 }, one("b", claim("B")));
      expect(held.status).toBe("held");
      const won = await until(
        () => store.append(id, { at: 1 }, one("b", claim("B"))),
        ({ status }) => status === "ok",
      );
      expect(won).toMatchObject({ head: 2 });
    });
  });

  describe("a restart of the database", () => {
    test("ends with a power cut: writers hear of it, followers go on behind it", async () => {
      const own = await startPostgres({ synchronous_commit: "on" });
      endings.push(() => own.stop());
      const address = await own.createDatabase(postgresSchema);
      const store = postgresStore(poolOf(address));
      const id = newId();
      await store.append(id, { at: 0 }, one("a"));
      const live = follower(postgresStore(poolOf(address)), id, 0);
      expect(await dataOf(live.next())).toEqual(["a"]);
      const next = live.next();
      await own.kill();
      await expect(store.append(id, { at: 1 }, one("b"))).rejects.toMatchObject({ code: "unavailable" });
      await own.start();
      const { head } = (await store.read(id)) as { head: number };
      await store.append(id, { at: head }, one("c"));
      expect(await next).toMatchObject({ type: "events" });
    }, 60_000);
  });

  describe("the schema", () => {
    test("may be made any number of times, by several at once, and names its version", async () => {
      const address = await server.createDatabase();
      const pool = poolOf(address, { max: 8 });
      await Promise.all(Array.from({ length: 8 }, () => migrate(pool)));
      await pool.query(postgresSchema);
      expect((await pool.query("select version from toolrun_version")).rows).toEqual([{ version: 1 }]);
    });

    test("may be several in one database, which do not see each other", async () => {
      const pool = poolOf(await server.createDatabase());
      for (const schema of ["left", "right"]) await migrate(pool, { schema });
      const [left, right] = ["left", "right"].map((schema) => postgresStore(pool, { schema }));
      await left?.append("t", { at: 0 }, one("a"));
      expect(await right?.read("t")).toBeNull();
      expect(await left?.read("t")).toMatchObject({ head: 1 });
    });

    test("is refused by a database that is too old, or cannot keep every character, with the reason", async () => {
      // A function of that name in front of PostgreSQL's own makes this one look old.
      const old = await server.createDatabase(
        `create function public.current_setting(text) returns text language sql as
          $$ select case $1 when 'server_version_num' then '120022' else '12.22' end $$`,
        "do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$",
      );
      await expect(migrate(poolOf(old))).rejects.toMatchObject({
        code: "misconfigured",
        message: /13 or newer.*12\.22/,
      });
      await withClient(url, (client) => client.query("create database latin encoding latin1 template template0"));
      await expect(migrate(poolOf(url.replace(/[^/]+$/, "latin")))).rejects.toMatchObject({
        code: "misconfigured",
        message: /UTF8.*LATIN1/,
      });
    });

    test("has the indexes that the lists need", async () => {
      const pool = poolOf(await server.createDatabase(postgresSchema));
      await pool.query(`insert into toolrun_threads (id, head, control, owner, title, status, pending, due_at, updated_at)
        select 't' || i, 1, 1, 'o' || i % 1000, 't', case i % 5000 when 0 then 'running' else 'waiting' end, 1, 1000 + i, i
        from generate_series(1, 30000) i`);
      await pool.query("analyze toolrun_threads");
      const plans: string[] = [];
      const store = postgresStore(async (text, params) => {
        const { rows } = await pool.query(`explain ${text}`, params);
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        return [];
      });
      await store.list("o7");
      await store.list("o7", "5000:t5000");
      await store.list(undefined, undefined, { dueBefore: 1100 });
      await store.list(undefined, "5000:t5000", { dueBefore: 1100 });
      expect(plans.map((plan) => plan.match(/toolrun_threads_\w+/g)?.sort())).toEqual([
        ["toolrun_threads_owner"],
        ["toolrun_threads_owner"],
        ["toolrun_threads_due", "toolrun_threads_running"],
        ["toolrun_threads_due", "toolrun_threads_running"],
      ]);
    });

    test("lets an append without a row touch no index and no snapshot", async () => {
      const pool = poolOf(await server.createDatabase(postgresSchema), { max: 1 });
      const store = postgresStore(pool);
      const row = { id: "t", owner: "o", title: "t", status: "running", pending: 0, updatedAt: 1 } as const;
      await store.append("t", { at: 0 }, one("a", { row, snapshot: "s€".repeat(100_000) }));
      for (let head = 1; head <= 40; head++) await store.append("t", { at: head }, one("~"));
      const counts = `select n_tup_upd::int as updates, n_tup_hot_upd::int as hot, pg_relation_size(reltoastrelid)::int as toast
        from pg_stat_user_tables s join pg_class c on c.oid = s.relid where s.relname = 'toolrun_threads'`;
      // PostgreSQL counts with a delay.
      const ask = async (): Promise<unknown> => (await pool.query(counts)).rows[0];
      const expected = JSON.stringify({ updates: 40, hot: 40, toast: 8192 });
      await until(ask, (row) => JSON.stringify(row) === expected);
    });
  });

  test("a run starts on one server, is approved on another, and both follow it to its end", async () => {
    const ran: unknown[] = [];
    const agent = defineAgent({
      model: scriptedModel([call("refund", { amount: 5 }), say("Done.")]),
      tools: {
        refund: tool({
          description: "Refund.",
          inputSchema: z.object({ amount: z.number() }),
          execute: async (input) => ran.push(input),
        }),
      },
    });
    const user = { id: newId() };
    const serve = (): ToolRun => createToolRun({ agent, store: open(), identify: () => user });
    const [left, right] = [serve(), serve()];
    const sent = await left.send({ user, message: "Refund it." });
    const asked = await sent.settled();
    const seen = await right.read({ user, threadId: sent.threadId });
    expect(seen?.pending.map(({ id }) => id)).toEqual(asked.pending.map(({ id }) => id));
    const approved = await right.approve(seen?.pending ?? [], { user });
    const ended = await Promise.all([approved.settled(), sent.settled()]);
    expect(ended.map(({ status, text }) => [status, text])).toEqual([
      ["ended", "Done."],
      ["ended", "Done."],
    ]);
    expect(ran).toEqual([{ amount: 5 }]);
    expect((await left.list({ user })).rows).toMatchObject([{ id: sent.threadId, status: "ended", pending: 0 }]);
  });

  test("the statement in docs/stores.md shows a thread's events", async () => {
    const [block] = codeBlocks(section(read("docs/stores.md"), "Tables")).filter(({ language }) => language === "sql");
    const events = ["created", "renamed"].map((type) => ({
      control: type === "created",
      data: JSON.stringify({ type }),
    }));
    await open().append("the-id", { at: 0 }, one("{}"));
    await open().append("the-id", { at: 1 }, { batch: "b", events });
    expect((await poolOf(url).query(block?.text ?? "")).rows).toEqual([
      { seq: "1", control: true, type: null },
      { seq: "2", control: true, type: "created" },
      { seq: "3", control: false, type: "renamed" },
    ]);
  });

  test("tombstones that are over are swept by the next removal, with what a removal that crashed left", async () => {
    const pool = poolOf(await server.createDatabase(postgresSchema));
    const store = postgresStore(pool);
    for (const id of ["old", "new"]) {
      await store.append(id, { at: 0 }, one("a"));
      await store.remove(id);
    }
    await pool.query("insert into toolrun_appends values ('old', 1, 'b', '!left')");
    await pool.query("update toolrun_threads set removed_at = removed_at - interval '8 days' where id = 'old'");
    expect(await store.read("old")).toBeNull();
    expect(await store.append("old", { at: 0 }, one("b"))).toMatchObject({ status: "ok", head: 1 });
    expect(await store.read("old")).toMatchObject({ events: [{ data: "b" }] });
    await store.remove("old");
    await pool.query("update toolrun_threads set removed_at = removed_at - interval '8 days' where id = 'old'");
    await store.remove("nothing");
    expect((await pool.query("select id from toolrun_threads")).rows).toEqual([{ id: "new" }]);
    expect((await pool.query("select from toolrun_appends")).rows).toEqual([]);
  });
});

describe("what is handed in", () => {
  test.each([[null], [undefined], [{}], ["postgres://…"]])("%j is refused: it is no client", (client) => {
    // Callers in JavaScript have no types.
    expect(() => postgresStore(client as unknown as PostgresClient)).toThrow(/postgresStore got/);
  });

  test.each(["Public", "a-b", 'x"; drop table', "", "a".repeat(41)])("the schema %j is refused", (schema) => {
    const nothing = { query: async () => [] };
    expect(() => postgresStore(nothing, { schema })).toThrow(/schema is/);
  });

  test("a client that answers something else is named as the mistake", async () => {
    await expect(postgresStore(async () => "yes").read("t")).rejects.toMatchObject({ code: "misconfigured" });
  });

  test("rows, { rows }, rows as arrays: a function may answer any", async () => {
    for (const answer of [[{ any_name: "gone" }], { rows: [{ any_name: "gone" }] }, { rows: [["gone"]] }]) {
      expect(await postgresStore(async () => answer).read("t")).toEqual({ gone: true });
    }
  });

  test("an append without events and a cursor of somebody else's are refused with the reason", async () => {
    const store = postgresStore(async () => []);
    await expect(store.append("t", { at: 0 }, { batch: "b", events: [] })).rejects.toThrow("at least one");
    await expect(store.list("o", "nonsense")).rejects.toMatchObject({ code: "bad-request" });
  });
});
