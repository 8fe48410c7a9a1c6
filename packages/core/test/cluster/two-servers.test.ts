import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postgresBinaries, startPostgres } from "../adapters/postgres-server.ts";
import { hasRedis, startRedis } from "../adapters/redis-server.ts";
import { buildFile, removeBuilds } from "../build-mutant.ts";
import { rehearse } from "./rehearse.ts";

const long = process.env.TOOLRUN_LONG === "1";
const seed = Number(process.env.TOOLRUN_SEED ?? (long ? Date.now() % 1_000_000 : 1));
const size = long ? { watched: 150, unwatched: 50, killEveryMs: 900 } : { watched: 5, unwatched: 2, killEveryMs: 900 };
const hasRedisServer = await hasRedis("two servers on one Redis");

let file = "";
beforeAll(async () => {
  file = await buildFile(new URL("./server-process.ts", import.meta.url), "server-process");
});
afterAll(removeBuilds);

async function play(storeUrl: string): Promise<void> {
  const { wrong, ...figures } = await rehearse({ file, storeUrl, seed, ...size });
  console.log(`${storeUrl.split(":")[0]}, TOOLRUN_SEED=${seed}: ${JSON.stringify(figures)}`);
  expect(wrong).toEqual([]);
  expect(figures).toMatchObject({ runs: size.watched + size.unwatched });
  expect(figures.kills).toBeGreaterThan(1);
}

describe("two servers behind a round-robin proxy, either killed at random", () => {
  test.skipIf(!hasRedisServer)(
    "on Redis: every run ends right, nothing runs twice, no follower loses an event",
    async () => {
      const redis = await startRedis();
      try {
        await play(redis.url);
      } finally {
        await redis.close();
      }
    },
    1_200_000,
  );

  test.skipIf(!postgresBinaries)(
    "on PostgreSQL: the same",
    async () => {
      const postgres = await startPostgres();
      try {
        await play(await postgres.createDatabase());
      } finally {
        await postgres.stop();
      }
    },
    1_200_000,
  );
});
