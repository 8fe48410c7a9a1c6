import type { Append, ThreadStore } from "../../src/store/thread-store.ts";

/** What happens around an append; a hook that throws before it keeps it from happening, one behind it loses its answer. */
export interface Meddler {
  readonly before?: ((append: Append, count: number) => Promise<void> | void) | undefined;
  readonly after?: ((append: Append, count: number) => Promise<void> | void) | undefined;
}

/** A store in which something happens just before or behind an append; appends count from 1. */
export function meddlingStore(store: ThreadStore, { before, after }: Meddler): ThreadStore {
  let count = 0;
  return {
    ...store,
    async append(id, position, append) {
      const mine = ++count;
      await before?.(append, mine);
      const result = await store.append(id, position, append);
      await after?.(append, mine);
      return result;
    },
  };
}

/** The kinds of the events of an append. */
export function kindsOf({ events }: Append): readonly string[] {
  return events.map(({ data }) => JSON.parse(data).type);
}

/** A hook for the first append that holds such an event. */
export function once(kind: string, hook: () => Promise<void> | void): (append: Append) => Promise<void> | void {
  let done = false;
  return (append) => {
    if (done || !kindsOf(append).includes(kind)) return;
    done = true;
    return hook();
  };
}
