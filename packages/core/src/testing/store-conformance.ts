import type { ThreadStore } from "../store/thread-store.ts";
import { appendCases } from "./store-append-cases.ts";
import type { StoreCase, StoreCaseContext } from "./store-case.ts";
import { faultCases } from "./store-fault-cases.ts";
import { followCases } from "./store-follow-cases.ts";
import { leaseCases } from "./store-lease-cases.ts";
import { readCases } from "./store-read-cases.ts";

export type { StoreCase } from "./store-case.ts";

/** A store under test and what belongs to it. */
export interface StoreUnderTest {
  readonly store: ThreadStore;
  /**
   * The same threads as another server has them: a store of its own, over a client of its own. Let its notifications get
   * lost where you can, because followers may not depend on them. Without it the suite takes `store` for both.
   */
  readonly other?: ThreadStore | undefined;
  /** Moves the store's clock. Leave it out where that is impossible: the suite then really waits. */
  advance?(ms: number): Promise<void> | void;
  close(): Promise<void> | void;
}

/** The two functions the suite needs of a test runner; those of vitest, jest, node:test and bun fit. */
export interface TestFunctions {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>, timeoutMs?: number): unknown;
}

export interface StoreConformanceOptions {
  /**
   * How long a store may take to show something, such as an event to a follower.
   * @defaultValue 10000
   */
  readonly patienceMs?: number | undefined;
}

/** Every rule of the store contract, for runners of your own. */
export const storeCases: readonly StoreCase[] = [
  ...appendCases,
  ...leaseCases,
  ...readCases,
  ...followCases,
  ...faultCases,
];

/**
 * Declares the tests that every ThreadStore must pass. A store that passes keeps threads as well as the
 * memory store does; nothing of the list is optional.
 */
export function storeConformance(
  name: string,
  makeStore: () => Promise<StoreUnderTest>,
  { describe, it }: TestFunctions,
  options: StoreConformanceOptions = {},
): void {
  describe(`store contract: ${name}`, () => {
    for (const each of storeCases) it(each.name, () => runStoreCase(each, makeStore, options), 60_000);
  });
}

/** Runs one case on a store of its own; rejects when the rule is broken. */
export async function runStoreCase(
  { run }: StoreCase,
  makeStore: () => Promise<StoreUnderTest>,
  { patienceMs = 10_000 }: StoreConformanceOptions = {},
): Promise<void> {
  const made = await makeStore();
  const control = new AbortController();
  const context: StoreCaseContext = {
    store: made.store,
    other: made.other ?? made.store,
    patienceMs,
    canSkipTime: made.advance !== undefined,
    advance: async (ms) => {
      if (made.advance) await made.advance(ms);
      else await new Promise((resolve) => setTimeout(resolve, ms));
    },
    newId: () => crypto.randomUUID(),
    signal: control.signal,
  };
  try {
    await run(context);
  } finally {
    control.abort();
    await made.close();
  }
}
