import type { FollowChange, StoredEvent } from "../store/thread-store.ts";
import type { StoreCase, StoreCaseContext } from "./store-case.ts";
import {
  batch,
  check,
  dataOf,
  joined,
  later,
  readThread,
  same,
  trimmed,
  within,
  write,
  writeSomewhere,
} from "./store-case.ts";

type Follower = AsyncIterator<FollowChange>;

function follower(context: StoreCaseContext, id: string, after: number, signal: AbortSignal): Follower {
  return context.store.follow(id, after, signal)[Symbol.asyncIterator]();
}

/** Reads until the cursor is at `to`. Events may come twice, never out of order and never with a hole. */
async function readTo(context: StoreCaseContext, from: Follower, after: number, to: number): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let last = after; last < to; ) {
    const { done, value } = await within(context, `follower at ${last}`, from.next());
    check(!done, `the follower ended at ${last}, before ${to}`);
    check(value.type === "events", `follower at ${last}: expected events, got ${value.type}`);
    for (const event of value.events) {
      check(event.seq <= last + 1, `a hole: ${event.seq} came after ${last}`);
      if (event.seq <= last) continue;
      events.push(event);
      last = event.seq;
    }
  }
  return events;
}

async function nextType(context: StoreCaseContext, from: Follower, what: string): Promise<string> {
  const { done, value } = await within(context, what, from.next());
  return done ? "done" : value.type;
}

/** A signal that knows who listens to it. */
function countedSignal(): { signal: AbortSignal; listeners: Set<unknown>; abort(): void } {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<unknown>();
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>): void => {
    listeners.add(args[1]);
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
    listeners.delete(args[1]);
    remove(...args);
  };
  return { signal, listeners, abort: () => controller.abort() };
}

/** Order, completeness, reset, removal and the end of followers. */
export const followCases: readonly StoreCase[] = [
  {
    name: "a follower reads what is there, then what comes",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a", "~b", "c"]);
      const live = follower(context, id, 1, context.signal);
      same(dataOf(await readTo(context, live, 1, 3)), ["~b", "c"], "stored events");
      const next = later(readTo(context, live, 3, 5));
      await write(context, id, 3, ["d"]);
      await write(context, id, 4, ["~e"]);
      const expected = (await readThread(context, id, 3)).events;
      same(await next, expected, "live events");
    },
  },
  {
    name: "what another server writes and removes reaches readers at once, and followers although they are not notified",
    async run(context) {
      const [id, removed, claimed] = [context.newId(), context.newId(), context.newId()];
      for (const each of [id, removed]) await write(context, each, 0, ["0"]);
      const next = later(readTo(context, follower(context, id, 1, context.signal), 1, 4));
      const end = later(
        nextType(context, follower(context, removed, 1, context.signal), "follower of what is removed"),
      );
      for (const at of [1, 2, 3]) {
        await readThread(context, id, at);
        same((await context.other.append(id, { at }, batch(context, [`${at}`]))).status, "ok", "append of the other");
        same(dataOf((await readThread(context, id, at)).events), [`${at}`], "read");
      }
      await write(context, claimed, 0, ["~claim"], { lease: { driverId: "A", ttlMs: 60_000 } });
      const held = batch(context, ["x"], { lease: { driverId: "B", ttlMs: 60_000 } });
      same((await context.other.append(claimed, { at: 1 }, held)).status, "held", "the other's claim");
      await context.other.remove(removed);
      same(await context.store.read(removed), { gone: true }, "read of what the other removed");
      same(dataOf(await next), ["1", "2", "3"], "events");
      same(await end, "removed", "change");
    },
  },
  {
    name: "a follower of a thread that does not exist yet sees it begin",
    async run(context) {
      const id = context.newId();
      const next = later(readTo(context, follower(context, id, 0, context.signal), 0, 2));
      await write(context, id, 0, ["a", "b"]);
      same(dataOf(await next), ["a", "b"], "events");
    },
  },
  {
    name: "10,000 events under concurrent writers reach every follower in order and without a hole",
    async run(context) {
      const id = context.newId();
      const [writers, appends, size] = [4, 50, 50];
      const total = writers * appends * size;
      const texts = Array.from({ length: size }, (_, index) => (index % 7 === 0 ? `${index}` : `~${index}`));
      const early = later(readTo(context, follower(context, id, 0, context.signal), 0, total));
      let late: Promise<StoredEvent[]> | undefined;
      const writing = Array.from({ length: writers }, async (_, writer) => {
        for (let index = 0; index < appends; index++) {
          const first = await writeSomewhere(context, id, batch(context, texts));
          if (writer === 0 && index === appends / 2) {
            late = later(readTo(context, follower(context, id, first - 1, context.signal), first - 1, total));
          }
        }
      });
      await Promise.all([...writing, early]);
      const { events } = await readThread(context, id);
      joined(events, 0, "events");
      same(events.length, total, "number of events");
      const [seen, seenLate] = [await early, (await late) ?? []];
      check(
        seen.every((event, index) => sameEvent(event, events[index])),
        "a follower saw other events than a reader",
      );
      const offset = total - seenLate.length;
      check(seenLate.length > 0, "the late follower saw nothing");
      check(
        seenLate.every((event, index) => sameEvent(event, events[offset + index])),
        "the late follower saw others",
      );
    },
  },
  {
    name: "a follower nobody reads holds up no writer and misses nothing",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["0"]);
      const slow = follower(context, id, 0, context.signal);
      await readTo(context, slow, 0, 1);
      for (let head = 1; head < 100; head++) await write(context, id, head, [`${head}`]);
      same((await readTo(context, slow, 1, 100)).length, 99, "events");
    },
  },
  {
    name: "a cursor beyond the head is a reset",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      same(
        await nextType(context, follower(context, id, 6, context.signal), "follower at head + 5"),
        "reset",
        "change",
      );
    },
  },
  {
    name: "a cursor that was trimmed away is a reset",
    async run(context) {
      const id = context.newId();
      await trimmed(context, id);
      for (const after of [0, 1]) {
        const change = await nextType(
          context,
          follower(context, id, after, context.signal),
          "follower before the base",
        );
        same(change, "reset", `follower at ${after}`);
      }
      same(
        dataOf(await readTo(context, follower(context, id, 2, context.signal), 2, 5)),
        ["c", "d", "~e"],
        "at the base",
      );
    },
  },
  {
    name: "a live follower that is trimmed past is reset or has everything, never a hole",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["0"]);
      const slow = follower(context, id, 0, context.signal);
      await readTo(context, slow, 0, 1);
      for (let head = 1; head < 30; head++) await write(context, id, head, [`${head}`], { snapshot: `s${head}` });
      let last = 1;
      while (last < 30) {
        const { done, value } = await within(context, `follower at ${last}`, slow.next());
        if (done || value.type !== "events") {
          same(done ? "done" : value.type, "reset", `follower at ${last}`);
          break;
        }
        for (const { seq } of value.events) {
          check(seq <= last + 1, `a hole: ${seq} came after ${last}`);
          last = Math.max(last, seq);
        }
      }
    },
  },
  {
    name: "followers end with their signal: before they start, while they wait, between two changes",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a", "b"]);
      same(await nextType(context, follower(context, id, 0, AbortSignal.abort()), "aborted before"), "done", "before");
      const waits = new AbortController();
      const waiting = later(nextType(context, follower(context, id, 2, waits.signal), "aborted while waiting"));
      await readThread(context, id);
      waits.abort();
      same(await waiting, "done", "while waiting");
      const between = new AbortController();
      const reading = follower(context, id, 0, between.signal);
      await readTo(context, reading, 0, 2);
      between.abort();
      same(await nextType(context, reading, "aborted between"), "done", "between");
    },
  },
  {
    name: "followers that are dropped leave no listener on a signal that lives on",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const { signal, listeners, abort } = countedSignal();
      for (let index = 0; index < 100; index++) {
        for await (const change of context.store.follow(id, 0, signal)) {
          same(change.type, "events", "change");
          break;
        }
      }
      check(listeners.size <= 10, `100 dropped followers left ${listeners.size} listeners`);
      abort();
    },
  },
  {
    name: "removal reaches those who follow and those who come later",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const live = follower(context, id, 1, context.signal);
      const next = later(nextType(context, live, "follower of a thread that is removed"));
      await context.store.remove(id);
      same(await next, "removed", "change");
      same(await nextType(context, live, "follower after removed"), "done", "after the removal");
      const newcomer = follower(context, id, 0, context.signal);
      same(await nextType(context, newcomer, "follower of a removed thread"), "removed", "later");
    },
  },
];

function sameEvent(left: StoredEvent, right: StoredEvent | undefined): boolean {
  return left.seq === right?.seq && left.batch === right.batch && left.data === right.data;
}
