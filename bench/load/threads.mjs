// A store with many threads in it: what one more append, a list and a sweep cost, and how much a thread takes.
import { postgresStore } from "../../packages/core/src/postgres.ts";
import { recordThread } from "./recorded.mjs";
import { openStore } from "./stores.mjs";
import { spread } from "./table.mjs";

const WORDS_PER_ANSWER = 10;
const THREADS_PER_OWNER = 100;
const AT_ONCE = 40;
const APPENDS = 600;
const TIMES = 60;
/** Of a thousand threads. */
const WAITING = 20;
const DUE = 1;
const begun = Date.now();
const HOUR = 3_600_000;

export async function threads({ store: name, url, counts }, { say }) {
  const { store, client, bytes } = await openStore(name, url);
  const empty = await bytes();
  const columns = [];
  const notes = [];
  let made = 0;
  for (const count of counts) {
    const fillMs = await timeOf(async () => {
      for (; made < count; made += AT_ONCE) {
        await Promise.all(
          Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, offset) => fill(store, made + offset)),
        );
      }
      made = count;
    });
    const full = await bytes();
    if (name === "postgres") await client.query("analyze toolrun_threads, toolrun_appends");
    columns.push({
      title: `${count.toLocaleString("en-US")} threads`,
      "filled in, s": fillMs / 1_000,
      "append to one of them, ms p50 · p99": await times(APPENDS, (index) => appendTo(store, (index * 7_919) % count)),
      "read of one, ms p50 · p99": await times(APPENDS, (index) => store.read(idOf((index * 7_919) % count))),
      "first page of an owner's list": await times(TIMES, () => store.list(ownerOf(count - 1))),
      "first page of an owner who has a tenth of all": await times(TIMES, () => store.list("crowd")),
      "may this owner begin a run?": await times(TIMES, () =>
        store.list(ownerOf(count - 1), undefined, { status: "running", limit: 5 }),
      ),
      "may the one with a tenth of all?": await times(TIMES, () =>
        store.list("crowd", undefined, { status: "running", limit: 5 }),
      ),
      "sweep, first page of what is due": await times(TIMES, () =>
        store.list(undefined, undefined, { dueBefore: begun, limit: 50 }),
      ),
      "what is due, rows": await countDue(store),
      "in the store, KiB a thread": (full - empty) / 1_024 / count,
    });
  }
  if (name === "postgres") notes.push(await sizes(client), ...(await plans(client, made)));
  say("result", { columns, notes });
}

const idOf = (index) => `thread-${index}`;
const ownerOf = (index) => (index % 10 === 0 ? "crowd" : `owner-${Math.floor(index / THREADS_PER_OWNER)}`);

const recorded = await recordThread(1, WORDS_PER_ANSWER);
const EVENTS = recorded.flatMap(({ append }) => append.events);
const NEXT = [{ control: true, data: EVENTS[2].data }];

/** A thread of one run that asked a person, called a tool and answered; all of it in one append, to save time. */
function fill(store, index) {
  return store.append(idOf(index), { at: 0 }, { batch: `batch-${index}`, events: EVENTS, row: rowOf(index) });
}

function rowOf(index, updatedAt = begun - HOUR + index) {
  const row = { id: idOf(index), owner: ownerOf(index), title: `Refund order ${index}`, pending: 0, updatedAt };
  const place = (index * 37) % 1_000;
  if (place < DUE) return { ...row, status: "waiting", pending: 1, dueAt: begun - 1_000 };
  if (place < WAITING) return { ...row, status: "waiting", pending: 1, dueAt: begun + HOUR };
  return { ...row, status: "ended" };
}

async function appendTo(store, index) {
  const id = idOf(index);
  const { head } = await store.read(id, EVENTS.length);
  const sentAt = performance.now();
  await store.append(id, { at: head }, { batch: crypto.randomUUID(), events: NEXT, row: rowOf(index, Date.now()) });
  return performance.now() - sentAt;
}

async function countDue(store) {
  let [rows, cursor] = [0];
  do {
    const page = await store.list(undefined, cursor, { dueBefore: begun, limit: 50 });
    rows += page.rows.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

/** `p50 · p99` in ms of one after the other; work may say itself what is to be counted. */
async function times(count, work) {
  const samples = [];
  for (let index = 0; index < count; index++) {
    const sentAt = performance.now();
    const own = await work(index);
    samples.push(typeof own === "number" ? own : performance.now() - sentAt);
  }
  return spread(samples);
}

async function timeOf(work) {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}

async function sizes(client) {
  const { rows } = await client.query(`select relname, pg_relation_size(c.oid) as bytes from pg_class c
    where relname like 'toolrun%' and relkind in ('r', 'i') order by 2 desc`);
  const mega = ({ relname, bytes }) => `${relname} ${(Number(bytes) / 1_048_576).toFixed(1)} MB`;
  return `Tables and indexes: ${rows.map(mega).join(", ")}.`;
}

/** The indexes that PostgreSQL uses for each question of the list, and how long it takes inside. */
async function plans(client, count) {
  let asked;
  const store = postgresStore({
    query: (...statement) => {
      asked = statement;
      return client.query(...statement);
    },
  });
  const questions = {
    "an owner's list": [ownerOf(count - 1)],
    "the list of an owner with a tenth of all": ["crowd"],
    "may this owner begin a run": [ownerOf(count - 1), undefined, { status: "running", limit: 5 }],
    "may the owner with a tenth of all": ["crowd", undefined, { status: "running", limit: 5 }],
    "what is due": [undefined, undefined, { dueBefore: begun, limit: 50 }],
  };
  const notes = [];
  for (const [question, args] of Object.entries(questions)) {
    await store.list(...args);
    const [text, params] = asked;
    const { rows } = await client.query(`explain (analyze, costs off, timing off) ${text}`, params);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    const found = plan.match(
      /(Index Only Scan|Index Scan|Bitmap Index Scan|Seq Scan)[^(\n]*|Rows Removed by Filter: \d+/g,
    );
    notes.push(`${question}: ${found.map((part) => part.trim()).join("; ")}; ${/Execution Time: .*/.exec(plan)[0]}`);
  }
  return notes;
}
