import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { parseEvent } from "../../../src/protocol/stored-event.ts";
import type { Append, ThreadStore } from "../../../src/store/thread-store.ts";

/** One change of a thread, as the store accepted it. */
export interface Change {
  readonly threadId: string;
  /** Empty where the thread was removed. */
  readonly events: readonly ThreadEvent[];
}

export interface Recorder {
  readonly store: ThreadStore;
  /** Every change since the last time it was asked. */
  take(): readonly Change[];
}

/** Writes down what changes in a store, whoever does it. */
export function recorder(store: ThreadStore): Recorder {
  let changes: Change[] = [];
  return {
    store: {
      ...store,
      async append(id, position, append: Append) {
        const result = await store.append(id, position, append);
        if (result.status === "ok") {
          const events = append.events.map(({ data }, index) => parseEvent(data, result.first + index));
          changes.push({ threadId: id, events });
        }
        return result;
      },
      async remove(id) {
        await store.remove(id);
        changes.push({ threadId: id, events: [] });
      },
    },
    take() {
      const taken = changes;
      changes = [];
      return taken;
    },
  };
}
