import { Redis as Upstash } from "@upstash/redis";
import { Cluster, Redis as Ioredis } from "ioredis";
import { Redis as Ioredis5 } from "ioredis-5";
import { createClient, createCluster } from "redis";
import { createClient as createClient5 } from "redis-5";
import type { RedisClient } from "../../src/redis.ts";
import type { RedisServer } from "./redis-server.ts";
import { startRedis } from "./redis-server.ts";
import { startUpstash } from "./redis-upstash.ts";

/** A client under test, connected. */
export interface Connected {
  readonly client: RedisClient;
  close(): Promise<void> | void;
}

const ignore = (): void => undefined;

export async function nodeRedis({ url }: RedisServer): Promise<Connected> {
  const client = await createClient({ url }).on("error", ignore).connect();
  return { client, close: () => client.destroy() };
}

async function nodeRedis5({ url }: RedisServer): Promise<Connected> {
  const client = await createClient5({ url }).on("error", ignore).connect();
  return { client, close: () => client.destroy() };
}

export async function ioredis({ url }: RedisServer): Promise<Connected> {
  const client = new Ioredis(url).on("error", ignore);
  return { client, close: () => client.disconnect() };
}

async function ioredis5({ url }: RedisServer): Promise<Connected> {
  const client = new Ioredis5(url, { keyPrefix: "ours:" }).on("error", ignore);
  return { client, close: () => client.disconnect() };
}

async function upstash(redis: RedisServer): Promise<Connected> {
  const { url, token, close } = await startUpstash(redis.url);
  return { client: new Upstash({ url, token, automaticDeserialization: false }), close };
}

async function ioredisCluster({ port }: RedisServer): Promise<Connected> {
  const client = new Cluster([{ host: "127.0.0.1", port }]).on("error", ignore);
  return { client, close: () => client.disconnect() };
}

async function nodeRedisCluster({ url }: RedisServer): Promise<Connected> {
  const client = createCluster({ rootNodes: [{ url }] }).on("error", ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
}

export type ClientName =
  | "redis 6"
  | "redis 5"
  | "ioredis 6"
  | "ioredis 5 with a key prefix"
  | "@upstash/redis"
  | "createCluster of redis 6"
  | "Cluster of ioredis 6";

const clients: Readonly<Record<ClientName, (redis: RedisServer) => Promise<Connected>>> = {
  "redis 6": nodeRedis,
  "redis 5": nodeRedis5,
  "ioredis 6": ioredis,
  "ioredis 5 with a key prefix": ioredis5,
  "@upstash/redis": upstash,
  "createCluster of redis 6": nodeRedisCluster,
  "Cluster of ioredis 6": ioredisCluster,
};

/** Connects a client; the last two take a cluster. */
export function connect(name: ClientName, redis: RedisServer): Promise<Connected> {
  return clients[name](redis);
}

/** A cluster of one node: its keys are in slots, and no script may have those of two. */
export async function startCluster(): Promise<RedisServer> {
  const redis = await startRedis("--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1");
  const client = new Ioredis(redis.url);
  await client.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  while (!String(await client.call("CLUSTER", "INFO")).includes("cluster_state:ok")) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  client.disconnect();
  return redis;
}
