import { setMaxListeners } from "node:events";
import { Redis as Upstash } from "@upstash/redis";
import { Redis as Ioredis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisStore } from "../../src/redis.ts";
import type { StoredEvent, ThreadStore } from "../../src/store/thread-store.ts";
import type { ClientName } from "./redis-clients.ts";
import { connect } from "./redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import { eventually, follower, one, take, write } from "./redis-tools.ts";
import { startUpstash } from "./redis-upstash.ts";

const isThere: boolean = await hasRedis("how followers of Redis hear of changes");
const pushing: readonly ClientName[] = ["redis 6", "ioredis 6"];
const all: readonly ClientName[] = [...pushing, "@upstash/redis"];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** For many followers at once. */
function control(): AbortController {
  const made = new AbortController();
  setMaxListeners(0, made.signal);
  return made;
}

describe.skipIf(!isThere)("followers of Redis", () => {
  let redis: RedisServer;
  let raw: Ioredis;
  /** Another process, as far as a store can see. */
  let elsewhere: Ioredis;
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    raw = new Ioredis(redis.url);
    elsewhere = new Ioredis(redis.url);
    closing.push(
      () => redis.close(),
      () => raw.disconnect(),
      () => elsewhere.disconnect(),
    );
  });
  afterAll(async () => {
    for (const close of closing.toReversed()) await close();
  });

  /** A store with a client of its own, and one of another process on the same threads. */
  const both = async (name: ClientName): Promise<{ here: ThreadStore; there: ThreadStore; prefix: string }> => {
    const prefix = crypto.randomUUID();
    const connected = await connect(name, redis);
    closing.push(connected.close);
    return { here: redisStore(connected.client, { prefix }), there: redisStore(elsewhere, { prefix }), prefix };
  };
  const channels = async (prefix: string): Promise<number> => (await raw.pubsub("CHANNELS", `${prefix}*`)).length;

  test.each(pushing)("%s: one connection listens for all threads, and closes with the last follower", async (name) => {
    const connections = async (): Promise<number> =>
      String(await raw.client("LIST"))
        .trim()
        .split("\n")
        .filter(Boolean).length;
    const { here, there, prefix } = await both(name);
    await here.read("t");
    const before = await connections();
    const stop = control();
    const ids = Array.from({ length: 60 }, (_, index) => `t${index % 50}`);
    const seen = ids.map((id) => take(follower(here, id, 0, stop.signal), 2));
    await eventually(async () => expect(await channels(prefix)).toBe(50));
    expect(await connections()).toBe(before + 1);
    for (const id of new Set(ids)) await write(there, id, ["a", "b"]);
    expect(await Promise.all(seen)).toEqual(ids.map(() => ["a", "b"]));
    const waiting = ids.map((id) => follower(here, id, 2, stop.signal).next());
    stop.abort();
    expect(await Promise.all(waiting)).toEqual(ids.map(() => ({ done: true, value: undefined })));
    await eventually(async () => expect(await channels(prefix)).toBe(0));
    await eventually(async () => expect(await connections()).toBe(before));
  });

  test.each(pushing)("%s: what another process writes arrives by a notification, not by the clock", async (name) => {
    const { here, there, prefix } = await both(name);
    const stop = control();
    const changes = follower(here, "t", 0, stop.signal);
    const first = take(changes, 1);
    await eventually(async () => expect(await channels(prefix)).toBe(1));
    await write(there, "t", ["0"]);
    expect(await first).toEqual(["0"]);
    const start = performance.now();
    for (let index = 1; index <= 50; index++) {
      const next = take(changes, 1);
      await write(there, "t", [`${index}`], index);
      expect(await next).toEqual([`${index}`]);
    }
    expect(performance.now() - start).toBeLessThan(50 * 100);
    stop.abort();
  });

  test.each(pushing)("%s: a listening connection that breaks comes back, and nothing is missed", async (name) => {
    const { here, there, prefix } = await both(name);
    const stop = control();
    const changes = follower(here, "t", 0, stop.signal);
    const seen = take(changes, 40);
    await eventually(async () => expect(await channels(prefix)).toBe(1));
    for (let index = 0; index < 40; index++) {
      await write(there, "t", [`${index}`], index);
      if (index % 10 === 5) await raw.client("KILL", "TYPE", "PUBSUB");
    }
    expect(await seen).toEqual(Array.from({ length: 40 }, (_, index) => `${index}`));
    stop.abort();
  });

  test("a user who may not listen follows by looking", async () => {
    const prefix = crypto.randomUUID();
    await raw.call("ACL", "SETUSER", "quiet", "on", ">secret", "~*", "+@all", "resetchannels");
    const quiet = new Ioredis(redis.port, { username: "quiet", password: "secret" });
    closing.push(() => quiet.disconnect());
    const store = redisStore(quiet, { prefix });
    const stop = control();
    const seen = take(follower(store, "t", 0, stop.signal), 2);
    await pause(50);
    await write(redisStore(elsewhere, { prefix }), "t", ["a"]);
    await pause(300);
    await write(store, "t", ["b"], 1); // it may not notify either
    expect(await seen).toEqual(["a", "b"]);
    stop.abort();
  });

  test.each(all)(
    "%s: a live follower that another process trims past is reset or has everything, never a hole",
    async (name) => {
      const { here, there } = await both(name);
      const stop = control();
      for (const readsAt of [0, 3, 12]) {
        const id = `t${readsAt}`;
        await write(there, id, ["1"]);
        const changes = follower(here, id, 0, stop.signal);
        let last = 0;
        let ended = false;
        const read = async (): Promise<void> => {
          const { done, value } = await changes.next();
          ended = done === true || value.type !== "events";
          if (done || value.type !== "events") return;
          for (const { seq } of value.events) expect(seq).toBe(++last);
        };
        await read();
        for (let at = 1; at < 24; at++) {
          await there.append(id, { at }, one(`${at + 1}`, { snapshot: `s${at + 1}` }));
          if (at === readsAt) await read();
        }
        while (!ended && last < 24) await read();
        expect(ended || last === 24).toBe(true);
      }
      stop.abort();
    },
  );

  test("over HTTP all followers of a thread share one look, and what this process writes needs none", async () => {
    const upstash = await startUpstash(redis.url);
    closing.push(upstash.close);
    const { url, token, requests } = upstash;
    const prefix = crypto.randomUUID();
    const enableAutoPipelining = false; // so that requests are commands
    const client = new Upstash({ url, token, automaticDeserialization: false, enableAutoPipelining });
    const here = redisStore(client, { prefix });
    const stop = control();
    await write(here, "t", ["a"]);
    const changes = Array.from({ length: 20 }, () => follower(here, "t", 1, stop.signal));
    const next = changes.map((each) => take(each, 1));
    await eventually(async () => {
      const asked = requests();
      await pause(400);
      expect(requests() - asked).toBeLessThanOrEqual(3); // once all have read what was there
    });
    const before = requests();
    await write(here, "t", ["b"], 1);
    expect(await Promise.all(next)).toEqual(changes.map(() => ["b"]));
    for (let at = 2; at < 10; at++) {
      const each = changes.map((change) => take(change, 1));
      await write(here, "t", [`${at}`], at);
      expect(await Promise.all(each)).toEqual(changes.map(() => [`${at}`]));
    }
    expect(requests() - before).toBeLessThanOrEqual(9 + 4); // an append each, and at most a look or two by the clock
    const after = changes.map((each) => take(each, 1));
    await write(redisStore(elsewhere, { prefix }), "t", ["c"], 10);
    expect(await Promise.all(after)).toEqual(changes.map(() => ["c"]));
    stop.abort();
    await pause(20);
    const ended = requests();
    await pause(400);
    expect(requests()).toBe(ended);
  });

  test("two reads of one follower at once are answered one after the other", async () => {
    const { here } = await both("ioredis 6");
    const stop = control();
    const changes = follower(here, "t", 0, stop.signal);
    const pair = [changes.next(), changes.next()];
    await write(here, "t", ["a"]);
    await write(here, "t", ["b"], 1);
    expect((await Promise.all(pair)).map(({ value }) => value.events?.map(({ seq }: { seq: number }) => seq))).toEqual([
      [1],
      [2],
    ]);
    stop.abort();
  });

  test("a follower that falls far behind reads on from the store", async () => {
    const { here } = await both("ioredis 6");
    const stop = control();
    const fast = take(follower(here, "t", 0, stop.signal), 3000);
    const slow = follower(here, "t", 0, stop.signal);
    const first = slow.next();
    const datas = Array.from({ length: 3000 }, (_, index) => `${index}`);
    for (let at = 0; at < 3000; at += 100) {
      const events = datas.slice(at, at + 100).map((data) => ({ control: true, data }));
      await here.append("t", { at }, { batch: `${at}`, events });
    }
    expect(await fast).toEqual(datas);
    const { value } = await first;
    const events: readonly StoredEvent[] = value.events;
    expect(events[0]?.data).toBe("0");
    expect(await take(slow, 3000 - events.length)).toEqual(datas.slice(events.length));
    stop.abort();
  });
});
