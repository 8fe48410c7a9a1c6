import type { HandlerCase } from "./handler-case.ts";
import { count, follow, get, play, post, refused, send, snapshot, stream } from "./handler-case.ts";
import type { EventStream } from "./handler-stream.ts";
import { check, eventually, same } from "./store-case.ts";

const LEAVERS = 5;

/** The event stream: docs/protocol.md section 1.7. */
export const streamCases: readonly HandlerCase[] = [
  {
    name: "a stream begins at once and shows words while the model still speaks",
    async run(context) {
      const { threadId, runId } = await send(context, "hang");
      const reader = await stream(context, threadId);
      const header = (name: string): string => reader.response.headers.get(name) ?? "";
      check(header("content-type").startsWith("text/event-stream"), `content-type is ${header("content-type")}`);
      for (const word of ["no-cache", "no-transform"]) {
        check(header("cache-control").includes(word), `cache-control is ${header("cache-control")}, without ${word}`);
      }
      same(header("x-accel-buffering"), "no", "x-accel-buffering");
      same(header("content-encoding"), "", "content-encoding");
      await reader.until("the first bytes", ({ comments }) => comments.length > 0);
      await reader.until("the first words", shows("Once"));
      same(reader.thread.active[0]?.status, "running", "the run");
      await stopRun(context, threadId, runId);
    },
  },
  {
    name: "a stream goes on behind any id, by header or address, and the header wins",
    async run(context) {
      const { threadId, runId } = await send(context, "hang");
      const whole = await stream(context, threadId);
      await whole.until("the first words", shows("Once"));
      await stopRun(context, threadId, runId);
      const end = await follow(context, threadId, await whole.rest());
      check(whole.seen.length >= 2, "a stream that was open during a run has several ids");
      for (const { id, thread: from } of [{ id: "0", thread: undefined }, ...whole.seen]) {
        const header = { "last-event-id": id };
        for (const how of [
          { query: "", headers: header },
          { query: `?after=${id}` },
          { query: "?after=1", headers: header },
        ]) {
          same(await (await stream(context, threadId, { from, ...how })).rest(), end, `the thread behind id ${id}`);
        }
      }
    },
  },
  {
    name: "a cursor that is no number is refused",
    async run(context) {
      const { id } = await play(context, "say Hi.");
      for (const cursor of ["x", "-1", "1.5", "1e3", "0x10", "NaN", "99999999999999999"]) {
        refused(await get(context, `/${id}/events`, { "last-event-id": cursor }), 400, "bad-request");
        refused(await get(context, `/${id}/events?after=${cursor}`), 400, "bad-request");
      }
    },
  },
  {
    name: "a cursor beyond the end is told to start over",
    async run(context) {
      const thread = await play(context, "say Hi.");
      const reader = await stream(context, thread.id, { query: `?after=${thread.seq + 100}` });
      await reader.rest();
      same(reader.names, ["reset"], "named events");
      same(reader.thread, (await snapshot(context, thread.id)).thread, "what it starts over from");
    },
  },
  {
    name: "a stream ends when the run waits for a person",
    async run(context) {
      const { threadId } = await send(context, "refund a");
      const thread = await follow(context, threadId);
      same(thread.active[0]?.status, "waiting", "the run");
    },
  },
  {
    name: "two readers see the same, however late the second comes",
    async run(context) {
      const { threadId, runId } = await send(context, "hang");
      const early = await stream(context, threadId);
      await early.until("the first words", shows("Once"));
      const late = await stream(context, threadId);
      await late.until("the first words", shows("Once"));
      await stopRun(context, threadId, runId);
      const [first, second] = await Promise.all([
        follow(context, threadId, await early.rest()),
        follow(context, threadId, await late.rest()),
      ]);
      same(first, second, "what two readers saw");
      same(first, (await snapshot(context, threadId)).thread, "the snapshot");
    },
  },
  {
    name: "readers that leave let go of the server, at its next word at the latest, and the run goes on without them",
    async run(context) {
      const { threadId, runId } = await send(context, "hang");
      const stays = await stream(context, threadId);
      await stays.until("the first words", shows("Once"));
      const openNow = (): Promise<unknown> => count(context, `followers ${threadId}`);
      const before = Number(await openNow());
      check(before >= 1, `an open stream is counted: ${before}`);
      const leavers = await Promise.all(Array.from({ length: LEAVERS }, () => stream(context, threadId)));
      for (const leaver of leavers) await leaver.until("the first words", shows("Once"));
      await eventually(context, async () => same(await openNow(), before + LEAVERS, "open streams"));
      for (const leaver of leavers) leaver.leave();
      await eventually(context, async () => {
        // Some runtimes notice only when they have something to write.
        const body = { title: context.newId(), key: context.newId() };
        same((await post(context, `/${threadId}/title`, body)).status, 200, "status of a new title");
        same(await openNow(), before, "open streams after they left");
      });
      same((await snapshot(context, threadId)).thread.active[0]?.status, "running", "the run");
      await stopRun(context, threadId, runId);
      same((await follow(context, threadId, await stays.rest())).runs[0]?.outcome, "stopped", "the outcome");
    },
  },
  {
    name: "a reader of a thread that is removed is told so",
    async run(context) {
      const { threadId } = await send(context, "hang");
      const reader = await stream(context, threadId);
      await reader.until("the first words", shows("Once"));
      same((await context.fetch(`/${threadId}`, { method: "DELETE" })).status, 204, "status of a removal");
      await reader.rest();
      same(reader.names, ["removed"], "named events");
    },
  },
];

function shows(text: string): (stream: EventStream) => boolean {
  return ({ thread }) => JSON.stringify(thread.active).includes(text);
}

async function stopRun(context: Parameters<HandlerCase["run"]>[0], threadId: string, runId: string): Promise<void> {
  same((await post(context, `/${threadId}/stop`, { runId, key: context.newId() })).status, 202, "status of a stop");
}
