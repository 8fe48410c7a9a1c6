import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis as Upstash } from "@upstash/redis";
import { Redis as Ioredis } from "ioredis";
import { createClient } from "redis";
import { rolldown } from "rolldown";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RedisClient } from "../../src/redis.ts";
import { redisStore } from "../../src/redis.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import { connect } from "./redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";
import { freePort, hasRedis, startRedis } from "./redis-server.ts";
import { follower, one, rowOf, startProxy, take, write } from "./redis-tools.ts";
import { startUpstash } from "./redis-upstash.ts";

const unavailable = (words: string) => ({ code: "unavailable", message: expect.stringContaining(words) });

describe("where nothing listens", () => {
  const close: (() => void)[] = [];
  afterEach(() => {
    for (const each of close.splice(0)) each();
  });

  test.each([
    [
      "a client of redis that is not connected",
      "connect()",
      (port: number) => createClient({ url: `redis://127.0.0.1:${port}` }),
    ],
    [
      "ioredis that gave up",
      "Is it running",
      (port: number) => {
        const client = new Ioredis(port, "127.0.0.1", { maxRetriesPerRequest: 0, retryStrategy: () => 10 });
        close.push(() => client.disconnect());
        return client.on("error", () => undefined);
      },
    ],
    [
      "@upstash/redis",
      "Is it running",
      (port: number) =>
        new Upstash({ url: `http://127.0.0.1:${port}`, token: "t", automaticDeserialization: false, retry: false }),
    ],
  ])("%s fails as unavailable, with the fix and the cause", async (_, words, make) => {
    const store = redisStore(make(await freePort()) as RedisClient); // one of three
    await expect(store.read("t")).rejects.toMatchObject({ ...unavailable(words), cause: expect.any(Error) });
    const { signal } = new AbortController();
    await expect(follower(store, "t", 0, signal).next()).rejects.toMatchObject({ code: "unavailable" });
  });
});

const isThere: boolean = await hasRedis("faults of Redis: memory, replicas, failover, eviction, lost replies");

describe.skipIf(!isThere)("a Redis that fails", () => {
  let redis: RedisServer;
  let raw: Ioredis;
  let client: Ioredis;
  let store: ThreadStore;
  let prefix = "";
  const control = new AbortController();

  beforeAll(async () => {
    redis = await startRedis();
    raw = new Ioredis(redis.url, { retryStrategy: () => 20 }).on("error", () => undefined);
    client = new Ioredis(redis.url, { retryStrategy: () => 20 }).on("error", () => undefined);
  });
  afterAll(async () => {
    control.abort();
    raw?.disconnect();
    client?.disconnect();
    await redis?.close();
  });
  const fresh = async (datas: readonly string[] = ["a", "b", "c"]): Promise<void> => {
    prefix = crypto.randomUUID();
    store = redisStore(client, { prefix });
    await write(store, "t", datas);
  };

  test("without memory it takes nothing of an append, and everything of it later", async () => {
    await fresh();
    const append = one("d", { snapshot: "s", row: rowOf("t"), lease: { driverId: "d", ttlMs: 60_000 } });
    await raw.config("SET", "maxmemory", "1");
    try {
      await expect(store.append("t", { at: 3 }, append)).rejects.toMatchObject(unavailable("maxmemory"));
      await expect(store.append("new", { at: 0 }, append)).rejects.toMatchObject(unavailable("maxmemory"));
      expect(await store.read("t")).toMatchObject({ head: 3 });
      expect(await store.read("new")).toBeNull();
      expect(await store.lease("t", "d", 1000)).toEqual({ status: "lost" });
      expect((await store.list("owner")).rows).toEqual([]);
    } finally {
      await raw.config("SET", "maxmemory", "0");
    }
    expect(await store.append("t", { at: 3 }, append)).toEqual({ status: "ok", first: 4, head: 4 });
  });

  test("without memory a thread can be removed", async () => {
    await fresh();
    await raw.config("SET", "maxmemory", "1");
    await store.remove("t").finally(() => raw.config("SET", "maxmemory", "0"));
    expect(await store.read("t")).toEqual({ gone: true });
  });

  test("as a read-only replica it refuses writes, and says so", async () => {
    await fresh();
    await raw.replicaof("127.0.0.1", await freePort());
    try {
      await expect(store.append("t", { at: 3 }, one("d"))).rejects.toMatchObject(unavailable("primary"));
      await expect(store.remove("t")).rejects.toMatchObject(unavailable("primary"));
    } finally {
      await raw.replicaof("NO", "ONE");
    }
    expect(await store.append("t", { at: 3 }, one("d"))).toMatchObject({ status: "ok" });
  });

  test("after a failover that lost writes the next append conflicts below its position, and followers start over", async () => {
    await fresh();
    await raw.save();
    await write(store, "t", ["d", "e"], 3);
    const changes = follower(store, "t", 3, control.signal);
    expect(await take(changes, 2)).toEqual(["d", "e"]);
    const next = take(changes, 1);
    await redis.kill();
    await redis.start(); // with what it had saved
    expect(await store.append("t", { at: 5 }, one("f"))).toMatchObject({ status: "conflict", head: 3 });
    expect(await next).toEqual([{ type: "reset" }]);
  });

  test("where others replaced lost writes, writer and followers do not go on, although the head is where it was", async () => {
    await fresh();
    await raw.save();
    await write(store, "t", ["d", "e"], 3);
    const changes = follower(store, "t", 3, control.signal);
    expect(await take(changes, 2)).toEqual(["d", "e"]);
    await redis.kill();
    await redis.start();
    const other = redisStore(raw, { prefix });
    await write(other, "t", ["d2", "e2"], 3);
    await expect(store.append("t", { at: 5 }, one("f"))).rejects.toMatchObject(unavailable("lost writes"));
    expect(await other.append("t", { at: 5 }, one("f2"))).toMatchObject({ status: "ok" });
    expect(await take(changes, 1)).toEqual([{ type: "reset" }]); // it did not look while the head was lower
  }, 10_000);

  test("a process that writes on after lost writes resets its own followers", async () => {
    await fresh();
    await raw.save();
    await write(store, "t", ["d", "e"], 3);
    const changes = follower(store, "t", 4, control.signal);
    expect(await take(changes, 1)).toEqual(["e"]);
    const next = take(changes, 1);
    await redis.kill();
    await redis.start();
    await write(store, "t", ["d2"], 3);
    expect(await next).toEqual([{ type: "reset" }]);
  });

  test.each([
    ["log", "read", () => store.read("t", 0)],
    ["log", "append", () => store.append("t", { at: 0 }, one("x"))],
    ["log", "follow", () => follower(store, "t", 0, control.signal).next()],
    ["snapshot", "read", () => store.read("t")],
    ["", "read", () => store.read("t")],
    ["", "append", () => store.append("t", { at: 0 }, one("x"))],
  ])("where it evicted the key %j of a thread, %s says so", async (key, _, call) => {
    await fresh();
    await store.append("t", { at: 3 }, one("d", { snapshot: "s4" }));
    await raw.del(`${prefix}:{t}${key && `:${key}`}`);
    await expect(call()).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("noeviction"),
    });
  });

  test("where an entry in the middle of a log is gone, reading says so", async () => {
    await fresh();
    await raw.xdel(`${prefix}:{t}:log`, "2-0");
    await expect(store.read("t", 0)).rejects.toMatchObject({ code: "misconfigured" });
    expect(await store.read("t", 2)).toMatchObject({ events: [{ data: "c" }] });
  });

  test("somebody else's data under its keys is left alone", async () => {
    await fresh();
    await raw.set(`${prefix}:{other}`, "theirs");
    await expect(store.append("other", { at: 0 }, one("a"))).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("prefix"),
    });
    expect(await raw.get(`${prefix}:{other}`)).toBe("theirs");
  });

  test("a reply lost with its connection: ioredis sends again by itself, and the tail shows the batch, once", async () => {
    await fresh();
    const proxy = await startProxy(redis.port);
    const lossy = new Ioredis(proxy.port, "127.0.0.1", { retryStrategy: () => 20 }).on("error", () => undefined);
    const behind = redisStore(lossy, { prefix });
    await behind.read("t");
    proxy.loseReplyWith("ok");
    const append = {
      batch: "mine",
      events: [
        { control: true, data: "d" },
        { control: false, data: "e" },
      ],
    };
    const result = await behind.append("t", { at: 3 }, append);
    expect(result).toMatchObject({ status: "conflict", head: 5, events: [{ batch: "mine" }, { batch: "mine" }] });
    expect(proxy.lost).toBe(1);
    proxy.loseReplyWith("ok");
    const deltas = { batch: "deltas", events: [{ control: false, data: "f" }] };
    expect(await behind.append("t", { atControl: 4 }, deltas)).toMatchObject({ status: "conflict", head: 6 });
    expect(await store.read("t")).toMatchObject({ head: 6 });
    lossy.disconnect();
    await proxy.close();
  });

  test("a reply lost over HTTP: @upstash/redis sends again by itself, and the tail shows the batch, once", async () => {
    await fresh();
    const upstash = await startUpstash(redis.url);
    const { url, token } = upstash;
    const retry = { retries: 3, backoff: () => 1 };
    const behind = redisStore(new Upstash({ url, token, automaticDeserialization: false, retry }), { prefix });
    await behind.read("t");
    let lost = 0;
    upstash.faults.intercept = (command) => (command[0] === "evalsha" && ++lost === 1 ? "lose-reply" : undefined);
    const result = await behind.append("t", { at: 3 }, one("d"));
    expect(result).toMatchObject({ status: "conflict", head: 4, events: [{ batch: "batch of d" }] });
    expect(lost).toBe(2);
    upstash.faults.intercept = () => ({ error: "ERR max request size exceeded. Limit: 1 bytes", status: 400 });
    await expect(behind.append("t", { at: 4 }, one("e"))).rejects.toMatchObject({ code: "too-large" });
    await upstash.close();
  });

  test("a server that is too old is refused with the first thread, before anything is written", async () => {
    const old = await startRedis("--rename-command", "ZMSCORE", "");
    const connected = await connect("ioredis 6", old);
    const append = redisStore(connected.client).append("t", { at: 0 }, one("a"));
    await expect(append).rejects.toMatchObject({ code: "misconfigured", message: expect.stringContaining("6.2") });
    expect(await redisStore(connected.client).read("t")).toBeNull();
    await connected.close();
    await old.close();
  });

  test("two processes write one thread: every batch is there once, in one piece, in the order a third follows", async () => {
    await fresh(["first"]);
    const file = join(redis.folder, "child.mjs");
    const input = fileURLToPath(new URL("./redis-child.ts", import.meta.url));
    const build = await rolldown({ input, platform: "node" });
    await build.write({ file, format: "esm", codeSplitting: false });
    await build.close();
    const changes = follower(store, "t", 1, control.signal);
    const seen = take(changes, 2 * 40 * 3);
    const codes = ["left", "right"].map((name) => {
      const child = spawn(process.execPath, [file, redis.url, prefix, "t", name, "40"], {
        stdio: ["ignore", "inherit", "inherit"],
      });
      return new Promise((resolve) => child.once("exit", resolve));
    });
    expect(await Promise.all(codes)).toEqual([0, 0]);
    const datas = await seen;
    const batches = datas.filter((_, index) => index % 3 === 0).map((data) => String(data).replace(/\.1$/, ""));
    expect(datas).toEqual(batches.flatMap((batch) => [`${batch}.1`, `${batch}.~2`, `${batch}.3`]));
    expect(batches.toSorted()).toEqual(
      ["left", "right"].flatMap((name) => Array.from({ length: 40 }, (_, index) => `${name}.${index}`)).toSorted(),
    );
    const read = await store.read("t", 1);
    expect(read && "events" in read && read.events.map(({ data }) => data)).toEqual(datas);
    rmSync(file);
  }, 30_000);
});
