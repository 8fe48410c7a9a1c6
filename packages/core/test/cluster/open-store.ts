import { migrate, postgresStore } from "../../src/postgres.ts";
import { redisStore } from "../../src/redis.ts";
import type { ThreadStore } from "../../src/server.ts";
import type { Journal } from "./journal.ts";

export interface Opened {
  readonly store: ThreadStore;
  readonly journal: Journal;
  close(): Promise<void>;
}

/** Connects to a Redis or a PostgreSQL by its address. Loads no other client: a process that dies often starts often. */
export async function openStore(url: string): Promise<Opened> {
  return url.startsWith("redis:") ? openRedis(url) : openPostgres(url);
}

async function openRedis(url: string): Promise<Opened> {
  const { Redis } = await import("ioredis");
  const client = new Redis(url).on("error", () => undefined);
  return {
    store: redisStore(client),
    journal: {
      write: async (execution) => void (await client.rpush("journal", JSON.stringify(execution))),
      read: async () => (await client.lrange("journal", 0, -1)).map((text) => JSON.parse(text)),
    },
    close: async () => client.disconnect(),
  };
}

async function openPostgres(url: string): Promise<Opened> {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: url, max: 8 }).on("error", () => undefined);
  await migrate(pool);
  await pool.query("create table if not exists journal (id serial, execution text not null)").catch(async (error) => {
    if (error.code !== "23505") throw error; // another process makes it at this moment
  });
  return {
    store: postgresStore(pool),
    journal: {
      write: async (execution) => {
        await pool.query("insert into journal (execution) values ($1)", [JSON.stringify(execution)]);
      },
      read: async () => {
        const { rows } = await pool.query<{ execution: string }>("select execution from journal order by id");
        return rows.map(({ execution }) => JSON.parse(execution));
      },
    },
    close: () => pool.end(),
  };
}
