import { Redis as Ioredis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { IoredisClient } from "../../src/redis.ts";
import { redisStore } from "../../src/redis.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import { one, rowOf, write } from "./redis-tools.ts";

const isThere: boolean = await hasRedis("the list of a Redis Cluster, its repair");

describe.skipIf(!isThere)("where thread and list are in two slots", () => {
  let redis: RedisServer;
  let raw: Ioredis;
  let prefix = "";
  /** What happens where a row is brought to the list. */
  let onRow: () => Promise<void> | void;

  beforeAll(async () => {
    redis = await startRedis();
    raw = new Ioredis(redis.url);
  });
  afterAll(async () => {
    raw?.disconnect();
    await redis?.close();
  });
  beforeEach(() => {
    prefix = crypto.randomUUID();
    onRow = () => undefined;
  });

  /** A client that refuses, as a cluster does, what has keys of two slots. */
  const client: IoredisClient = {
    eval: (script, keys, ...args) => guarded(keys, args, () => raw.eval(script, keys, ...args)),
    evalsha: (sha, keys, ...args) => guarded(keys, args, () => raw.evalsha(sha, keys, ...args)),
    duplicate: () => raw.duplicate(),
  };
  const guarded = async (count: number, args: readonly string[], run: () => Promise<unknown>): Promise<unknown> => {
    const slots = new Set(args.slice(0, count).map((key) => /\{.+?\}/.exec(key)?.[0]));
    if (slots.size > 1) throw new Error("CROSSSLOT Keys in request don't hash to the same slot");
    if (args.some((arg) => arg.endsWith(":removed"))) await onRow();
    return run();
  };
  const dies = (): never => {
    throw new Error("Connection is closed.");
  };
  const marks = (): Promise<string[]> => raw.zrange(`${prefix}:{list}:marks`, "0", "-1");
  const ageMarks = async (): Promise<void> => {
    for (const id of await marks()) await raw.zadd(`${prefix}:{list}:marks`, String((Date.now() - 11_000) * 1000), id);
  };
  const stores = (): { store: ThreadStore; fresh: ThreadStore } => ({
    store: redisStore(client, { prefix }),
    fresh: redisStore(raw, { prefix }), // one that has not met a cluster yet, as a cron's
  });

  test("a row is in the list at once, and no mark is left: of an append, a conflict, a removal", async () => {
    const { store } = stores();
    await store.append("t", { at: 0 }, one("a", { row: rowOf("t") }));
    expect((await store.list("owner")).rows).toEqual([rowOf("t")]);
    await store.append("t", { at: 0 }, one("b", { row: rowOf("t", { title: "of a conflict" }) }));
    expect((await store.list("owner")).rows).toEqual([rowOf("t")]);
    await store.append("t", { at: 1 }, one("b", { row: rowOf("t", { owner: "another", status: "running" }) }));
    expect((await store.list("owner")).rows).toEqual([]);
    expect((await store.list("another", undefined, { status: "running" })).rows).toHaveLength(1);
    await store.remove("t");
    expect((await store.list(undefined)).rows).toEqual([]);
    expect(await marks()).toEqual([]);
  });

  test("a row whose writer died on the way is found by whoever lists next", async () => {
    const { store, fresh } = stores();
    onRow = dies;
    const row = rowOf("t", { status: "running" });
    expect(await store.append("t", { at: 0 }, one("a", { row }))).toMatchObject({ status: "ok" });
    onRow = () => undefined;
    expect((await fresh.list("owner")).rows).toEqual([]);
    expect(await marks()).toEqual(["t"]);
    await ageMarks();
    expect((await fresh.list(undefined, undefined, { dueBefore: 0 })).rows).toEqual([row]);
    expect(await marks()).toEqual([]);
  });

  test("a removal whose writer died on the way takes its row out of the list", async () => {
    const { store, fresh } = stores();
    await store.append("t", { at: 0 }, one("a", { row: rowOf("t") }));
    onRow = dies;
    await store.remove("t");
    onRow = () => undefined;
    expect((await fresh.list("owner")).rows).toEqual([rowOf("t")]);
    await ageMarks();
    expect((await fresh.list("owner")).rows).toEqual([]);
    expect(await marks()).toEqual([]);
  });

  test("a mark whose writer died before it wrote means nothing", async () => {
    const { store } = stores();
    await store.append("known", { at: 0 }, one("a", { row: rowOf("known") }));
    await raw.zadd(`${prefix}:{list}:marks`, 1, "never", 2, "known");
    expect((await store.list("owner")).rows).toEqual([rowOf("known")]);
    expect(await marks()).toEqual([]);
  });

  test("a row that is late puts back neither a newer one nor a removed thread", async () => {
    const { store } = stores();
    await write(store, "t", ["a"]);
    let release = (): void => undefined;
    onRow = () => {
      onRow = () => undefined;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    const late = store.append("t", { at: 1 }, one("b", { row: rowOf("t", { title: "old" }) }));
    while ((await store.read("t", 1).then((read) => (read && "head" in read ? read.head : 0))) < 2);
    await store.append("t", { at: 2 }, one("c", { row: rowOf("t", { title: "new" }) }));
    release();
    await late;
    expect((await store.list("owner")).rows).toEqual([rowOf("t", { title: "new" })]);

    onRow = () => {
      onRow = () => undefined;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    const later = store.append("t", { at: 3 }, one("d", { row: rowOf("t", { title: "old" }) }));
    while ((await store.read("t", 3).then((read) => (read && "head" in read ? read.head : 0))) < 4);
    await store.remove("t");
    release();
    await later;
    expect((await store.list("owner")).rows).toEqual([]);
    expect(await marks()).toEqual([]);
  });
});
