import { Redis } from "@upstash/redis/cloudflare";
import { redisStore } from "toolrun/redis";
import { memoryStore, type ThreadStore, ToolRunError } from "toolrun/server";
import { httpStore } from "./http-store.ts";
import { ownUrl } from "./own-url.ts";

/**
 * Where the conversations live, by `TOOLRUN_STORE`: in the demo's database (PGlite, or what `DATABASE_URL` names), through
 * its own API, because the edge route can reach no database by itself. With `redis` that API opens `REDIS_URL` instead;
 * `upstash` needs no API; `memory` is this process. A real app has the one line that it needs:
 *
 *     store: redisStore(new Redis({ url, token, automaticDeserialization: false })),   // @upstash/redis, edge too
 *     store: redisStore(client),                                                       // redis or ioredis, on Node
 *     store: postgresStore(pool),                                                      // pg or postgres, on Node
 *
 * @throws `misconfigured` for another name, or for `upstash` without its address.
 */
export function threadStore(): ThreadStore {
  const name = process.env.TOOLRUN_STORE || "http";
  switch (name) {
    case "http":
    case "redis":
      return httpStore({ url: ownUrl("/api/store"), token: process.env.STORE_TOKEN ?? "" });
    case "upstash":
      return upstash();
    case "memory":
      return memoryStore({ shared: true });
    default: {
      const given = JSON.stringify(name);
      throw new ToolRunError("misconfigured", `TOOLRUN_STORE is ${given}: use "http", "redis", "upstash" or "memory".`);
    }
  }
}

function upstash(): ThreadStore {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = process.env;
  if (url && token) return redisStore(new Redis({ url, token, automaticDeserialization: false }));
  throw new ToolRunError("misconfigured", "TOOLRUN_STORE=upstash needs UPSTASH_REDIS_REST_URL and _TOKEN.");
}
