import { createClient } from "redis";
import { migrate, postgresStore } from "toolrun/postgres";
import { redisStore } from "toolrun/redis";
import type { ThreadStore } from "toolrun/server";
import { query } from "./db.ts";

/** On globalThis, so that all who follow hear each other, whatever module they came through. */
const slot = Symbol.for("toolrun.demo.threads");

interface Shared {
  [slot]?: Promise<ThreadStore> | undefined;
}

/**
 * The threads, in the shop's own database: one connection, one lock, one directory; the tables are made on first use. Or
 * in Redis, where `TOOLRUN_STORE` says so.
 */
export function openThreads(): Promise<ThreadStore> {
  const shared = globalThis as Shared; // A symbol key of our own that the global type cannot know.
  shared[slot] ??= open().catch((error: unknown) => {
    shared[slot] = undefined; // asked again, it is tried again
    throw error;
  });
  return shared[slot];
}

async function open(): Promise<ThreadStore> {
  if (process.env.TOOLRUN_STORE === "redis") return openRedis();
  await query("select 1"); // should the database not open, its own words say why
  await migrate(query);
  return postgresStore(query);
}

async function openRedis(): Promise<ThreadStore> {
  const client = createClient({ url: process.env.REDIS_URL ?? "redis://localhost:6379" });
  client.on("error", (error) => console.error(error)); // without it, Node ends the process when Redis goes away
  await client.connect();
  return redisStore(client);
}
