import { Redis } from "@upstash/redis";
import { redisStore } from "../../src/redis.ts";
import { runStoreCase, storeCases } from "../../src/testing/store-conformance.ts";

/** What a sandbox with nothing but web standards runs: one case of the store contract over HTTP. */
export async function runOnEdge(name: string, url: string, token: string): Promise<void> {
  const each = storeCases.find((known) => known.name === name);
  if (!each) throw new Error(`There is no case "${name}".`);
  const store = redisStore(new Redis({ url, token, automaticDeserialization: false }), { prefix: "edge" });
  await runStoreCase(each, async () => ({ store, close: () => undefined }));
}

/** Globals of Node that must not be there for this to prove anything. */
export function nodeGlobals(): readonly string[] {
  return ["Buffer", "process", "setImmediate", "require"].filter((name) => name in globalThis);
}
