import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { StoreUnderTest } from "../../src/testing/store-conformance.ts";

/** A memory store whose time moves only by `advance`, wrapped by a fault where a test plants one; `other` has none. */
export async function clockedMemoryStore(
  plant: (store: ThreadStore, clock: { now(): number }) => ThreadStore = (store) => store,
): Promise<StoreUnderTest> {
  let now = 1_000_000;
  const clock = { now: () => now };
  const store = memoryStore({ clock });
  return {
    store: plant(store, clock),
    other: store,
    advance: (ms) => {
      now += ms;
    },
    close: () => {},
  };
}
