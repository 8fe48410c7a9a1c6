import { isToolRunError } from "../errors.ts";
import type { Append, AppendPosition, AppendResult, StoredEvent, ThreadStore } from "../store/thread-store.ts";
import type { FaultyStore } from "./faulty-store.ts";
import { faultyStore } from "./faulty-store.ts";
import type { StoreCase, StoreCaseContext } from "./store-case.ts";
import { batch, check, dataOf, isOk, joined, later, readThread, row, same, within, write } from "./store-case.ts";

const WRITES = 25;
const FAULTS = { lostReply: 0.2, lostRequest: 0.1, lateWrite: 0.15, duplicate: 0.2 };

/** A server behind a bad connection to the store. */
interface Server {
  readonly store: FaultyStore;
  /** What was late arrives now. */
  arrive(): Promise<void>;
}

function serverOf(inner: ThreadStore, seed: number): Server {
  let late: (() => void)[] = [];
  const arriving = new Set<Promise<unknown>>();
  const watched: ThreadStore = {
    ...inner,
    append(id, position, append) {
      const result = inner.append(id, position, append);
      const done: Promise<unknown> = result.catch(() => undefined).finally(() => arriving.delete(done));
      arriving.add(done);
      return result;
    },
  };
  const after = (_ms: number, callback: () => void): (() => void) => {
    late.push(callback);
    return () => undefined;
  };
  return {
    store: faultyStore(watched, { seed, faults: FAULTS, clock: { after } }),
    async arrive() {
      const callbacks = late;
      late = [];
      for (const callback of callbacks) callback();
      await Promise.resolve();
      await Promise.all(arriving);
    },
  };
}

/** The same bytes with the same batch until the answer is definite. */
async function resent(server: Server, id: string, position: AppendPosition, append: Append): Promise<AppendResult> {
  for (let tries = 0; ; tries++) {
    try {
      return await server.store.append(id, position, append);
    } catch (error) {
      check(tries < 50, `no answer to an append: ${error}`);
      if (tries % 3 === 2) await server.arrive();
    }
  }
}

/** Reads where the log stands through the bad connection. */
async function placeOf(server: Server, id: string): Promise<{ readonly head: number; readonly control: number }> {
  for (;;) {
    const read = await server.store.read(id).catch(() => undefined);
    if (read && "head" in read) return read;
  }
}

/** Writes until it is in the log, where a conflict shows that it is not. Whether it had to be sent again. */
async function land(
  server: Server,
  id: string,
  made: () => Append,
  positionOf: (place: { readonly head: number; readonly control: number }) => AppendPosition,
): Promise<string> {
  for (;;) {
    const append = made();
    const result = await resent(server, id, positionOf(await placeOf(server, id)), append);
    if (isOk(result)) return append.batch;
    check(result.status === "conflict", `append: expected ok or conflict, got ${result.status}`);
    if (result.events.some((event) => event.batch === append.batch)) return append.batch;
  }
}

/** Callers that lose answers, give up, come late and send twice: nothing is lost, doubled or torn. */
export const faultCases: readonly StoreCase[] = [
  {
    name: "faults injected: whoever sends a batch again until the answer is clear has it in the log once, in order",
    async run(context) {
      const [id, owner] = [context.newId(), context.newId()];
      await write(context, id, 0, ["begin"], { row: row(id, owner) });
      const servers = [context.store, context.other, context.store].map((store, seed) => serverOf(store, seed + 1));
      const landed = servers.map(async (server, writer) => {
        const batches: string[] = [];
        for (let index = 0; index < WRITES; index++) {
          // The first one drives: at the head, deltas among it. The others post behind the last control event.
          const texts = writer === 0 ? [`~0.${index}`, `0.${index}.`] : [`${writer}.${index}`];
          const rest = { row: row(id, owner, { title: `${writer}.${index}` }) };
          const positionOf = ({ head, control }: { head: number; control: number }): AppendPosition =>
            writer === 0 ? { at: head } : { atControl: control };
          batches.push(await land(server, id, () => batch(context, texts, rest), positionOf));
          if (index % 5 === 4) await server.arrive();
        }
        return batches;
      });
      const expected = await Promise.all(landed);
      for (const server of servers) await server.arrive();
      const { events } = await readThread(context, id, 0);
      joined(events, 0, "events");
      same(events.length, 1 + WRITES * 4, "number of events");
      expected.forEach((batches, writer) => {
        const mine = events.slice(1).filter(({ data }) => data.replace("~", "").startsWith(`${writer}.`));
        const seen = writer === 0 ? mine.filter((_, index) => index % 2 === 0) : mine;
        same(
          seen.map((event) => event.batch),
          batches,
          `batches of writer ${writer}`,
        );
        if (writer > 0) return;
        const pieces = batches.flatMap((_, index) => [`~0.${index}`, `0.${index}.`]);
        same(dataOf(mine), pieces, "pieces of the driver's batches");
      });
      for (const name of ["lostReply", "lostRequest", "lateWrite", "duplicate"] as const) {
        check(
          servers.some(({ store }) => store.struck[name] > 0),
          `${name} never struck`,
        );
      }
    },
  },
  {
    name: "faults injected: a follower whose connection breaks again and again misses nothing, and gets it in order",
    async run(context) {
      const id = context.newId();
      const store = faultyStore(context.store, { seed: 5, faults: { disconnect: 0.4, duplicate: 0.3 } });
      const total = 60;
      const reading = later(readAll(context, store, id, total));
      for (let head = 0; head < total; head += 2) {
        await (head % 4 ? context.store : context.other).append(id, { at: head }, batch(context, [`${head}`, "~"]));
      }
      const seen = await reading;
      same(seen, (await readThread(context, id, 0)).events, "events");
    },
  },
];

/** Follows again from its own cursor after every break. Events may come twice, never out of order. */
async function readAll(
  context: StoreCaseContext,
  store: ThreadStore,
  id: string,
  total: number,
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  let changes = store.follow(id, 0, context.signal)[Symbol.asyncIterator]();
  while (events.length < total) {
    const result = await within(context, `follower at ${events.length}`, changes.next().catch(broken));
    if (!result) {
      changes = store.follow(id, events.length, context.signal)[Symbol.asyncIterator]();
      continue;
    }
    check(!result.done && result.value.type === "events", `follower at ${events.length}: no events`);
    for (const event of result.value.events) {
      check(event.seq <= events.length + 1, `a hole: ${event.seq} came after ${events.length}`);
      if (event.seq > events.length) events.push(event);
    }
  }
  return events;
}

function broken(error: unknown): undefined {
  if (!(isToolRunError(error) && error.code === "unavailable")) throw error;
}
