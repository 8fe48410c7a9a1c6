import type { Append } from "../store/thread-store.ts";
import type { StoreCase } from "./store-case.ts";
import {
  batch,
  check,
  dataOf,
  isOk,
  joined,
  LEASE_MS,
  readThread,
  row,
  same,
  write,
  writeSomewhere,
} from "./store-case.ts";

const WRITERS = 100;

/** Compare-and-set, sequence numbers and batches. */
export const appendCases: readonly StoreCase[] = [
  {
    name: "an unknown thread reads as null, and only position 0 begins it",
    async run(context) {
      const id = context.newId();
      same(await context.store.read(id), null, "read of an unknown thread");
      same(await context.store.read(id, 3), null, "read of an unknown thread after 3");
      const result = await context.store.append(id, { at: 5 }, batch(context, ["a"]));
      same(result, { status: "conflict", head: 0, control: 0, events: [] }, "append at 5 of an unknown thread");
      same(await context.store.read(id), null, "read after a refused first append");
      await write(context, id, 0, ["a"]);
      const again = await context.store.append(id, { at: 0 }, batch(context, ["b"]));
      same(again.status, "conflict", "a second first append");
    },
  },
  {
    name: "events get the next seqs without a gap, with their batch, control and text",
    async run(context) {
      const id = context.newId();
      const first = batch(context, ["a", "~b", "c"]);
      const second = batch(context, ["~d"]);
      same(await context.store.append(id, { at: 0 }, first), { status: "ok", first: 1, head: 3 }, "first append");
      same(await context.store.append(id, { at: 3 }, second), { status: "ok", first: 4, head: 4 }, "second append");
      const events = [
        { seq: 1, batch: first.batch, control: true, data: "a" },
        { seq: 2, batch: first.batch, control: false, data: "~b" },
        { seq: 3, batch: first.batch, control: true, data: "c" },
        { seq: 4, batch: second.batch, control: false, data: "~d" },
      ];
      same(await readThread(context, id), { head: 4, control: 3, events }, "read");
    },
  },
  {
    name: "an append anywhere but at the head is a conflict that brings the tail",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a", "b", "c"]);
      const behind = await context.store.append(id, { at: 1 }, batch(context, ["x"]));
      check(behind.status === "conflict", `append behind the head: expected conflict, got ${behind.status}`);
      same([behind.head, behind.control, dataOf(behind.events)], [3, 3, ["b", "c"]], "conflict behind the head");
      const beyond = await context.store.append(id, { at: 9 }, batch(context, ["x"]));
      check(beyond.status === "conflict", `append beyond the head: expected conflict, got ${beyond.status}`);
      same(beyond.head, 3, "head of a conflict beyond the head");
      const control = await context.store.append(id, { atControl: 9 }, batch(context, ["x"]));
      same(control.status, "conflict", "append at a control position beyond the head");
      same(dataOf((await readThread(context, id)).events), ["a", "b", "c"], "events after two conflicts");
    },
  },
  {
    name: "a conflict writes nothing: no event, lease, snapshot or row",
    async run(context) {
      const [id, owner] = [context.newId(), context.newId()];
      await write(context, id, 0, ["a"]);
      const lease = { driverId: "loser", ttlMs: LEASE_MS };
      const losing = batch(context, ["x"], { lease, snapshot: "bad", row: row(id, owner) });
      same((await context.store.append(id, { at: 0 }, losing)).status, "conflict", "append");
      const claimed = await context.store.append(
        id,
        { at: 1 },
        batch(context, ["b"], { lease: { driverId: "winner", ttlMs: LEASE_MS } }),
      );
      same(claimed.status, "ok", "claim after a claim that conflicted");
      const read = await readThread(context, id);
      same([read.head, read.snapshot ?? null, dataOf(read.events)], [2, null, ["a", "b"]], "read");
      same((await context.store.list(owner)).rows, [], "rows");
    },
  },
  {
    name: "deltas leave control where it is: atControl lands behind them",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      await write(context, id, 1, ["~b", "~c"]);
      const result = await context.store.append(id, { atControl: 1 }, batch(context, ["d"]));
      same(result, { status: "ok", first: 4, head: 4 }, "append at control 1");
      const late = await context.store.append(id, { atControl: 1 }, batch(context, ["e"]));
      check(late.status === "conflict", `append at a control that moved: expected conflict, got ${late.status}`);
      same([late.head, late.control], [4, 4], "head and control of the conflict");
      same(dataOf(late.events), ["~b", "~c", "d"], "tail of the conflict: everything after the position");
      const strict = await context.store.append(id, { at: 3 }, batch(context, ["f"]));
      same(strict.status, "conflict", "append at a head that moved");
    },
  },
  {
    name: `of ${WRITERS} concurrent appends at one place exactly one wins`,
    async run(context) {
      const id = context.newId();
      let head = 0;
      for (const round of [1, 2, 3]) {
        const tries = Array.from({ length: WRITERS }, (_, writer) => batch(context, [`${round}.${writer}`, "second"]));
        const results = await Promise.all(tries.map((append) => context.store.append(id, { at: head }, append)));
        const winners = tries.filter((_, index) => results[index]?.status === "ok");
        same(winners.length, 1, `winners of round ${round}`);
        for (const result of results) {
          if (isOk(result)) continue;
          check(result.status === "conflict", `a losing append: expected conflict, got ${result.status}`);
          same(result.events[0]?.batch, winners[0]?.batch, "first batch of a loser's tail");
        }
        head += 2;
      }
      const read = await readThread(context, id);
      same(read.head, head, "head");
      joined(read.events, 0, "events");
      same(read.events.length, head, "number of events");
    },
  },
  {
    name: "many writers that go on after a conflict all land, each batch once and in one piece",
    async run(context) {
      const id = context.newId();
      const appends = Array.from({ length: 24 }, (_, writer) =>
        batch(context, [`${writer}.1`, `~${writer}.2`, `${writer}.3`]),
      );
      await Promise.all(appends.map((append) => writeSomewhere(context, id, append)));
      await eachBatchOnce(context, id, appends);
    },
  },
  {
    name: `${WRITERS} concurrent appends of deltas at one control position all land`,
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const appends = Array.from({ length: WRITERS }, (_, writer) => batch(context, [`~${writer}.1`, `~${writer}.2`]));
      const results = await Promise.all(appends.map((append) => context.store.append(id, { atControl: 1 }, append)));
      check(results.every(isOk), "an append of deltas was refused although control did not move");
      await eachBatchOnce(context, id, appends, 1);
    },
  },
  {
    name: "after a swallowed reply the same batch sent again finds itself at the start of the tail",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const append = batch(context, ["~b", "c"]);
      await context.store.append(id, { at: 1 }, append); // the reply is lost
      const again = await context.store.append(id, { at: 1 }, append);
      check(again.status === "conflict", `resent at once: expected conflict, got ${again.status}`);
      same(
        again.events.map((event) => event.batch),
        [append.batch, append.batch],
        "batches of the tail",
      );
      await write(context, id, 3, ["d"]);
      const later = await context.store.append(id, { at: 1 }, append);
      check(later.status === "conflict", `resent later: expected conflict, got ${later.status}`);
      same(later.events[0]?.batch, append.batch, "first batch of the tail");
      same(dataOf((await readThread(context, id)).events), ["a", "~b", "c", "d"], "events");
    },
  },
  {
    name: "after a swallowed reply at a control position the tail contains the batch",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a", "~b"]);
      const append = batch(context, ["c"]);
      await context.store.append(id, { atControl: 1 }, append); // the reply is lost
      const again = await context.store.append(id, { atControl: 1 }, append);
      check(again.status === "conflict", `resent: expected conflict, got ${again.status}`);
      check(
        again.events.some((event) => event.batch === append.batch),
        "the tail does not contain the batch",
      );
      same(dataOf((await readThread(context, id)).events), ["a", "~b", "c"], "events");
    },
  },
  {
    name: "a batch that arrives three times at once is written once, and the other copies find it in their tail",
    async run(context) {
      for (let round = 0; round < 10; round++) {
        const id = context.newId();
        await write(context, id, 0, ["a"]);
        const append = batch(context, ["~b", "c"]);
        const position = round % 2 ? { at: 1 } : { atControl: 1 };
        const results = await Promise.all(
          [context.store, context.store, context.other].map((store) => store.append(id, position, append)),
        );
        same(results.filter(isOk).length, 1, "copies that were written");
        for (const result of results) {
          if (isOk(result)) continue;
          check(result.status === "conflict", `another copy: expected conflict, got ${result.status}`);
          same(result.events[0]?.batch, append.batch, "first batch of the tail");
        }
        same(dataOf((await readThread(context, id)).events), ["a", "~b", "c"], "events");
      }
    },
  },
  {
    name: "an append that arrives late changes nothing",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const delayed = batch(context, ["late"], { lease: { driverId: "late", ttlMs: LEASE_MS } });
      await write(context, id, 1, ["b"]);
      const result = await context.store.append(id, { at: 1 }, delayed);
      check(result.status === "conflict", `a late append: expected conflict, got ${result.status}`);
      same(dataOf(result.events), ["b"], "tail");
      same(dataOf((await readThread(context, id)).events), ["a", "b"], "events");
    },
  },
  {
    name: "what was written is read at once, by cursor too",
    async run(context) {
      const id = context.newId();
      for (let head = 0; head < 40; head++) {
        await write(context, id, head, [`e${head + 1}`]);
        same(dataOf((await readThread(context, id, head)).events), [`e${head + 1}`], `events after ${head}`);
      }
    },
  },
  {
    name: "threads do not see each other",
    async run(context) {
      const [left, right] = [context.newId(), context.newId()];
      await write(context, left, 0, ["left"]);
      await write(context, right, 0, ["right"]);
      await write(context, left, 1, ["left too"]);
      same(dataOf((await readThread(context, left)).events), ["left", "left too"], "left");
      same(dataOf((await readThread(context, right)).events), ["right"], "right");
    },
  },
  {
    name: "a batch of 500 events and a text of 1 MB are one append",
    async run(context) {
      const id = context.newId();
      const texts = Array.from({ length: 500 }, (_, index) => `e${index}`);
      await write(context, id, 0, texts);
      const long = "x€".repeat(262_144);
      await write(context, id, 500, [long]);
      const read = await readThread(context, id);
      same(dataOf(read.events.slice(0, 500)), texts, "texts");
      check(read.events[500]?.data === long, "the long text changed");
    },
  },
];

async function eachBatchOnce(
  context: Parameters<StoreCase["run"]>[0],
  id: string,
  appends: readonly Append[],
  after = 0,
): Promise<void> {
  const { head, events } = await readThread(context, id, after);
  joined(events, after, "events");
  const size = appends[0]?.events.length ?? 0;
  same([head, events.length], [after + appends.length * size, appends.length * size], "head and number of events");
  const seen = new Set<string>();
  for (let index = 0; index < events.length; index += size) {
    const piece = events.slice(index, index + size);
    const owner = appends.find((append) => append.batch === piece[0]?.batch);
    check(owner !== undefined && !seen.has(owner.batch), `a batch is there twice, or is nobody's: ${piece[0]?.batch}`);
    seen.add(owner.batch);
    const expected = owner.events.map((event) => ({ ...event, batch: owner.batch }));
    same(
      piece.map(({ seq: _, ...rest }) => rest),
      expected,
      "events of a batch",
    );
  }
}
