import { Redis as Ioredis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { redisStore } from "../../src/redis.ts";
import type { ToolRun } from "../../src/server.ts";
import { createToolRun, defineAgent, tool } from "../../src/server.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { Connected } from "./redis-clients.ts";
import { connect } from "./redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import { eventually } from "./redis-tools.ts";

const isThere: boolean = await hasRedis("runs on Redis: two servers, a failover");
const user = { id: "clerk" };
const LEASE_MS = 1200;

describe.skipIf(!isThere)("runs on Redis", () => {
  let redis: RedisServer;
  let raw: Ioredis;
  const connected: Connected[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    raw = new Ioredis(redis.url, { retryStrategy: () => 20 }).on("error", () => undefined);
    for (const name of ["redis 6", "ioredis 6"] as const) connected.push(await connect(name, redis));
  });
  afterAll(async () => {
    for (const { close } of connected) await close();
    raw?.disconnect();
    await redis?.close();
  });

  /** A server of its own, with a client of its own. */
  const server = (which: 0 | 1, prefix: string, script: readonly ScriptEntry[]) => {
    const ran: string[] = [];
    const reports: unknown[] = [];
    const refund = tool({
      description: "Refund.",
      inputSchema: z.object({ orderId: z.string() }),
      execute: ({ orderId }) => {
        ran.push(orderId);
        return { refunded: orderId };
      },
    });
    const client = connected[which]?.client;
    if (!client) throw new Error("There is no client.");
    const toolrun: ToolRun = createToolRun({
      agent: defineAgent({ model: scriptedModel(script), tools: { refund } }),
      store: redisStore(client, { prefix }),
      leaseMs: LEASE_MS,
      onError: (error) => reports.push(error),
    });
    return { toolrun, ran, reports };
  };

  test("asked on one server, approved on both at once, it runs once and is followed to its end from both", async () => {
    const prefix = crypto.randomUUID();
    const left = server(0, prefix, [call("refund", { orderId: "1042" }), say("Done.")]);
    const right = server(1, prefix, [say("Done.")]);
    const sent = await left.toolrun.send({ user, message: "Refund 1042" });
    const [step] = (await sent.settled()).pending;
    if (!step) throw new Error("Nothing waits.");
    const decided = await Promise.allSettled(
      [left, right, left, right].map(({ toolrun }) => toolrun.approve(step, { user, key: "k" })),
    );
    const settled = decided.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    expect(settled.length).toBeGreaterThan(0);
    for (const each of settled) expect(await each.settled()).toMatchObject({ status: "ended", outcome: "completed" });
    expect([...left.ran, ...right.ran]).toEqual(["1042"]);
    const { rows } = await right.toolrun.list({ user });
    expect(rows).toMatchObject([{ id: sent.threadId, status: "ended", pending: 0 }]);
  });

  test("a driver whose store lost writes stops; a sweep of another server brings the run to its end", async () => {
    const prefix = crypto.randomUUID();
    const talk = Array.from({ length: 60 }, (_, index) => [say(`word${index} `), delay(50)]).flat();
    const left = server(0, prefix, [calls(...talk)]);
    const right = server(1, prefix, [say("All is well.")]);
    const { threadId } = await left.toolrun.send({ user, message: "Talk" });
    const text = async (): Promise<string> => JSON.stringify((await right.toolrun.read({ user, threadId }))?.messages);
    await eventually(async () => expect(await text()).toContain("word1"));
    await raw.save();
    await eventually(async () => expect(await text()).toContain("word8"));
    await redis.kill();
    await redis.start();
    await eventually(async () => expect(await text()).not.toContain("word8"));
    await eventually(async () => {
      await right.toolrun.sweep();
      expect(await right.toolrun.read({ user, threadId })).toMatchObject({ status: "ended", outcome: "completed" });
    }, 10_000);
    expect(await text()).toContain("All is well.");
    expect(await text()).not.toContain("word20");
  }, 20_000);
});
