import { memoryStore } from "../../../src/store/memory-store.ts";
import type { ThreadStore } from "../../../src/store/thread-store.ts";
import type { FaultyStore } from "../../../src/testing/faulty-store.ts";
import { faultyStore } from "../../../src/testing/faulty-store.ts";
import { openStore } from "../../cluster/open-store.ts";
import type { Service, ServiceKind } from "../../cluster/services.ts";

/** One set of threads, as each of two servers reaches it. */
export interface RaceStores {
  readonly stores: readonly [ThreadStore, ThreadStore];
  /** What went wrong on purpose since the last time it was asked. */
  struck(): number;
  close(): Promise<void>;
}

/** One memory; every answer takes a few turns of the event loop, others each time. */
export function openMemory(seed: number): RaceStores {
  const store = memoryStore();
  let state = seed + 1;
  const pause = async (): Promise<void> => {
    state = (state * 48_271) % 2_147_483_647;
    for (let turns = state % 5; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
  };
  const slow = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await pause();
    const result = await work();
    await pause();
    return result;
  };
  const slowed: ThreadStore = {
    ...store,
    read: (...args) => slow(() => store.read(...args)),
    append: (...args) => slow(() => store.append(...args)),
  };
  return { stores: [slowed, slowed], struck: () => 0, close: async () => undefined };
}

/** Loses answers and requests, repeats and delays them; what was lost may still arrive. */
export function openFaulty(seed: number): RaceStores {
  const inner = memoryStore();
  const faults = { lostReply: 0.1, lostRequest: 0.05, lateWrite: 0.05, duplicate: 0.1, delay: 0.3 };
  const open = (side: number): FaultyStore =>
    faultyStore(inner, { faults, seed: 2 * seed + side, delayMs: 4, lateMs: 40 });
  const stores = [open(0), open(1)] as const;
  let counted = 0;
  return {
    stores,
    struck() {
      const all = stores.flatMap(({ struck }) => Object.values(struck)).reduce((sum, count) => sum + count, 0);
      const since = all - counted;
      counted = all;
      return since;
    },
    close: async () => undefined,
  };
}

/** A real service, and a connection of each server's own. */
export async function openService(kind: ServiceKind): Promise<RaceStores> {
  const service: Service = await kind.start();
  const [one, other] = await Promise.all([openStore(service.url), openStore(service.url)]);
  return {
    stores: [one.store, other.store],
    struck: () => 0,
    close: async () => {
      await Promise.all([one.close(), other.close()]);
      await service.stop();
    },
  };
}
