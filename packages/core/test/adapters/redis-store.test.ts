import { Redis as Upstash } from "@upstash/redis";
import { Redis as Ioredis } from "ioredis";
import { createClient, RESP_TYPES } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IoredisClient, RedisClient, UpstashClient } from "../../src/redis.ts";
import { redisStore } from "../../src/redis.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadFilter, ThreadRow, ThreadStore } from "../../src/store/thread-store.ts";
import type { ClientName, Connected } from "./redis-clients.ts";
import { connect } from "./redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import { one, rowOf, write } from "./redis-tools.ts";
import { startUpstash } from "./redis-upstash.ts";

describe("what redisStore refuses, with the fix", () => {
  test.each([null, undefined, 1, "redis://127.0.0.1", {}, { get: () => 1 }, { eval: () => 1 }])(
    "%j is no client",
    (value) => {
      const client = value as unknown as RedisClient; // what JavaScript can hand in
      expect(() => redisStore(client)).toThrow(expect.objectContaining({ code: "invalid-config" }));
      expect(() => redisStore(client)).toThrow("createClient() of redis");
    },
  );

  test.each([{}, { automaticDeserialization: true }])("an Upstash client that parses what it reads: %j", (options) => {
    const client = new Upstash({ url: "https://example.test", token: "t", ...options });
    expect(() => redisStore(client)).toThrow(expect.objectContaining({ code: "invalid-config" }));
    expect(() => redisStore(client)).toThrow("automaticDeserialization: false");
  });

  test.each(["", "a{b", "}"])("the prefix %j", (prefix) => {
    const client = new Ioredis({ lazyConnect: true });
    expect(() => redisStore(client, { prefix })).toThrow(expect.objectContaining({ code: "invalid-config" }));
  });
});

const isThere: boolean = await hasRedis("the Redis store: bytes, names, keys, list");

describe.skipIf(!isThere)("the Redis store", () => {
  let redis: RedisServer;
  let raw: Ioredis;
  const connected = new Map<ClientName, Connected>();
  const names: readonly ClientName[] = ["redis 6", "ioredis 6", "@upstash/redis"];

  beforeAll(async () => {
    redis = await startRedis();
    raw = new Ioredis(redis.url);
    for (const name of names) connected.set(name, await connect(name, redis));
  });
  afterAll(async () => {
    for (const { close } of connected.values()) await close();
    raw.disconnect();
    await redis.close();
  });

  const storeOf = (name: ClientName, prefix: string = crypto.randomUUID()): ThreadStore => {
    const client = connected.get(name)?.client;
    if (!client) throw new Error(`${name} is not connected.`);
    return redisStore(client, { prefix });
  };

  const texts = [
    "\ud800",
    "a\udfffb",
    "\ufeffmark",
    "\u0000",
    "",
    "%d800",
    "=",
    "c1~\n",
    "\n",
    '{"__proto__":9007199254740993}',
    "OK",
    "1",
    "null",
  ];

  test.each(names)(
    "%s keeps every text as it was: of events, batches, snapshots, ids, owners, drivers",
    async (name) => {
      const store = storeOf(name);
      for (const [index, text] of texts.entries()) {
        const id = `${text}${index}`;
        const row = rowOf(id, { owner: text, title: text });
        const lease = { driverId: text, ttlMs: 60_000 };
        const events = texts.map((data) => ({ control: true, data }));
        const result = await store.append(id, { at: 0 }, { batch: text, events, snapshot: text, row, lease });
        expect(result).toEqual({ status: "ok", first: 1, head: texts.length });
        const read = await store.read(id, 0);
        expect(read).toMatchObject({ events: events.map((event) => ({ ...event, batch: text })) });
        expect(await store.read(id)).toMatchObject({ snapshot: { seq: texts.length, data: text }, events: [] });
        expect((await store.list(text)).rows).toEqual([row]);
        expect(await store.lease(id, text, 60_000)).toMatchObject({ status: "ok" });
        expect(await store.lease(id, `${text}?`, 60_000)).toEqual({ status: "lost" });
      }
      expect((await store.list(undefined)).rows).toHaveLength(texts.length);
    },
  );

  test.each([
    "__proto__",
    "constructor",
    "",
    "{",
    "}",
    "{}",
    "}{a",
    "a:log",
    "*",
    "=*",
    "a/b",
    "%",
    "\ud800",
    "\ud801",
  ])("a thread and its owner may be called %j", async (name) => {
    const [store, other] = [storeOf("ioredis 6"), `${name}-`];
    expect(await store.read(name)).toBeNull();
    await store.append(name, { at: 0 }, one("a", { row: rowOf(name, { owner: name }) }));
    await store.append(other, { at: 0 }, one("b", { row: rowOf(other, { owner: other }) }));
    expect(await store.read(name)).toMatchObject({ head: 1, events: [{ data: "a" }] });
    expect((await store.list(name)).rows).toEqual([rowOf(name, { owner: name })]);
    await store.remove(name);
    expect(await store.read(name)).toEqual({ gone: true });
    expect(await store.read(other)).toMatchObject({ head: 1 });
    expect((await store.list(undefined)).rows).toEqual([rowOf(other, { owner: other })]);
  });

  test("all keys of a thread are in one slot, those of the list in another, and all begin with the prefix", async () => {
    const store = storeOf("ioredis 6", "mine");
    for (const id of ["", "}{", "a}b", "plain"]) {
      const append = one("a", { snapshot: "s", row: rowOf(id), lease: { driverId: "d", ttlMs: 1000 } });
      await store.append(id, { at: 0 }, append);
    }
    const keys = await raw.keys("mine:*");
    // Redis makes the slot of what is in the first braces, where that is not nothing.
    const tags = keys.map((key) => /^mine:\{([^}]+)\}/.exec(key)?.[1]);
    expect(tags.toSorted()).toEqual(
      ["%", "%7D%7B", "a%7Db", "list", "plain"].flatMap((tag) => Array(tag === "list" ? 2 : 3).fill(tag)),
    );
    expect((await raw.keys("*")).filter((key) => key.includes("plain") && !key.startsWith("mine:"))).toEqual([]);
  });

  test("deltas sent again at a control position that did not move are there once: the tail shows their batch", async () => {
    const store = storeOf("redis 6");
    await write(store, "t", ["a"]);
    const deltas = {
      batch: "deltas",
      events: [
        { control: false, data: "b" },
        { control: false, data: "c" },
      ],
    };
    expect(await store.append("t", { atControl: 1 }, deltas)).toEqual({ status: "ok", first: 2, head: 3 });
    const again = await store.append("t", { atControl: 1 }, deltas);
    expect(again).toMatchObject({ status: "conflict", head: 3, events: [{ batch: "deltas" }, { batch: "deltas" }] });
    expect(await store.append("t", { atControl: 1 }, { ...deltas, batch: "others" })).toMatchObject({ status: "ok" });
    expect(await store.read("t")).toMatchObject({ head: 5 });
  });

  test("a tombstone stands for seven days by the server's clock, and nothing else is left", async () => {
    const store = storeOf("redis 6", "graves");
    await store.append("t", { at: 0 }, one("a", { snapshot: "s", row: rowOf("t") }));
    await store.remove("t");
    const week = 7 * 24 * 60 * 60 * 1000;
    expect(await raw.pttl("graves:{t}")).toBeGreaterThan(week - 60_000);
    expect(await raw.keys("graves:*")).toEqual(["graves:{t}"]);
    await raw.pexpire("graves:{t}", 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await store.append("t", { at: 0 }, one("b"))).toEqual({ status: "ok", first: 1, head: 1 });
  });

  test("a lease ends by the server's clock, whatever ours says", async () => {
    const store = storeOf("redis 6");
    const claim = (driverId: string, ttlMs: number) => one(`claim of ${driverId}`, { lease: { driverId, ttlMs } });
    const from = Date.now();
    await store.append("t", { at: 0 }, claim("A", 500));
    const held = await store.append("t", { at: 1 }, claim("B", 500));
    expect(held.status === "held" && held.until - from).toBeLessThan(5000);
    await new Promise((resolve) => setTimeout(resolve, 510));
    expect(await store.lease("t", "A", 500)).toEqual({ status: "lost" });
    expect(await store.append("t", { at: 1 }, claim("B", 500))).toMatchObject({ status: "ok" });
  });

  test.each(names)("%s sends a script again that the server forgot", async (name) => {
    const store = storeOf(name);
    await write(store, "t", ["a"]);
    await raw.script("FLUSH");
    await write(store, "t", ["b"], 1);
    await raw.script("FLUSH");
    expect(await store.read("t")).toMatchObject({ head: 2 });
  });

  test("a log of many entries is read in pieces, and a conflict brings all of it", async () => {
    const store = storeOf("redis 6");
    const datas = Array.from({ length: 1203 }, (_, index) => `${index}`);
    await Promise.all(datas.map((data, at) => store.append("t", { at }, one(data))));
    const read = await store.read("t");
    expect(read && "events" in read && read.events.map(({ data }) => data)).toEqual(datas);
    const conflict = await store.append("t", { at: 1 }, one("x"));
    expect(conflict.status === "conflict" && conflict.events.map(({ data }) => data)).toEqual(datas.slice(1));
  });

  test("a view that is read in pieces is one of one moment, whatever is written meanwhile", async () => {
    const prefix = crypto.randomUUID();
    const writer = storeOf("redis 6", prefix);
    await Promise.all(Array.from({ length: 700 }, (_, at) => writer.append("t", { at }, one(`${at}`))));
    let scripts = 0;
    const client: IoredisClient = {
      eval: (script, keys, ...args) => raw.eval(script, keys, ...args),
      evalsha: async (sha, keys, ...args) => {
        if (++scripts === 2) await write(writer, "t", ["late"], 700);
        return raw.evalsha(sha, keys, ...args);
      },
      duplicate: () => raw.duplicate(),
    };
    const read = await redisStore(client, { prefix }).read("t");
    expect(read).toMatchObject({ head: 700, control: 700 });
    expect(read && "events" in read && read.events.length).toBe(700);
    expect(scripts).toBe(2);
  });

  test("an append without events and a cursor of somebody else's are refused with the reason", async () => {
    const store = storeOf("redis 6");
    await expect(store.append("t", { at: 0 }, { batch: "b", events: [] })).rejects.toThrow("at least one");
    await expect(store.list("o", "nonsense")).rejects.toMatchObject({ code: "bad-request" });
    expect(await store.read("t")).toBeNull();
  });

  test("a client that parses or maps replies is found out by the first one", async () => {
    const { url, token, close } = await startUpstash(redis.url);
    const parsing = new Upstash({ url, token });
    const wrapped: UpstashClient = {
      eval: (script, keys, args) => parsing.eval(script, keys, args),
      evalsha: (sha, keys, args) => parsing.evalsha(sha, keys, args),
    };
    const refused = { code: "invalid-config", message: expect.stringContaining("automaticDeserialization: false") };
    await expect(redisStore(wrapped).append("t", { at: 0 }, one("a"))).rejects.toMatchObject(refused);
    await close();
    const client = await createClient({ url: redis.url }).connect();
    const buffers = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const mapped = { code: "invalid-config", message: expect.stringContaining("type mapping") };
    await expect(redisStore(buffers as unknown as RedisClient).read("t")).rejects.toMatchObject(mapped); // not our type
    client.destroy();
  });

  test("the list says what the memory store says: any filter, any page size, while rows change", async () => {
    const stores = [storeOf("redis 6"), memoryStore()] as const;
    const heads = new Map<string, number>();
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const statuses = ["idle", "running", "waiting", "ended"] as const;
    const owners = ["ann", "ben", "*"];
    for (let round = 0; round < 400; round++) {
      const id = `t${random(60)}-${Math.floor(round / 50)}`;
      const at = heads.get(id) ?? 0;
      const row: ThreadRow = rowOf(id, {
        owner: owners[random(3)] ?? "",
        status: statuses[random(4)] ?? "idle",
        updatedAt: 1000 + random(40),
        dueAt: random(2) ? random(100) - 20 : undefined,
      });
      const append = one("a", { batch: `b${round}`, row: JSON.parse(JSON.stringify(row)) });
      for (const store of stores) expect(await store.append(id, { at }, append)).toMatchObject({ status: "ok" });
      heads.set(id, at + 1);
      if (round % 50 === 49) await Promise.all(stores.map((store) => store.remove(id)));
    }
    const filters: ThreadFilter[] = [
      {},
      ...statuses.map((status) => ({ status })),
      { dueBefore: 30 },
      { dueBefore: -5 },
    ];
    filters.push(...statuses.map((status) => ({ status, dueBefore: 30 })));
    for (const owner of [undefined, ...owners, "nobody"]) {
      for (const filter of filters) {
        for (const limit of [1, 7, 1000]) {
          const [ours, reference] = await Promise.all(
            stores.map((store) => allPages(store, owner, { ...filter, limit })),
          );
          expect([owner, filter, ours]).toEqual([owner, filter, reference]);
        }
      }
    }
  });
});

/** Every page, one after the other, with their sizes. */
async function allPages(store: ThreadStore, owner: string | undefined, filter: ThreadFilter): Promise<unknown> {
  const pages: (readonly ThreadRow[])[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list(owner, cursor, filter);
    pages.push(page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined && pages.length < 1000);
  return pages.flat();
}
