import { Redis as Ioredis } from "ioredis";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisStore } from "../../src/redis.ts";
import type { StoreUnderTest } from "../../src/testing/store-conformance.ts";
import { runStoreCase, storeCases, storeConformance } from "../../src/testing/store-conformance.ts";
import type { ClientName, Connected } from "./redis-clients.ts";
import { connect, startCluster } from "./redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";
import { hasRedis, startRedis } from "./redis-server.ts";

const isThere: boolean = await hasRedis("the store contract on Redis");

/** Every client on one server, one connection each; a case has a store and keys of its own. */
function onServer(
  name: string,
  start: () => Promise<RedisServer>,
  clients: readonly ClientName[],
  conformance: typeof storeConformance,
): void {
  describe.skipIf(!isThere)(name, () => {
    let redis: RedisServer;
    let raw: Ioredis;
    const elsewhere: Ioredis[] = [];
    const connected = new Map<ClientName, Connected>();

    beforeAll(async () => {
      redis = await start();
      raw = new Ioredis(redis.url);
      await raw.acl("SETUSER", "mute", "on", "nopass", "~*", "+@all", "resetchannels");
      const mute = redis.url.replace("://", "://mute:any@");
      elsewhere.push(...[undefined, "ours:"].map((keyPrefix) => new Ioredis(mute, keyPrefix ? { keyPrefix } : {})));
      for (const client of clients) connected.set(client, await connect(client, redis));
    });
    afterAll(async () => {
      for (const { close } of connected.values()) await close();
      for (const client of [raw, ...elsewhere]) client?.disconnect();
      await redis?.close();
    });

    const makeStore = async (client: ClientName): Promise<StoreUnderTest> => {
      const made = connected.get(client);
      if (!made) throw new Error(`${client} is not connected.`);
      const prefix = crypto.randomUUID();
      const other = elsewhere[client.endsWith("with a key prefix") ? 1 : 0];
      if (!other) throw new Error("There is no other server.");
      return {
        store: redisStore(made.client, { prefix }),
        other: redisStore(other, { prefix }), // who may not publish notifies nobody
        advance: (ms) => age(raw, prefix, ms),
        close: () => undefined,
      };
    };
    for (const client of clients) conformance(client, () => makeStore(client), { describe, it });
  });
}

/** A server's clock cannot be moved: instead leases and tombstones come closer to their end by so many ms. */
async function age(raw: Ioredis, prefix: string, ms: number): Promise<void> {
  for (const key of await raw.keys(`*${prefix}:{*}`)) {
    if (await raw.hexists(key, "until")) await raw.hincrby(key, "until", -ms);
    const left = await raw.pttl(key);
    if (left >= 0) await raw.pexpire(key, Math.max(1, left - ms));
  }
}

/** Of clients that differ in little, without the cases that are many commands of the same kind. */
const lighter: typeof storeConformance = (name, makeStore, runner, options) => {
  const many =
    /^(10,000|of 100|100 concurrent|many writers|followers that are dropped|what was written|what another|faults injected: whoever)/;
  runner.describe(`store contract, lighter: ${name}`, () => {
    for (const each of storeCases) {
      if (!many.test(each.name)) runner.it(each.name, () => runStoreCase(each, makeStore, options), 60_000);
    }
  });
};

onServer("one server", startRedis, ["redis 6", "ioredis 6", "@upstash/redis"], storeConformance);
onServer("one server, older clients", startRedis, ["redis 5", "ioredis 5 with a key prefix"], lighter);
onServer("a cluster", startCluster, ["Cluster of ioredis 6"], storeConformance);
onServer("a cluster, another client", startCluster, ["createCluster of redis 6"], lighter);
