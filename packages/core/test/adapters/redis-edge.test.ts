import { fileURLToPath } from "node:url";
import { EdgeVM } from "@edge-runtime/vm";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeCases } from "../../src/testing/store-conformance.ts";
import type * as onEdge from "./redis-on-edge.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import type { UpstashServer } from "./redis-upstash.ts";
import { startUpstash } from "./redis-upstash.ts";

const isThere: boolean = await hasRedis("the Redis store on the edge runtime");

describe.skipIf(!isThere)("the Redis store where only web standards are, with @upstash/redis", () => {
  let redis: RedisServer;
  let upstash: UpstashServer;
  let edge: typeof onEdge;

  beforeAll(async () => {
    redis = await startRedis();
    upstash = await startUpstash(redis.url);
    const input = fileURLToPath(new URL("./redis-on-edge.ts", import.meta.url));
    const build = await rolldown({ input, platform: "browser" });
    const { output } = await build.generate({ format: "iife", name: "onEdge", codeSplitting: false });
    await build.close();
    edge = new EdgeVM().evaluate(`${output[0].code}; onEdge`);
  });
  afterAll(async () => {
    await upstash?.close();
    await redis?.close();
  });

  test("is not run by Node with another name", () => {
    expect(edge.nodeGlobals()).toEqual([]);
  });

  const names = storeCases
    .map(({ name }) => name)
    .filter((name) => !/lease|renewal|owner's own claim|10,000|100 conc|many writers|dropped|nobody reads/.test(name));
  test.each(names)("%s", async (name) => {
    await edge.runOnEdge(name, upstash.url, upstash.token);
  });
});
