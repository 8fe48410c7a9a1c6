import { memoryStore, type ThreadStore, ToolRunError } from "toolrun/server";
import { httpStore } from "./http-store.ts";
import { ownUrl } from "./own-url.ts";

/**
 * Where the conversations live: in the demo's database, through its own API, because the edge route can reach no
 * database by itself. `TOOLRUN_STORE=memory` keeps them in this process. A real app names its store in one line:
 *
 *     store: redisStore(new Redis({ url, token, automaticDeserialization: false })),   // @upstash/redis, edge too
 *     store: redisStore(client),                                                       // redis or ioredis, on Node
 *     store: postgresStore(pool),                                                      // pg or postgres, on Node
 *
 * from `toolrun/redis` and `toolrun/postgres`.
 * @throws `misconfigured` for another name.
 */
export function threadStore(): ThreadStore {
  const name = process.env.TOOLRUN_STORE || "http";
  if (name === "memory") return memoryStore({ shared: true });
  if (name === "http") return httpStore({ url: ownUrl("/api/store"), token: process.env.STORE_TOKEN ?? "" });
  throw new ToolRunError("misconfigured", `TOOLRUN_STORE is ${JSON.stringify(name)}: use "http" or "memory".`);
}
