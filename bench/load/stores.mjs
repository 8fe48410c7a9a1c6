// Stores with the clients an application would hand in.
import pg from "pg";
import { createClient } from "redis";
import { migrate, postgresStore } from "../../packages/core/src/postgres.ts";
import { redisStore } from "../../packages/core/src/redis.ts";
import { memoryStore } from "../../packages/core/src/server.ts";

const ignore = () => {};

const stores = {
  async memory() {
    return { store: memoryStore(), bytes: async () => Number.NaN };
  },
  async redis(url) {
    const client = await createClient({ url }).on("error", ignore).connect();
    // Without what is on its way: buffers of clients and of the file, which Redis gives back by the clock.
    const bytes = async () => {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      const info = await client.info("memory");
      const number = (name) => Number(new RegExp(`\\b${name}:(\\d+)`).exec(info)?.[1]);
      return number("used_memory") - number("mem_clients_normal") - number("mem_aof_buffer");
    };
    return { store: redisStore(client), client, bytes };
  },
  async postgres(url, connections = 10) {
    const client = new pg.Pool({ connectionString: url, max: connections }).on("error", ignore);
    await migrate(client);
    const size = `select pg_total_relation_size('toolrun_threads') + pg_total_relation_size('toolrun_appends') as bytes`;
    const bytes = async () => {
      await client.query("vacuum full toolrun_threads");
      await client.query("vacuum full toolrun_appends");
      return Number((await client.query(size)).rows[0].bytes);
    };
    return { store: postgresStore(client), client, bytes };
  },
};

/** The store, its client, and how many bytes it takes: of memory, or of disk without what is dead. */
export function openStore(name, url, connections) {
  return stores[name](url, connections);
}
