import type { ThreadFilter, ThreadRow } from "../store/thread-store.ts";
import type { StoreCase, StoreCaseContext } from "./store-case.ts";
import {
  batch,
  check,
  dataOf,
  eventually,
  joined,
  LEASE_MS,
  readThread,
  row,
  same,
  trimmed,
  within,
  write,
} from "./store-case.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

async function rowsOf(context: StoreCaseContext, owner: string, filter?: ThreadFilter): Promise<readonly ThreadRow[]> {
  return (await context.store.list(owner, undefined, filter)).rows;
}

async function writeRows(
  context: StoreCaseContext,
  owner: string,
  ...rests: Partial<ThreadRow>[]
): Promise<ThreadRow[]> {
  const rows: ThreadRow[] = [];
  for (const rest of rests) {
    const written = row(context.newId(), owner, rest);
    await write(context, written.id, 0, ["a"], { row: written });
    rows.push(written);
  }
  return rows;
}

/** Texts that stores are known to damage. */
const HARD_TEXTS: readonly string[] = [
  JSON.stringify({ lone: "\ud800", nul: "\u0000", emoji: "👩‍👩‍👧", decomposed: "e\u0301", composed: "\u00e9" }),
  '{"b":1,"a":2,"10":3,"2":4,"__proto__":{"x":1},"a":5}',
  '{"exact":9007199254740993,"one":1.0,"big":1e400,"minus":-0}',
  '{ "spaces" : [ 1 , 2 ] }\r\n\t ',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder that must stay one
  '"quotes \' \\" \\\\ ${x} $1 %s ? :name {id}"',
  `"${"\u2028\u2029\ufeff"}"`,
  "raw: \u0000, \ud800 and \udc00 alone, \u0010 \u001f \u007f",
  "null",
  "true",
];

/** Cursors, text, snapshots and their trim, the list, removal and tombstones. */
export const readCases: readonly StoreCase[] = [
  {
    name: "without a snapshot every cursor up to the head brings the events after it, others all",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a", "~b", "c"]);
      for (const [after, expected] of [
        [undefined, ["a", "~b", "c"]],
        [0, ["a", "~b", "c"]],
        [2, ["c"]],
        [3, []],
        [8, ["a", "~b", "c"]],
      ] as const) {
        const read = await readThread(context, id, after);
        same([read.head, read.control, dataOf(read.events)], [3, 3, expected], `read after ${after}`);
        check(read.snapshot === undefined, `read after ${after}: a snapshot nobody wrote`);
      }
    },
  },
  {
    name: "the first snapshot trims nothing; a read without a cursor begins with it",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a", "b"], { snapshot: "s2" });
      await write(context, id, 2, ["c"]);
      const read = await readThread(context, id);
      same([read.snapshot, dataOf(read.events)], [{ seq: 2, data: "s2" }, ["c"]], "read");
      const all = await readThread(context, id, 0);
      same([all.snapshot ?? null, dataOf(all.events)], [null, ["a", "b", "c"]], "read after 0");
    },
  },
  {
    name: "a snapshot trims to the one before it: cursors from there join on, earlier and later ones get the snapshot",
    async run(context) {
      const id = context.newId();
      await trimmed(context, id);
      const snapshot = { seq: 4, data: "s4" };
      for (const [after, expected] of [
        [2, ["c", "d", "~e"]],
        [3, ["d", "~e"]],
        [4, ["~e"]],
        [5, []],
      ] as const) {
        const read = await readThread(context, id, after);
        same([read.snapshot ?? null, dataOf(read.events)], [null, expected], `read after ${after}`);
        joined(read.events, after, `read after ${after}`);
      }
      for (const after of [undefined, 0, 1, 10]) {
        const read = await readThread(context, id, after);
        same([read.snapshot, dataOf(read.events)], [snapshot, ["~e"]], `read after ${after}`);
        same([read.head, read.control], [5, 4], `head and control, read after ${after}`);
      }
    },
  },
  {
    name: "a conflict at a trimmed position brings the snapshot and what came after it",
    async run(context) {
      const id = context.newId();
      await trimmed(context, id);
      const result = await context.store.append(id, { at: 1 }, batch(context, ["x"]));
      check(result.status === "conflict", `append at 1: expected conflict, got ${result.status}`);
      same([result.snapshot, dataOf(result.events)], [{ seq: 4, data: "s4" }, ["~e"]], "conflict");
      const kept = await context.store.append(id, { at: 2 }, batch(context, ["x"]));
      check(kept.status === "conflict", `append at 2: expected conflict, got ${kept.status}`);
      same([kept.snapshot ?? null, dataOf(kept.events)], [null, ["c", "d", "~e"]], "conflict at the base");
    },
  },
  {
    name: "text comes back exactly as it was: escapes, key order, big numbers, spaces",
    async run(context) {
      const id = context.newId();
      const snapshot = HARD_TEXTS.join("\n");
      const last = HARD_TEXTS.map((data) => ({ control: true, data }));
      await context.store.append(id, { at: 0 }, { batch: context.newId(), events: last, snapshot });
      const read = await readThread(context, id, 0);
      read.events.forEach((event, index) => {
        check(event.data === HARD_TEXTS[index], `text ${index} changed: ${event.data}`);
      });
      same(read.events.length, HARD_TEXTS.length, "number of events");
      check((await readThread(context, id)).snapshot?.data === snapshot, "the snapshot's text changed");
      const refused = await context.store.append(id, { at: 0 }, batch(context, ["x"]));
      check(refused.status === "conflict", `append at 0: expected conflict, got ${refused.status}`);
      const changes = context.store.follow(id, 0, context.signal)[Symbol.asyncIterator]();
      const followed = await within(context, "follower at 0", changes.next());
      check(!followed.done && followed.value.type === "events", "a follower got no events");
      for (const events of [refused.events, followed.value.events]) {
        events.forEach(({ data }, index) => {
          check(data === HARD_TEXTS[index], `text ${index} changed for a loser or a follower: ${data}`);
        });
      }
    },
  },
  {
    name: "a row written by an append is in its owner's list, as the last append left it",
    async run(context) {
      const [id, owner] = [context.newId(), context.newId()];
      const before = row(id, owner, { status: "waiting", pending: 2, dueAt: 5_000, title: "Ünï 👍" });
      await write(context, id, 0, ["a"], { row: before });
      await eventually(context, async () => same((await context.store.list(owner)).rows, [before], "rows"));
      await write(context, id, 1, ["b"]);
      await eventually(context, async () =>
        same((await context.store.list(owner)).rows, [before], "rows, no row given"),
      );
      const after = row(id, owner, { updatedAt: 2_000 });
      await write(context, id, 2, ["c"], { row: after });
      await eventually(context, async () => same((await context.store.list(owner)).rows, [after], "rows, replaced"));
    },
  },
  {
    name: "an owner's rows come last changed first, others' never",
    async run(context) {
      const [owner, other] = [context.newId(), context.newId()];
      await writeRows(context, other, { updatedAt: 9_000 });
      const [first, third, second] = await writeRows(
        context,
        owner,
        { updatedAt: 3_000 },
        { updatedAt: 1_000 },
        { updatedAt: 2_000 },
      );
      await eventually(context, async () => same(await rowsOf(context, owner), [first, second, third], "rows"));
      same(await rowsOf(context, context.newId()), [], "rows of an owner without threads");
    },
  },
  {
    name: "pages join on without a row skipped or doubled, also where times are equal",
    async run(context) {
      const owner = context.newId();
      const times = [1_000, 2_000, 2_000, 2_000, 2_000, 3_000, 4_000];
      const rows = await writeRows(context, owner, ...times.map((updatedAt) => ({ updatedAt })));
      await eventually(context, async () => {
        const seen: ThreadRow[] = [];
        let cursor: string | undefined;
        do {
          const page = await context.store.list(owner, cursor, { limit: 2 });
          check(page.rows.length <= 2, `a page of 2 has ${page.rows.length} rows`);
          seen.push(...page.rows);
          cursor = page.cursor;
        } while (cursor !== undefined && seen.length <= times.length);
        same(seen.map(({ id }) => id).sort(), rows.map(({ id }) => id).sort(), "ids of all pages");
        same(
          seen.map(({ updatedAt }) => updatedAt),
          times.toReversed(),
          "times of all pages",
        );
      });
    },
  },
  {
    name: "a page has 50 rows where nobody says how many",
    async run(context) {
      const owner = context.newId();
      await writeRows(context, owner, ...Array.from({ length: 51 }, (_, index) => ({ updatedAt: 1_000 + index })));
      await eventually(context, async () => {
        const page = await context.store.list(owner);
        same([page.rows.length, page.cursor !== undefined], [50, true], "first page");
        const last = await context.store.list(owner, page.cursor);
        same([last.rows.length, last.cursor ?? null], [1, null], "last page");
      });
    },
  },
  {
    name: "filters: status, and what is due or runs",
    async run(context) {
      const owner = context.newId();
      const [running, due, later, ended] = await writeRows(
        context,
        owner,
        { status: "running", updatedAt: 4_000 },
        { status: "waiting", dueAt: 100, updatedAt: 3_000 },
        { status: "waiting", dueAt: 101, updatedAt: 2_000 },
        { status: "ended", updatedAt: 1_000 },
      );
      await eventually(context, async () => {
        same(await rowsOf(context, owner), [running, due, later, ended], "all");
        same(await rowsOf(context, owner, { status: "waiting" }), [due, later], "waiting");
        same(await rowsOf(context, owner, { dueBefore: 100 }), [running, due], "due before 100");
        same(await rowsOf(context, owner, { dueBefore: 100, limit: 1 }), [running], "due before 100, one row");
        const everybody = await context.store.list(undefined, undefined, { limit: 1_000_000 });
        const ids = new Set(everybody.rows.map(({ id }) => id));
        check(
          [running, due, later, ended].every((own) => own && ids.has(own.id)),
          "everybody's rows lack some",
        );
      });
    },
  },
  {
    name: "a removed thread is gone: for readers, writers, owners and the list",
    async run(context) {
      const [id, owner] = [context.newId(), context.newId()];
      await write(context, id, 0, ["a"], { row: row(id, owner), lease: { driverId: "A", ttlMs: LEASE_MS } });
      await context.store.remove(id);
      same(await context.store.read(id), { gone: true }, "read");
      same(await context.store.append(id, { at: 1 }, batch(context, ["b"])), { status: "gone" }, "append at the head");
      same(await context.store.append(id, { at: 0 }, batch(context, ["b"])), { status: "gone" }, "append at 0");
      same(
        (await context.store.append(id, { atControl: 1 }, batch(context, ["b"]))).status,
        "gone",
        "append at control",
      );
      same((await context.store.lease(id, "A", LEASE_MS)).status, "lost", "renewal");
      await eventually(context, async () => same(await rowsOf(context, owner), [], "rows"));
      await context.store.remove(id);
      await context.store.remove(context.newId());
    },
  },
  {
    name: "of a removal and an append at once the removal stays",
    async run(context) {
      for (let round = 0; round < 10; round++) {
        const [id, owner] = [context.newId(), context.newId()];
        await write(context, id, 0, ["a"], { row: row(id, owner) });
        const append = batch(context, ["b"], { row: row(id, owner, { updatedAt: 2_000 }) });
        const both = [() => context.store.append(id, { at: 1 }, append), () => context.store.remove(id)];
        await Promise.all((round % 2 ? both : both.toReversed()).map((start) => start()));
        same(await context.store.read(id), { gone: true }, "read");
        await eventually(context, async () => same(await rowsOf(context, owner), [], "rows"));
      }
    },
  },
  {
    name: "a tombstone stands for seven days",
    async run(context) {
      if (!context.canSkipTime) return;
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      await context.store.remove(id);
      await context.advance(7 * DAY_MS - 60_000);
      same(await context.store.read(id), { gone: true }, "read after almost seven days");
      same((await context.store.append(id, { at: 0 }, batch(context, ["b"]))).status, "gone", "append");
    },
  },
];
