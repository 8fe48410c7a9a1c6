// A thread of many runs, read from its snapshot and by replaying its whole log.
import { emptyThread } from "../../packages/core/src/protocol/thread.ts";
import { openRead } from "../../packages/core/src/server/thread-log.ts";
import { createToolRun, defineAgent } from "../../packages/core/src/server.ts";
import { median } from "../limit/measure.mjs";
import { callsThenSays } from "./model.mjs";
import { recordThread } from "./recorded.mjs";
import { openStore } from "./stores.mjs";

const WORDS_PER_ANSWER = 60;
const TIMES = 21;

export async function snapshot({ store: name, url, runs }, { say }) {
  const appends = await recordThread(Math.max(...runs), WORDS_PER_ANSWER);
  const { store, bytes } = await openStore(name, url);
  const columns = [];
  for (const count of runs) {
    const some = appends.filter(({ run }) => run <= count);
    // Several where they are short: a database counts in pages.
    const copies = Math.max(1, Math.round(100 / count));
    const before = await bytes();
    const names = Array.from({ length: copies }, (_, copy) => `kept-${count}-${copy}`);
    const [kept] = await Promise.all(names.map((id) => play(store, id, some, ({ snapshot }) => snapshot)));
    const stored = ((await bytes()) - before) / 1_024 / copies;
    const whole = await play(store, `whole-${count}`, some, () => undefined);
    const appended = { appends: some.length, ...(await compare(store, kept, whole)) };
    columns.push({
      title: count === 1 ? "1 run" : `${count} runs`,
      ...appended,
      "in the store as it is kept, KiB": stored,
    });
  }
  say("result", columns);
}

/** Writes the appends to a thread of another name. */
async function play(store, id, appends, snapshotFor) {
  for (const { position, append } of appends) {
    const row = append.row && { ...append.row, id };
    const { status } = await store.append(id, position, { ...append, row, snapshot: snapshotFor(append) });
    if (status !== "ok") throw new Error(`The append answered ${status}.`);
  }
  return id;
}

async function compare(store, kept, whole) {
  const log = await store.read(whole);
  const read = await store.read(kept);
  const chars = (events) => events.reduce((sum, { data }) => sum + data.length, 0);
  const toolrun = createToolRun({
    agent: defineAgent({ model: callsThenSays() }),
    store,
    identify: () => ({ id: "clerk" }),
  });
  const get = async (id) => (await toolrun.GET(new Request(`http://load/threads/${id}`))).text();
  const [replayed, opened, got] = [
    await time(open(store, whole)),
    await time(open(store, kept)),
    await time(() => get(kept)),
  ];
  return {
    "events in the whole log": log.events.length,
    "its size, KiB": chars(log.events) / 1_024,
    "snapshot, KiB": (read.snapshot?.data.length ?? 0) / 1_024,
    "events behind it": read.events.length,
    "read and replay of the log, ms": replayed,
    "read of the snapshot and what is behind it, ms": opened,
    "GET of the thread, ms": got,
    "the same, KiB sent": (await get(kept)).length / 1_024,
  };
}

function open(store, id) {
  return async () => openRead(emptyThread(id), await store.read(id));
}

/** Median of wall time, when the code is warm. */
async function time(work) {
  const times = [];
  for (let index = 0; index < TIMES; index++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return median(times.slice(5));
}
