import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../../../packages/core/test/adapters/redis-server.ts";
import { startUpstash } from "../../../packages/core/test/adapters/redis-upstash.ts";
import { openThreads } from "../lib/open-threads.ts";
import { threadStore } from "../lib/thread-store.ts";

const isThere = await hasRedis("the demo on Redis and Upstash");
const one = { batch: "b1", events: [{ control: true, data: "a" }] };

describe.skipIf(!isThere)("one variable puts the conversations", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.close());
  afterEach(() => void vi.unstubAllEnvs());

  test("into Redis, behind the demo's own API", async () => {
    vi.stubEnv("TOOLRUN_STORE", "redis");
    vi.stubEnv("REDIS_URL", redis.url);
    vi.stubEnv("STORE_TOKEN", "token");
    expect(threadStore()).toBeDefined();
    const store = await openThreads();
    expect(await store.append("t", { at: 0 }, one)).toMatchObject({ status: "ok", head: 1 });
  });

  test("into Upstash, without it", async () => {
    const upstash = await startUpstash(redis.url);
    vi.stubEnv("TOOLRUN_STORE", "upstash");
    expect(threadStore).toThrow("UPSTASH_REDIS_REST_URL");
    vi.stubEnv("UPSTASH_REDIS_REST_URL", upstash.url);
    vi.stubEnv("UPSTASH_REDIS_REST_TOKEN", upstash.token);
    expect(await threadStore().append("u", { at: 0 }, one)).toMatchObject({ status: "ok", head: 1 });
    await upstash.close();
  });
});
