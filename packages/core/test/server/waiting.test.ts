import pg from "pg";
import { createClient } from "redis";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { migrate, postgresStore } from "../../src/postgres.ts";
import { redisStore } from "../../src/redis.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { FollowChange, ThreadStore } from "../../src/store/thread-store.ts";
import { call, scriptedModel } from "../../src/testing/scripted-model.ts";
import { postgresBinaries, startPostgres } from "../adapters/postgres-server.ts";
import { hasRedis, startRedis } from "../adapters/redis-server.ts";
import { endpoint } from "./endpoint.ts";

const THREADS = 1_000;
const AT_ONCE = 10;

const isThereRedis = await hasRedis("1,000 waiting threads on Redis");

interface Opened {
  readonly store: ThreadStore;
  /** How many connections the database has, asked through one of them. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

const stores: Readonly<Record<string, () => Promise<Opened>>> = {
  async memory() {
    return { store: memoryStore(), connections: async () => 0, close: async () => undefined };
  },
  async redis() {
    const server = await startRedis();
    const client = await createClient({ url: server.url }).connect();
    return {
      store: redisStore(client),
      connections: async () =>
        String(await client.sendCommand(["CLIENT", "LIST"]))
          .trim()
          .split("\n").length,
      async close() {
        client.destroy();
        await server.close();
      },
    };
  },
  async postgres() {
    const server = await startPostgres();
    const pool = new pg.Pool({ connectionString: await server.createDatabase(), max: 4 });
    await migrate(pool);
    const count = "select count(*) as count from pg_stat_activity where datname = current_database()";
    return {
      store: postgresStore(pool),
      connections: async () => Number((await pool.query(count)).rows[0].count),
      async close() {
        await pool.end();
        await server.stop();
      },
    };
  },
};

const isThere: Readonly<Record<string, boolean>> = {
  memory: true,
  redis: isThereRedis,
  postgres: postgresBinaries !== undefined,
};

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(Object.entries(stores))("1,000 threads that wait for a person, on %s", (name, open) => {
  it.skipIf(!isThere[name])(
    "hold no driver, follower, timer or connection",
    async () => {
      const timers = countTimers();
      const { store, connections, close } = await open();
      const followed = countFollowers(store);
      const model = scriptedModel(() => call("refund", { orderId: "1042" }));
      const refund = tool({
        description: "Refunds.",
        inputSchema: z.object({ orderId: z.string() }),
        execute: () => "ok",
      });
      const server = endpoint({ agent: defineAgent({ model, tools: { refund } }), store: followed.store });
      const { engine, clock } = server;

      /** A person asks for something, watches the run, and leaves the tab open on its question. */
      const wait = async (index: number): Promise<void> => {
        const id = `user-${index}`;
        const { threadId } = await server.send({ user: { id }, message: "Refund 1042" });
        const stream = await server.get(`/${threadId}/events`, { "x-user": id });
        expect(await stream.text()).toContain('"run-waiting"');
      };
      for (let index = 0; index < THREADS; index += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => wait(index + offset)));
        if (index === 0) expect(followed.begun).toBeGreaterThan(0);
      }

      expect((await store.list(undefined, undefined, { status: "waiting", limit: THREADS + 1 })).rows).toHaveLength(
        THREADS,
      );
      expect(server.errors).toEqual([]);
      expect([engine.drivers.size, engine.starting.size]).toEqual([0, 0]);
      expect(followed.open).toBe(0);
      expect(clock.armed).toBe(0);
      // The store's own: what listens for others goes a moment after its last follower.
      await vi.waitFor(async () => {
        expect(timers.armed).toBe(0);
        expect(await connections()).toBe({ memory: 0, redis: 1, postgres: 4 }[name]);
      }, 10_000);
      await close();
    },
    120_000,
  );
});

/** The store with its followers counted: begun, and still under way. */
function countFollowers(store: ThreadStore): {
  readonly store: ThreadStore;
  readonly begun: number;
  readonly open: number;
} {
  let [begun, ended] = [0, 0];
  async function* follow(...args: Parameters<ThreadStore["follow"]>): AsyncGenerator<FollowChange> {
    begun++;
    try {
      yield* store.follow(...args);
    } finally {
      ended++;
    }
  }
  return {
    store: { ...store, follow },
    get begun() {
      return begun;
    },
    get open() {
      return begun - ended;
    },
  };
}

/** Timers of the stores that are to call somebody back; one that was cancelled calls nobody. */
function countTimers(): { readonly armed: number } {
  const armed = new Set<AbortSignal>();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const signal = timeout(ms);
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    const isOver = (): boolean => armed.delete(signal);
    signal.addEventListener = (type: string, listener: EventListenerOrEventListenerObject): void => {
      armed.add(signal);
      add(type, listener);
      add(type, isOver);
    };
    signal.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject): void => {
      isOver();
      remove(type, listener);
    };
    return signal;
  });
  return {
    get armed() {
      return armed.size;
    },
  };
}
