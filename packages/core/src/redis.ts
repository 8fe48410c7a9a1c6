export type { IoredisClient, NodeRedisClient, RedisClient, UpstashClient } from "./adapters/redis-client.ts";
export type { RedisStoreOptions } from "./adapters/redis-store.ts";
export { redisStore } from "./adapters/redis-store.ts";
