import { describe, expect, it } from "vitest";
import * as z from "zod";
import { tool } from "../../src/agent/tool.ts";
import { projectEvent } from "../../src/protocol/project.ts";
import { serialiseEvent } from "../../src/protocol/stored-event.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import { serialiseState } from "../../src/protocol/upgrade-state.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { FollowChange, ThreadStore } from "../../src/store/thread-store.ts";
import { call, calls, delay, say } from "../../src/testing/scripted-model.ts";
import { fakeClock, quiet } from "../fake-clock.ts";
import { fold, plain } from "../protocol/fold.ts";
import { BASE, clerk } from "./endpoint.ts";
import { mortal } from "./mortal.ts";
import type { Shop, ShopOptions } from "./shop.ts";
import { REFUND, shop, waitingShop } from "./shop.ts";
import { foldBlocks, foldStream, framesOf, parseBlocks, readStream } from "./sse.ts";

const FOREVER = delay(Number.POSITIVE_INFINITY);
const story = Array.from({ length: 200 }, (_, index) => `word${index} `).join("");

/** A run that streams text, looks, asks, and is approved while it is followed. */
async function wholeRun(): Promise<{ made: Shop; threadId: string }> {
  const look = tool({
    description: "Look.",
    inputSchema: z.object({ orderId: z.string() }),
    readOnly: true,
    execute: (input, { progress, log }) => {
      progress({ value: 1, max: 2, label: "Looking" });
      log("found it");
      return { ...input, total: 49.9 };
    },
  });
  const made = shop({
    tools: { look },
    script: [
      calls({ type: "reasoning", text: "secret thoughts" }, say(story), call("look", { orderId: "1042" })),
      calls(say("I would refund."), call("refund", REFUND), call("ghost", {})),
      say(story),
    ],
  });
  const asked = await (await made.server.send({ user: clerk, message: "Refund 1042" })).settled();
  await (await made.server.approve(asked.pending, { user: clerk, input: { ...REFUND, amount: 20 } })).settled();
  await made.server.clock.advance(0);
  return { made, threadId: asked.id };
}

/** A run that never ends by itself, and a request that follows it. */
async function following(options: ShopOptions = {}, headers: Record<string, string> = {}) {
  const clock = options.clock ?? fakeClock();
  const open = { count: 0, nexts: 0 };
  const store = countFollows(options.store ?? memoryStore({ clock }), open);
  const made = shop({ script: [calls(say("Once"), FOREVER)], ...options, clock, store });
  const { threadId, runId } = await made.server.send({ user: clerk, message: "Go" });
  await clock.advance(0);
  const armed = clock.armed;
  const abort = new AbortController();
  const response = await made.server.handle(
    new Request(`${BASE}/${threadId}/events`, { headers, signal: abort.signal }),
  );
  return { ...made, clock, threadId, runId, response, abort, open, armed };
}

function countFollows(store: ThreadStore, open: { count: number; nexts: number }): ThreadStore {
  return {
    ...store,
    follow(id, after, signal) {
      const iterator = store.follow(id, after, signal)[Symbol.asyncIterator]();
      let ended = false;
      open.count++;
      const end = (): void => {
        if (!ended) open.count--;
        ended = true;
      };
      return {
        [Symbol.asyncIterator]: () => ({
          async next() {
            open.nexts++;
            const result = await iterator.next();
            if (result.done) end();
            return result;
          },
          async return() {
            end();
            await iterator.return?.();
            return { done: true, value: undefined };
          },
        }),
      };
    },
  };
}

describe("an event stream", () => {
  it("[T03 T23] begins with a comment before anything else is known, and nothing on its way may hold it back", async () => {
    const { response } = await following();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toContain("no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(await readStream(response).next()).toMatch(/^:/);
  });

  it("[A18] covers every seq once, and an id is the end of its range", async () => {
    const { made, threadId } = await wholeRun();
    const blocks = parseBlocks(await (await made.server.get(`/${threadId}/events`)).text());
    const frames = framesOf(blocks);
    let covered = 0;
    for (const { from, to } of frames) {
      expect(from).toBe(covered + 1);
      covered = to;
    }
    expect(covered).toBe((await made.server.events(threadId)).length);
    expect(blocks.flatMap(({ id }) => id ?? [])).toEqual(frames.map(({ to }) => String(to)));
  });

  it("folds to what the snapshot says", async () => {
    const { made, threadId } = await wholeRun();
    const text = await (await made.server.get(`/${threadId}/events`)).text();
    const body = await (await made.server.get(`/${threadId}`)).json();
    expect(plain(foldStream(text, threadId))).toEqual(body.thread);
    expect(body).toMatchObject({ seq: body.thread.seq, access: { send: true, decide: true, remove: true } });
  });

  it("resumed at any place comes to the same end", async () => {
    const { made, threadId } = await wholeRun();
    const events = await made.server.events(threadId);
    const whole = plain(foldStream(await (await made.server.get(`/${threadId}/events`)).text(), threadId));
    expect(events.length).toBeGreaterThan(20);
    for (let cursor = 0; cursor <= events.length; cursor++) {
      const read = events.slice(0, cursor).flatMap((event) => projectEvent(event) ?? []);
      const before = { ...fold(read, emptyThread(threadId)), seq: cursor };
      const headers = { "last-event-id": String(cursor) };
      const text = await (await made.server.get(`/${threadId}/events?after=1`, headers)).text();
      expect(plain(foldBlocks(parseBlocks(text), before)), `after ${cursor}`).toEqual(whole);
    }
  });

  it("that is cut anywhere and resumed loses and doubles no character", async () => {
    const clock = fakeClock();
    const words = Array.from({ length: 40 }, (_, index) => calls(say(`w${index} `), delay(10)));
    const made = shop({ clock, script: [words.flat() as never] }); // parts of one answer
    const { threadId } = await made.server.send({ user: clerk, message: "Go" });
    let thread = emptyThread(threadId);
    for (let connection = 0; connection < 60; connection++) {
      const abort = new AbortController();
      const request = new Request(`${BASE}/${threadId}/events?after=${thread.seq}`, { signal: abort.signal });
      const reader = readStream(await made.server.handle(request));
      reader.flow();
      await clock.advance(7);
      abort.abort();
      thread = foldBlocks(parseBlocks(reader.text), thread);
    }
    const [run] = thread.runs;
    expect(run?.text).toBe(Array.from({ length: 40 }, (_, index) => `w${index} `).join(""));
    expect(run?.turn?.parts).toEqual([{ type: "text", text: run?.text }]);
  });

  it("is the same for a second reader", async () => {
    const { response, server, threadId, runId, clock } = await following();
    const first = readStream(response);
    const second = readStream(await server.get(`/${threadId}/events`));
    first.flow();
    second.flow();
    await quiet();
    await server.post(`/${threadId}/stop`, { runId, key: "s" });
    await clock.advance(0);
    expect(first.done).toBe(true);
    expect(foldStream(second.text, threadId)).toEqual(foldStream(first.text, threadId));
    expect(foldStream(first.text, threadId).runs[0]).toMatchObject({ outcome: "stopped" });
  });

  it("has a heartbeat every 15 seconds", async () => {
    const { response, clock } = await following();
    const reader = readStream(response);
    reader.flow();
    await clock.advance(14_999);
    expect(reader.text).not.toContain(": beat");
    await clock.advance(1);
    expect(reader.text.match(/: beat\n\n/g)).toHaveLength(1);
    await clock.advance(45_000);
    expect(reader.text.match(/: beat\n\n/g)).toHaveLength(4);
  });

  it("ends when the run waits for a person, and no timer stays", async () => {
    const made = await waitingShop();
    const text = await (await made.server.get(`/${made.threadId}/events`)).text();
    expect(foldStream(text, made.threadId).active[0]?.status).toBe("waiting");
    expect(made.server.clock.armed).toBe(0);
  });

  it("ends when the run ends", async () => {
    const { response, server, threadId, runId, clock } = await following();
    const reader = readStream(response);
    reader.flow();
    await server.post(`/${threadId}/stop`, { runId, key: "s" });
    await clock.advance(0);
    expect(reader.done).toBe(true);
    expect(clock.armed).toBe(0);
  });

  it("of a thread in which nothing happens ends at once", async () => {
    const { made, threadId } = await wholeRun();
    const head = (await made.server.events(threadId)).length;
    expect(await (await made.server.get(`/${threadId}/events?after=${head}`)).text()).toBe(": toolrun\n\n");
    expect(made.server.clock.armed).toBe(0);
  });

  it("[A20] tells that the thread was removed, and ends", async () => {
    const { response, server, threadId, clock } = await following();
    const reader = readStream(response);
    reader.flow();
    await quiet();
    await server.handle(new Request(`${BASE}/${threadId}`, { method: "DELETE" }));
    await clock.advance(30_000);
    expect(reader.text).toContain("event: removed");
    expect(reader.done).toBe(true);
    expect(clock.armed).toBe(0);
  });
});

describe("a reader that goes away", () => {
  const WAYS: readonly (readonly [string, (of: Awaited<ReturnType<typeof following>>) => Promise<void>])[] = [
    [
      "cancels the body while it waits",
      async ({ response }) => {
        const reader = readStream(response);
        await reader.next();
        await reader.next();
        await reader.cancel();
      },
    ],
    ["cancels the body before it read anything", async ({ response }) => response.body?.cancel()],
    [
      "aborts the request while it waits",
      async ({ response, abort }) => {
        readStream(response).flow();
        await quiet();
        abort.abort();
      },
    ],
    ["aborts the request and never reads", async ({ abort }) => abort.abort()],
    [
      "aborts the request and cancels the body",
      async ({ response, abort }) => {
        const reader = readStream(response);
        await reader.next();
        abort.abort();
        await reader.cancel();
      },
    ],
  ];

  it.each(WAYS)("%s: no follower and no timer stays, and the run goes on", async (_title, leave) => {
    const made = await following();
    await leave(made);
    await made.clock.advance(40_000);
    expect(made.open.count).toBe(0);
    expect(made.clock.armed).toBe(made.armed);
    expect(made.server.errors).toEqual([]);
    expect((await made.server.thread(made.threadId)).active).toHaveLength(1);
  });

  it("before the stream began leaves nothing either", async () => {
    const made = await following();
    await made.response.body?.cancel();
    const abort = new AbortController();
    abort.abort();
    const late = await made.server.handle(new Request(`${BASE}/${made.threadId}/events`, { signal: abort.signal }));
    await late.text();
    await made.clock.advance(40_000);
    expect(made.open.count).toBe(0);
    expect(made.clock.armed).toBe(made.armed);
  });

  it("[T07] 200 times leaves one driver and nothing else", async () => {
    const made = await following();
    await made.response.body?.cancel();
    for (let visit = 0; visit < 200; visit++) {
      const abort = new AbortController();
      const response = await made.server.handle(
        new Request(`${BASE}/${made.threadId}/events`, { signal: abort.signal }),
      );
      await readStream(response).next();
      abort.abort();
    }
    await quiet();
    expect(made.open.count).toBe(0);
    expect(made.clock.armed).toBe(made.armed);
  });
});

describe("a reader that is slow", () => {
  it("[T08] holds back nobody, is not queued for, and gets everything in the end", async () => {
    const words = Array.from({ length: 50 }, (_, index) => calls(say(`w${index} `), delay(10)));
    const made = await following({ script: [words.flat() as never] }); // parts of one answer
    const reader = readStream(made.response);
    await reader.next();
    const before = made.open.nexts;
    await made.clock.advance(60_000);
    expect((await made.server.thread(made.threadId)).runs[0]).toMatchObject({ outcome: "completed" });
    expect(made.open.nexts - before).toBeLessThan(4);
    const text = await reader.rest();
    expect(text.match(/: beat/g)?.length ?? 0).toBeLessThan(2);
    expect(foldStream(text, made.threadId).runs[0]?.text).toContain("w49");
  });
});

describe("[A18] a cursor that does not join on", () => {
  it("beyond the head gets a reset with the thread as it is", async () => {
    const { made, threadId } = await wholeRun();
    const blocks = parseBlocks(await (await made.server.get(`/${threadId}/events?after=99999`)).text());
    const { id, event, data } = blocks.find((block) => block.event !== undefined) ?? {};
    const body = await (await made.server.get(`/${threadId}`)).json();
    expect(event).toBe("reset");
    expect(id).toBe(String(body.seq));
    expect(JSON.parse(data ?? "")).toEqual(body);
  });

  it("before the base gets a reset, one behind it does not", async () => {
    const { made, threadId } = await wholeRun();
    let thread = await made.server.thread(threadId);
    const snapshots: number[] = [];
    for (const title of ["One", "Two"]) {
      const rename = {
        type: "thread-renamed",
        title,
        by: clerk,
        key: title,
        bodyHash: "h",
        at: thread.at,
        v: 1,
      } as const;
      const at = thread.seq;
      thread = fold([{ ...rename, seq: at + 1 }], thread);
      const events = [{ control: true, data: serialiseEvent(rename) }];
      await made.server.store.append(threadId, { at }, { batch: title, events, snapshot: serialiseState(thread) });
      snapshots.push(thread.seq);
    }
    const [base = 0] = snapshots; // the log is trimmed to the snapshot before the last
    const streams = await Promise.all(
      [1, base - 1, base].map(async (after) => (await made.server.get(`/${threadId}/events?after=${after}`)).text()),
    );
    expect(streams.map((text) => text.includes("event: reset"))).toEqual([true, true, false]);
    const [whole = ""] = streams;
    expect(foldStream(whole, threadId).title).toBe("Two");
  });
});

describe("a store that fails under a reader", () => {
  it("ends the stream, keeps the error on the server and leaves no timer", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const failing = {
      ...store,
      follow: (): AsyncIterable<FollowChange> => ({
        [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("redis://hunter2 is gone")) }),
      }),
    };
    const made = await following({ clock, store: failing });
    const text = await readStream(made.response).rest();
    expect(text).not.toContain("hunter2");
    expect(made.server.errors.map(String).join()).toContain("hunter2");
    await clock.advance(40_000);
    expect(clock.armed).toBe(made.armed);
  });
});

describe("who drives", () => {
  /** The first server dies while the model answers. */
  const orphan = async (clock = fakeClock()) => {
    const store = memoryStore({ clock });
    const first = mortal(clock, store);
    const dead = shop({ clock: first.clock, store: first.store, script: [FOREVER] });
    const { threadId } = await dead.server.send({ user: clerk, message: "Go" });
    await clock.advance(0);
    first.kill();
    await clock.advance(30_000);
    const alive = shop({ clock, store, script: [say("Here I am.")] });
    return { alive, threadId, clock };
  };

  it("a reader of a run whose server died takes it over", async () => {
    const { alive, threadId } = await orphan();
    const text = await (await alive.server.get(`/${threadId}/events`)).text();
    expect(foldStream(text, threadId).runs[0]).toMatchObject({ outcome: "completed", text: "Here I am." });
  });

  it.each([
    ["another site's page", { "sec-fetch-site": "cross-site" }],
    ["another site's page that names its Origin", { origin: "https://evil.test" }],
  ])("%s makes nobody drive", async (_title, headers) => {
    const { alive, threadId, clock } = await orphan();
    const response = await alive.server.get(`/${threadId}/events`, headers as Record<string, string>);
    readStream(response).flow();
    await clock.advance(60_000);
    expect((await alive.server.thread(threadId)).epoch).toBe(1);
  });

  it("a reader who may not send does not drive", async () => {
    const { alive, threadId, clock } = await orphan();
    const viewing = shop({ clock, store: alive.server.store, authorize: ({ action }) => action === "read" });
    readStream(await viewing.server.get(`/${threadId}/events`, { "x-user": "viewer" })).flow();
    await clock.advance(60_000);
    expect((await alive.server.thread(threadId)).epoch).toBe(1);
  });

  it("a look at a thread whose question is over takes it up, unless the looker may not send or is another site", async () => {
    const lookers: readonly (readonly [Record<string, string>, number])[] = [
      [{ "sec-fetch-site": "cross-site" }, 1],
      [{ "x-user": "viewer" }, 1],
      [{}, 2],
    ];
    for (const [headers, epoch] of lookers) {
      const made = await waitingShop({
        refund: { approval: { ask: { expiresInMs: 1_000 } } },
        authorize: ({ user, action, owner }) => user.id === owner || action === "read",
      });
      await made.server.clock.advance(1_000);
      expect((await made.server.get(`/${made.threadId}`, headers)).status).toBe(200);
      await made.server.clock.advance(0);
      expect((await made.server.thread(made.threadId)).epoch).toBe(epoch);
    }
  });

  it("where a request's work ends with its response, a POST only writes and the reader drives", async () => {
    const made = shop({ livesOn: false, script: [say("Here I am.")] });
    const { threadId } = await (await made.server.post("", { message: { text: "Go" }, key: "k" })).json();
    await made.server.clock.advance(0);
    const written = await made.server.thread(threadId);
    expect(written).toMatchObject({ epoch: 0, driverId: null });
    const text = await (await made.server.get(`/${threadId}/events`)).text();
    expect(foldStream(text, threadId).runs[0]).toMatchObject({ outcome: "completed" });
  });
});
