import { Redis as Upstash } from "@upstash/redis";
import { Redis as CloudflareUpstash } from "@upstash/redis/cloudflare";
import { Cluster, Redis as Ioredis } from "ioredis";
import { Cluster as Cluster5, Redis as Ioredis5 } from "ioredis-5";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import { createClient as createClient5, createCluster as createCluster5 } from "redis-5";
import { redisStore } from "../../src/redis.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";

// Every client as its own package makes it, with no cast.
export const stores: readonly ThreadStore[] = [
  redisStore(createClient()),
  redisStore(createClient({ RESP: 3 })),
  redisStore(createCluster({ rootNodes: [] })),
  redisStore(createSentinel({ name: "main", sentinelRootNodes: [] })),
  redisStore(createClientPool()),
  redisStore(createClient5()),
  redisStore(createCluster5({ rootNodes: [] })),
  redisStore(new Ioredis()),
  redisStore(new Cluster([])),
  redisStore(new Ioredis5()),
  redisStore(new Cluster5([])),
  redisStore(Upstash.fromEnv({ automaticDeserialization: false }), { prefix: "mine" }),
  redisStore(new CloudflareUpstash({ url: "", token: "", automaticDeserialization: false })),
];

// @ts-expect-error: an address is no client
redisStore("redis://127.0.0.1");
// @ts-expect-error: nor is a client without scripts
redisStore({ get: async () => null, set: async () => "OK" });
// @ts-expect-error: an option that does not exist
redisStore(new Ioredis(), { keyPrefix: "mine" });
