import { setTimeout as sleep } from "node:timers/promises";
import type { RoundRobin } from "./proxy.ts";
import { startProxy } from "./proxy.ts";
import type { Random } from "./random.ts";
import type { ServerSlot } from "./server-slot.ts";
import { serverSlot } from "./server-slot.ts";

/** Two servers on one store behind a proxy. */
export interface Cluster {
  readonly url: string;
  readonly servers: readonly [ServerSlot, ServerSlot];
  /** What the servers said about errors last. */
  readonly errors: string;
  close(): Promise<void>;
}

export interface ClusterOptions {
  /** The bundle of server-process.ts. */
  readonly file: string;
  readonly storeUrl: string;
  readonly leaseMs: number;
  /** When the answer of a GET is cut. Never without. */
  readonly cutAfterMs?: (() => number) | undefined;
}

export async function startCluster({ file, storeUrl, leaseMs, cutAfterMs }: ClusterOptions): Promise<Cluster> {
  const slot = (): ServerSlot => serverSlot(file, storeUrl, String(leaseMs));
  const servers = [slot(), slot()] as const;
  await Promise.all(servers.map((server) => server.start()));
  const proxy: RoundRobin = await startProxy(() => servers.map(({ port }) => port), cutAfterMs);
  return {
    url: proxy.url,
    servers,
    get errors() {
      return servers.map(({ errors }) => errors).join("\n");
    },
    async close() {
      await proxy.close();
      await Promise.all(servers.map((server) => server.kill()));
    },
  };
}

export interface Havoc {
  readonly kills: number;
  readonly pauses: number;
  /** No more of it; both servers are up when it resolves. */
  stop(): Promise<void>;
}

/**
 * Kills a server at random moments and starts it again, at times both; or makes it stand still for longer than its
 * lease, and go on as if nothing had happened.
 */
export function wreakHavoc({ servers }: Cluster, random: Random, leaseMs: number, everyMs: number): Havoc {
  let isOver = false;
  const counts = { kills: 0, pauses: 0 };
  const again = async (server: ServerSlot): Promise<void> => {
    counts.kills++;
    await server.kill();
    await sleep(random.between(0, 200));
    await server.start();
  };
  const work = (async () => {
    while (!isOver) {
      await sleep(random.between(everyMs / 2, everyMs * 1.5));
      const victim = random.one(servers);
      const kind = random.next();
      if (kind < 0.1) await Promise.all(servers.map(again));
      else if (kind < 0.85) await again(victim);
      else {
        counts.pauses++;
        victim.pause();
        await sleep(leaseMs * 1.5);
        victim.resume();
      }
    }
  })();
  return {
    get kills() {
      return counts.kills;
    },
    get pauses() {
      return counts.pauses;
    },
    async stop() {
      isOver = true;
      await work;
    },
  };
}
