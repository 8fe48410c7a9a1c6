import { describe, expect, test } from "vitest";
import type {
  Append,
  AppendResult,
  FollowChange,
  StoredEvent,
  ThreadRead,
  ThreadStore,
} from "../../src/store/thread-store.ts";
import { runStoreCase, storeCases } from "../../src/testing/store-conformance.ts";
import { clockedMemoryStore } from "./clocked-memory-store.ts";

/** A memory store with one rule broken, and words of a case that must see it. */
interface Broken {
  readonly rule: string;
  readonly seenBy: readonly string[];
  plant(store: ThreadStore, clock: { now(): number }): ThreadStore;
}

type Read = ThreadRead | { readonly gone: true } | null;

/** Changes what the store answers wherever it hands out events. */
function withEvents(
  store: ThreadStore,
  change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
): ThreadStore {
  const changed = <Value extends Read>(read: Value): Value =>
    read && "events" in read ? { ...read, events: change(read.events) } : read;
  return {
    ...store,
    read: async (id, after) => changed(await store.read(id, after)),
    append: async (id, position, append) => {
      const result = await store.append(id, position, append);
      return result.status === "conflict" ? { ...result, events: change(result.events) } : result;
    },
    follow: (id, after, signal) =>
      mapChanges(store.follow(id, after, signal), (item) =>
        item.type === "events" ? { ...item, events: change(item.events) } : item,
      ),
  };
}

async function* mapChanges(
  changes: AsyncIterable<FollowChange>,
  change: (item: FollowChange) => FollowChange | undefined,
): AsyncGenerator<FollowChange> {
  for await (const item of changes) {
    const changed = change(item);
    if (changed) yield changed;
  }
}

/** Changes what is appended before it is stored. */
function withAppend(store: ThreadStore, change: (append: Append, id: string) => Append): ThreadStore {
  return { ...store, append: (id, position, append) => store.append(id, position, change(append, id)) };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const broken: readonly Broken[] = [
  {
    rule: "compare and write are two steps (lost update)",
    seenBy: ["exactly one wins"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const read = await store.read(id, "at" in position ? position.at : position.atControl);
        const head = read && "head" in read ? read.head : 0;
        await tick();
        if ("at" in position && position.at !== head) return store.append(id, position, append);
        const now = await store.read(id);
        return store.append(id, { at: now && "head" in now ? now.head : 0 }, append);
      },
    }),
  },
  {
    rule: "seqs have gaps",
    seenBy: ["next seqs without a gap"],
    plant: (store) => withEvents(store, (events) => events.map((event) => ({ ...event, seq: event.seq * 2 - 1 }))),
  },
  {
    rule: "an event of a batch is dropped",
    seenBy: ["next seqs without a gap", "in one piece"],
    plant: (store) =>
      withEvents(store, (events) =>
        events.filter((event, index) => index === 0 || event.batch !== events[index - 1]?.batch),
      ),
  },
  {
    rule: "events come back in another order",
    seenBy: ["next seqs without a gap", "in order and without a hole"],
    plant: (store) => withEvents(store, (events) => events.toReversed()),
  },
  {
    rule: "batch ids are not stored",
    seenBy: ["swallowed reply the same batch", "with their batch"],
    plant: (store) => withAppend(store, (append) => ({ ...append, batch: "" })),
  },
  {
    rule: "the store sends its own batch id for a resent batch",
    seenBy: ["swallowed reply the same batch", "control position the tail contains"],
    plant: (store) => withAppend(store, (append) => ({ ...append, batch: crypto.randomUUID() })),
  },
  {
    rule: "a batch is never written twice, silently (ok instead of conflict)",
    seenBy: ["swallowed reply the same batch"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const result = await store.append(id, position, append);
        const own =
          result.status === "conflict" ? result.events.find((event) => event.batch === append.batch) : undefined;
        return own ? { status: "ok", first: own.seq, head: own.seq + append.events.length - 1 } : result;
      },
    }),
  },
  {
    rule: "a resent batch is written again",
    seenBy: ["swallowed reply the same batch", "at the head is a conflict"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const result = await store.append(id, position, append);
        return result.status === "conflict" && result.head > 0 ? store.append(id, { at: result.head }, append) : result;
      },
    }),
  },
  {
    rule: "of two copies of a batch under way the second is written behind the first",
    seenBy: ["arrives three times at once"],
    plant: (store) => {
      const underWay = new Map<string, Promise<AppendResult>>();
      return {
        ...store,
        async append(id, position, append) {
          const first = underWay.get(append.batch);
          if (first !== undefined) {
            await first;
            const read = await store.read(id);
            return store.append(id, { at: read && "head" in read ? read.head : 0 }, append);
          }
          const result = store.append(id, position, append);
          underWay.set(append.batch, result);
          await tick();
          underWay.delete(append.batch);
          return result;
        },
      };
    },
  },
  {
    rule: "batch ids are kept of the last append only",
    seenBy: ["has it in the log once", "with their batch"],
    plant: (store) =>
      withEvents(store, (events) =>
        events.map((event) => (event.batch === events.at(-1)?.batch ? event : { ...event, batch: "" })),
      ),
  },
  {
    rule: "a batch is written again where its first answer was lost and others wrote behind it",
    seenBy: ["has it in the log once"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const result = await store.append(id, position, append);
        if (result.status !== "conflict" || result.events[0]?.batch !== append.batch) return result;
        const isLast = result.events.every((event) => event.batch === append.batch);
        return isLast ? result : store.append(id, { at: result.head }, append);
      },
    }),
  },
  {
    rule: "a control position beyond the head is taken for the last",
    seenBy: ["at the head is a conflict"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const read = await store.read(id);
        const { head = 0, control = 0 } = read && "head" in read ? read : {};
        const beyond = "atControl" in position && position.atControl > head;
        return store.append(id, beyond ? { atControl: control } : position, append);
      },
    }),
  },
  {
    rule: "a conflict brings no tail",
    seenBy: ["conflict that brings the tail"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const result = await store.append(id, position, append);
        return result.status === "conflict" ? { ...result, events: [] } : result;
      },
    }),
  },
  {
    rule: "a position beyond the head is taken for the head",
    seenBy: ["at the head is a conflict", "only position 0 begins it"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const read = await store.read(id);
        const head = read && "head" in read ? read.head : 0;
        return store.append(id, "at" in position && position.at > head ? { at: head } : position, append);
      },
    }),
  },
  {
    rule: "deltas move control",
    seenBy: ["leave control where it is", "deltas at one control position"],
    plant: (store) =>
      withAppend(store, (append) => ({
        ...append,
        events: append.events.map((event) => ({ ...event, control: true })),
      })),
  },
  {
    rule: "atControl compares with the head",
    seenBy: ["leave control where it is"],
    plant: (store) => ({
      ...store,
      append: (id, position, append) =>
        store.append(id, { at: "at" in position ? position.at : position.atControl }, append),
    }),
  },
  {
    rule: "a lease is stolen",
    seenBy: ["another's claim is held", "of two claims at once"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const result = await store.append(id, position, append);
        if (result.status !== "held" || !append.lease || !("driverId" in append.lease)) return result;
        return store.append(id, position, { ...append, lease: undefined });
      },
    }),
  },
  {
    rule: "a conflicting claim takes the lease all the same",
    seenBy: ["a conflict writes nothing"],
    plant: (store, clock) => {
      const thieves = new Map<string, { driverId: string; until: number }>();
      return {
        ...store,
        async append(id, position, append) {
          const claim = append.lease && "driverId" in append.lease ? append.lease : undefined;
          const thief = thieves.get(id);
          if (claim && thief && thief.driverId !== claim.driverId && thief.until > clock.now()) {
            return { status: "held", until: thief.until };
          }
          const result = await store.append(id, position, append);
          if (result.status === "conflict" && claim) {
            thieves.set(id, { driverId: claim.driverId, until: clock.now() + claim.ttlMs });
          }
          return result;
        },
      };
    },
  },
  {
    rule: "held comes before conflict",
    seenBy: ["a claim sent again after a lost reply"],
    plant: (store) => ({
      ...store,
      async append(id, position, append) {
        const result = await store.append(id, position, append);
        if (result.status !== "conflict" || !append.lease || !("driverId" in append.lease)) return result;
        const probe = await store.append(id, { at: result.head }, append);
        return probe.status === "held" ? probe : result;
      },
    }),
  },
  {
    rule: "renewing claims",
    seenBy: ["renewing never claims", "a lease ends by itself"],
    plant: (store) => ({
      ...store,
      async lease(id, driverId, ttlMs) {
        const renewed = await store.lease(id, driverId, ttlMs);
        const read = await store.read(id);
        if (renewed.status === "ok" || !read || "gone" in read) return renewed;
        return { status: "ok", head: read.head, control: read.control };
      },
    }),
  },
  {
    rule: "a renewal does not move the end of the lease",
    seenBy: ["a renewal keeps the lease"],
    plant: (store) => ({ ...store, lease: (id, driverId) => store.lease(id, driverId, 0.000_001) }),
  },
  {
    rule: "a lease never ends",
    seenBy: ["a lease ends by itself", "a claim sent again"],
    plant: (store) => {
      const forever = (append: Append): Append =>
        append.lease && "driverId" in append.lease ? { ...append, lease: { ...append.lease, ttlMs: 1e12 } } : append;
      return withAppend(store, forever);
    },
  },
  {
    rule: "a release frees anybody's lease",
    seenBy: ["frees the lease at once, and only one's own"],
    plant: (store) => {
      const holders = new Map<string, string>();
      return withAppend(store, (append, id) => {
        if (append.lease && "driverId" in append.lease) holders.set(id, append.lease.driverId);
        if (!append.lease || !("release" in append.lease)) return append;
        return { ...append, lease: { release: holders.get(id) ?? "" } };
      });
    },
  },
  {
    rule: "a release is forgotten",
    seenBy: ["frees the lease at once"],
    plant: (store) =>
      withAppend(store, (append) =>
        append.lease && "release" in append.lease ? { ...append, lease: undefined } : append,
      ),
  },
  {
    rule: "a snapshot trims up to itself",
    seenBy: ["trims nothing", "trims to the one before it"],
    plant: (store) => {
      const snapshots = new Map<string, { seq: number; data: string }>();
      const trim = (id: string, after: number | undefined, read: Read): Read => {
        const snapshot = snapshots.get(id);
        if (!read || "gone" in read || !snapshot || (after !== undefined && after >= snapshot.seq)) return read;
        return { ...read, snapshot, events: read.events.filter((event) => event.seq > snapshot.seq) };
      };
      return {
        ...store,
        read: async (id, after) => trim(id, after, await store.read(id, after)),
        async append(id, position, append) {
          const result = await store.append(id, position, append);
          if (result.status === "ok" && append.snapshot !== undefined) {
            snapshots.set(id, { seq: result.head, data: append.snapshot });
          }
          return result;
        },
      };
    },
  },
  {
    rule: "a follower skips what was trimmed, silently",
    seenBy: ["trimmed away is a reset", "never a hole"],
    plant: (store) => ({
      ...store,
      async *follow(id, after, signal) {
        let cursor = after;
        for (;;) {
          let reset = false;
          for await (const change of store.follow(id, cursor, signal)) {
            reset = change.type === "reset";
            if (!reset) yield change;
            if (change.type === "events") cursor = change.events.at(-1)?.seq ?? cursor;
          }
          const read = await store.read(id);
          if (!reset || !read || "gone" in read) return;
          cursor = read.snapshot?.seq ?? 0;
        }
      },
    }),
  },
  {
    rule: "text is normalised",
    seenBy: ["exactly as it was"],
    plant: (store) =>
      withEvents(store, (events) => events.map((event) => ({ ...event, data: event.data.normalize("NFC") }))),
  },
  {
    rule: "text is parsed and written again",
    seenBy: ["exactly as it was"],
    plant: (store) =>
      withEvents(store, (events) =>
        events.map((event) => {
          try {
            return { ...event, data: JSON.stringify(JSON.parse(event.data)) };
          } catch {
            return event;
          }
        }),
      ),
  },
  {
    rule: "half characters are replaced",
    seenBy: ["exactly as it was"],
    plant: (store) =>
      withEvents(store, (events) =>
        events.map((event) => ({ ...event, data: event.data.replace(/\p{Surrogate}/gu, "\ufffd") })),
      ),
  },
  {
    rule: "a follower's text is another than a reader's",
    seenBy: ["exactly as it was"],
    plant: (store) => ({
      ...store,
      follow: (id, after, signal) =>
        mapChanges(store.follow(id, after, signal), (change) =>
          change.type === "events"
            ? { ...change, events: change.events.map((event) => ({ ...event, data: event.data.replace("\0", "") })) }
            : change,
        ),
    }),
  },
  {
    rule: "text is trimmed",
    seenBy: ["exactly as it was"],
    plant: (store) => withEvents(store, (events) => events.map((event) => ({ ...event, data: event.data.trim() }))),
  },
  {
    rule: "a read lags behind a write",
    seenBy: ["read at once"],
    plant: (store) => {
      const seen = new Map<string, Read>();
      return {
        ...store,
        async read(id, after) {
          if (after !== undefined)
            return store.read(id, Math.max(0, after - 1)).then(() => seen.get(id) ?? store.read(id, after));
          return store.read(id);
        },
        async append(id, position, append) {
          const before = await store.read(id, "at" in position ? position.at : undefined);
          if (before) seen.set(id, before);
          return store.append(id, position, append);
        },
      };
    },
  },
  {
    rule: "a follower hears only what its own server appends",
    seenBy: ["although they are not notified"],
    plant: (store) => {
      const heads = new Map<string, number>();
      let heard = (): void => undefined;
      return {
        ...store,
        async append(id, position, append) {
          const result = await store.append(id, position, append);
          if (result.status === "ok") heads.set(id, result.head);
          heard();
          return result;
        },
        async *follow(id, after, signal) {
          for await (const change of store.follow(id, after, signal)) {
            while (change.type === "events" && (heads.get(id) ?? 0) < (change.events.at(-1)?.seq ?? 0)) {
              await new Promise<void>((resolve) => {
                heard = resolve;
                signal.addEventListener("abort", () => resolve(), { once: true });
              });
              if (signal.aborted) return;
            }
            yield change;
          }
        },
      };
    },
  },
  {
    rule: "a read is answered from what its own server wrote",
    seenBy: ["reaches readers at once"],
    plant: (store) => {
      const cache = new Map<string, Read>();
      return {
        ...store,
        read: async (id, after) =>
          (after === undefined ? undefined : cache.get(`${id} ${after}`)) ?? store.read(id, after),
        async append(id, position, append) {
          const result = await store.append(id, position, append);
          if (result.status === "ok") cache.set(`${id} ${result.head}`, await store.read(id, result.head));
          return result;
        },
      };
    },
  },
  {
    rule: "a follower that comes back begins one event too late",
    seenBy: ["breaks again and again"],
    plant: (store) => {
      const known = new Set<string>();
      return {
        ...store,
        async *follow(id, after, signal) {
          const again = known.has(id) && after > 0;
          known.add(id);
          for await (const change of store.follow(id, after, signal)) {
            yield again && change.type === "events"
              ? { ...change, events: change.events.filter(({ seq }) => seq !== after + 1) }
              : change;
          }
        },
      };
    },
  },
  {
    rule: "a cursor of 0 is taken for none",
    seenBy: ["cursor that was trimmed away"],
    plant: (store) => ({
      ...store,
      async *follow(id, after, signal) {
        const read = after === 0 ? await store.read(id) : null;
        yield* store.follow(id, read && "head" in read && read.snapshot ? read.snapshot.seq : after, signal);
      },
    }),
  },
  {
    rule: "a follower has a hole between reading and listening",
    seenBy: ["in order and without a hole", "reads what is there, then what comes"],
    plant: (store) => ({
      ...store,
      async *follow(id, after, signal) {
        const read = await store.read(id, after);
        if (read && "events" in read && read.events.length > 0) yield { type: "events", events: read.events };
        await tick();
        const later = await store.read(id);
        if (later && "head" in later) yield* store.follow(id, later.head, signal);
      },
    }),
  },
  {
    rule: "a follower misses a notification for ever",
    seenBy: ["reads what is there, then what comes"],
    plant: (store) => ({
      ...store,
      async *follow(id, after, signal) {
        let changes = 0;
        for await (const change of store.follow(id, after, signal)) if (++changes !== 2) yield change;
      },
    }),
  },
  {
    rule: "a follower ignores its signal",
    seenBy: ["end with their signal"],
    plant: (store) => ({ ...store, follow: (id, after) => store.follow(id, after, new AbortController().signal) }),
  },
  {
    rule: "a dropped follower stays registered",
    seenBy: ["leave no listener"],
    plant: (store) => {
      let count = 0; // one type each: the runtime warns of many listeners of one type
      return {
        ...store,
        follow(id, after, signal) {
          signal.addEventListener(`abort-${++count}`, () => {});
          return store.follow(id, after, signal);
        },
      };
    },
  },
  {
    rule: "a follower does not hear of a removal",
    seenBy: ["removal reaches"],
    plant: (store) => ({
      ...store,
      follow: (id, after, signal) =>
        mapChanges(store.follow(id, after, signal), (change) => (change.type === "removed" ? undefined : change)),
    }),
  },
  {
    rule: "a removed thread can begin again",
    seenBy: ["is gone", "seven days"],
    plant: (store) => {
      const lives = new Map<string, number>();
      const now = (id: string): string => (lives.has(id) ? `${id}#${lives.get(id)}` : id);
      return {
        ...store,
        read: (id, after) => store.read(now(id), after),
        append: (id, position, append) => store.append(now(id), position, append),
        async remove(id) {
          await store.remove(now(id));
          lives.set(id, (lives.get(id) ?? 0) + 1);
        },
      };
    },
  },
  {
    rule: "the row of a removed thread stays in the list",
    seenBy: ["is gone: for readers"],
    plant: (store) => {
      const rows = new Map<string, NonNullable<Append["row"]>>();
      return {
        ...store,
        append(id, position, append) {
          if (append.row) rows.set(id, append.row);
          return store.append(id, position, append);
        },
        async list(owner, cursor, filter) {
          const page = await store.list(owner, cursor, filter);
          return page.rows.length > 0 ? page : { rows: [...rows.values()].filter((row) => row.owner === owner) };
        },
      };
    },
  },
  {
    rule: "owners see each other's threads",
    seenBy: ["others' never"],
    plant: (store) => ({ ...store, list: (_, cursor, filter) => store.list(undefined, cursor, filter) }),
  },
  {
    rule: "pages skip rows of equal times",
    seenBy: ["without a row skipped"],
    plant: (store) => ({
      ...store,
      list: (owner, cursor, filter) => store.list(owner, cursor?.replace(/:.*/, ":~"), filter),
    }),
  },
  {
    rule: "rows come oldest first",
    seenBy: ["last changed first"],
    plant: (store) => ({
      ...store,
      async list(owner, cursor, filter) {
        const page = await store.list(owner, cursor, filter);
        return { ...page, rows: page.rows.toReversed() };
      },
    }),
  },
  {
    rule: "what runs is not due",
    seenBy: ["what is due or runs"],
    plant: (store) => ({
      ...store,
      async list(owner, cursor, filter) {
        const page = await store.list(owner, cursor, filter);
        if (filter?.dueBefore === undefined) return page;
        return { ...page, rows: page.rows.filter((row) => row.dueAt !== undefined) };
      },
    }),
  },
];

async function failuresOf(plant: Broken["plant"], patienceMs: number): Promise<readonly string[]> {
  const failed = storeCases.map(async (each) => {
    try {
      await runStoreCase(each, () => clockedMemoryStore(plant), { patienceMs });
      return [];
    } catch {
      return [each.name];
    }
  });
  return (await Promise.all(failed)).flat();
}

describe("the store suite sees a broken store", () => {
  test("a wrapper that breaks nothing passes", { timeout: 30_000 }, async () => {
    expect(await failuresOf((store) => ({ ...store }), 5000)).toEqual([]);
  });

  test.each(broken)("$rule", { timeout: 30_000 }, async ({ plant, seenBy }) => {
    const failures = await failuresOf(plant, 150);
    for (const words of seenBy) {
      const named = storeCases.filter(({ name }) => name.includes(words));
      expect(named, `cases named "${words}"`).toHaveLength(1);
      expect(failures, "cases that fail").toContain(named[0]?.name);
    }
  });
});
