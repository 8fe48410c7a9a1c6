import { Redis as Ioredis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toLink } from "../../src/adapters/redis-client.ts";
import type { ClientName, Connected } from "./redis-clients.ts";
import { connect } from "./redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import { eventually } from "./redis-tools.ts";

const isThere: boolean = await hasRedis("connections that listen");
const NAMES: readonly ClientName[] = ["redis 6", "redis 5", "ioredis 6", "ioredis 5 with a key prefix"];
const ignore = (): void => undefined;

describe.skipIf(!isThere)("a connection that listens", () => {
  let redis: RedisServer;
  let raw: Ioredis;
  beforeAll(async () => {
    redis = await startRedis();
    raw = new Ioredis(redis.url);
  });
  afterAll(async () => {
    raw?.disconnect();
    await redis?.close();
  });

  const received = async (): Promise<number> =>
    Number(/total_connections_received:(\d+)/.exec(await raw.info("stats"))?.[1]);
  const open = async (): Promise<number> => ((await raw.client("LIST")) as string).trim().split("\n").length;

  test.each(NAMES)("of %s is gone after its close, also when it was on its way then", async (name) => {
    const { client, close }: Connected = await connect(name, redis);
    const { run, listen } = toLink(client);
    await run("return 'connected'", [], []);
    const before = { open: await open(), received: await received() };
    for (const wait of [() => undefined, () => new Promise((resolve) => setImmediate(resolve))]) {
      const listening = listen?.({ onMessage: ignore, onState: ignore });
      listening?.subscribe("news").catch(ignore);
      await wait();
      listening?.close();
    }
    // ioredis breaks off before the server sees anything; node-redis arrives, and leaves.
    if (name.startsWith("redis")) await eventually(async () => expect(await received()).toBe(before.received + 2));
    await eventually(async () => expect(await open()).toBe(before.open));
    await close();
  });
});
