import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Hearing, PostgresConnection } from "../../src/adapters/postgres-client.ts";
import { type FollowRead, followPostgres } from "../../src/adapters/postgres-follow.ts";
import type { Hub } from "../../src/adapters/postgres-hub.ts";
import { createHubs, type Hubs } from "../../src/adapters/postgres-hubs.ts";
import { namesIn } from "../../src/adapters/postgres-schema.ts";
import { statementsFor } from "../../src/adapters/postgres-sql.ts";
import { EVENT, FIELD, RECORD } from "../../src/adapters/postgres-text.ts";
import { ToolRunError } from "../../src/errors.ts";

vi.mock("../../src/adapters/timer.ts", () => ({
  after: (ms: number, callback: () => void) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const names = namesIn(undefined);
const statements = statementsFor(names);

/** A database of heads, and sessions that hear what is notified unless they are deaf. */
interface Fake {
  readonly hubs: Hubs;
  readonly ends: Map<string, string>;
  /** When each look came, ms since the start, and for how many threads. */
  readonly looks: { readonly at: number; readonly threads: number }[];
  readonly notified: string[];
  readonly sessions: Hearing[];
  isDeaf: boolean;
  isDown: boolean;
  /** Answers nothing any more. */
  isStuck: boolean;
}

function fake({ canListen }: { readonly canListen: boolean }): Fake {
  const start = performance.now();
  const open = new Set<Hearing>();
  const state: Omit<Fake, "hubs"> = {
    ends: new Map(),
    looks: [],
    notified: [],
    sessions: [],
    isDeaf: false,
    isDown: false,
    isStuck: false,
  };
  const connection: PostgresConnection = {
    async run(text, params) {
      if (text === statements.notify) {
        for (const payload of (params[1] ?? "").split(EVENT)) {
          state.notified.push(payload);
          if (!state.isDeaf) for (const session of open) session.heard(payload);
        }
        return null;
      }
      const ids = (params[0] ?? "").split(EVENT).slice(0, -1);
      state.looks.push({ at: Math.round(performance.now() - start), threads: ids.length });
      if (state.isStuck) return new Promise(() => {});
      if (state.isDown) throw new Error("down");
      const found = ids.filter((id) => state.ends.has(id)).map((id) => `${id}${FIELD}${state.ends.get(id)}`);
      return found.length === 0 ? null : found.join(RECORD);
    },
    listen: canListen
      ? async (_, hearing) => {
          state.sessions.push(hearing);
          open.add(hearing);
          return async () => void open.delete(hearing);
        }
      : undefined,
  };
  return Object.assign(state, { hubs: createHubs(connection, names, statements) });
}

const gaps = ({ looks }: Fake): number[] => looks.map(({ at }, index) => at - (looks[index - 1]?.at ?? 0));

function changesOf(hub: Hub): () => number {
  let count = 0;
  const listen = (): void =>
    hub.onChange(() => {
      count++;
      listen();
    });
  listen();
  return () => count;
}

describe("how followers learn that there is something to read", () => {
  test("where nobody notifies, by looking: after 150 ms, then ever more rarely, once a second at last", async () => {
    const database = fake({ canListen: false });
    database.hubs.join("t");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(gaps(database).slice(0, 3)).toEqual([150, 225, 338]);
    expect(gaps(database).slice(-3)).toEqual([1000, 1000, 1000]);
  });

  test("what a look finds wakes the thread's followers, and it is looked at often again", async () => {
    const database = fake({ canListen: false });
    const changes = changesOf(database.hubs.join("t"));
    await vi.advanceTimersByTimeAsync(10_000);
    database.ends.set("t", "5");
    await vi.advanceTimersByTimeAsync(1000);
    expect(changes()).toBe(1);
    const { length } = database.looks;
    await vi.advanceTimersByTimeAsync(1000);
    expect(database.looks.length - length).toBeGreaterThan(2);
    database.ends.set("t", "removed");
    await vi.advanceTimersByTimeAsync(1000);
    expect(changes()).toBe(2);
    database.ends.delete("t"); // purged, or lost by a failover
    await vi.advanceTimersByTimeAsync(1000);
    expect(changes()).toBe(3);
  });

  test("where notifications arrive, by them, and every 5 s by a look", async () => {
    const database = fake({ canListen: true });
    const changes = changesOf(database.hubs.join("t"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(gaps(database).slice(-3)).toEqual([5000, 5000, 5000]);
    const before = changes();
    database.sessions[0]?.heard("7 t");
    expect(changes()).toBe(before + 1);
    database.sessions[0]?.heard("7 t");
    database.sessions[0]?.heard("6 t");
    database.sessions[0]?.heard("9 another");
    expect(changes()).toBe(before + 1);
    database.sessions[0]?.heard("removed t");
    expect(changes()).toBe(before + 2);
  });

  test("a session that hears nothing is not believed: looks stay frequent, and another session is tried", async () => {
    const database = fake({ canListen: true });
    database.isDeaf = true;
    database.hubs.join("t");
    await vi.advanceTimersByTimeAsync(15_000);
    expect(gaps(database).slice(-3)).toEqual([1000, 1000, 1000]);
    expect(database.sessions).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(database.sessions).toHaveLength(2);
    database.isDeaf = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(gaps(database).slice(-2)).toEqual([5000, 5000]);
  });

  test("a session that breaks is replaced, and what was missed meanwhile is read", async () => {
    const database = fake({ canListen: true });
    const changes = changesOf(database.hubs.join("t"));
    await vi.advanceTimersByTimeAsync(1000);
    const before = changes();
    database.sessions[0]?.lost();
    await vi.advanceTimersByTimeAsync(1000);
    expect(database.sessions).toHaveLength(2);
    expect(changes()).toBe(before + 1);
    database.sessions[0]?.lost(); // a late word of the old one
    database.sessions[0]?.heard("3 t");
    await vi.advanceTimersByTimeAsync(1000);
    expect([database.sessions.length, changes()]).toEqual([2, before + 1]);
  });

  test("all threads are looked at in one statement", async () => {
    const database = fake({ canListen: false });
    for (let index = 0; index < 500; index++) database.hubs.join(`t${index}`);
    await vi.advanceTimersByTimeAsync(160);
    expect(database.looks).toEqual([{ at: 150, threads: 500 }]);
  });

  test("a look that fails is followed by the next", async () => {
    const database = fake({ canListen: false });
    const changes = changesOf(database.hubs.join("t"));
    database.isDown = true;
    await vi.advanceTimersByTimeAsync(3000);
    database.isDown = false;
    database.ends.set("t", "1");
    await vi.advanceTimersByTimeAsync(1100);
    expect(changes()).toBe(1);
  });

  test("a look that is never answered is not the last: followers that wait nudge", async () => {
    const database = fake({ canListen: false });
    const hub = database.hubs.join("t");
    const changes = changesOf(hub);
    database.isStuck = true;
    await vi.advanceTimersByTimeAsync(5000);
    hub.nudge();
    expect(database.looks).toHaveLength(1); // it may be slow
    database.isStuck = false;
    database.ends.set("t", "1");
    await vi.advanceTimersByTimeAsync(6000);
    expect(changes()).toBe(0);
    hub.nudge();
    await vi.advanceTimersByTimeAsync(0);
    expect([database.looks.length, changes()]).toEqual([2, 1]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(database.looks.length).toBeGreaterThan(4);
  });

  test("with the last follower it all ends: no look, no session, no word", async () => {
    const database = fake({ canListen: true });
    const [first, second] = [database.hubs.join("t"), database.hubs.join("t")];
    expect(first).toBe(second);
    await vi.advanceTimersByTimeAsync(1000);
    first.leave();
    await vi.advanceTimersByTimeAsync(20_000);
    const { length } = database.looks;
    expect(database.notified.length).toBeGreaterThan(1);
    second.leave();
    database.notified.length = 0;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([database.looks.length, database.notified, database.sessions.length]).toEqual([length, [], 1]);
  });
});

describe("an append of this process", () => {
  const append = (batch: string, ...texts: string[]) => ({
    batch,
    events: texts.map((data) => ({ control: true, data })),
  });

  test("is handed to its own followers without a look", () => {
    const { hubs } = fake({ canListen: false });
    const hub = hubs.join("t");
    const changes = changesOf(hub);
    hubs.appended("t", 3, append("b", "c", "d"));
    hubs.appended("t", 5, append("c", "e"));
    expect(changes()).toBe(2);
    expect(hub.written(2)?.map(({ seq, batch, data }) => [seq, batch, data])).toEqual([
      [3, "b", "c"],
      [4, "b", "d"],
      [5, "c", "e"],
    ]);
    expect(hub.written(4)).toHaveLength(1);
    expect([hub.written(1), hub.written(5), hub.written(9)]).toEqual([undefined, undefined, undefined]);
  });

  test("is read instead where somebody else wrote between or behind", () => {
    const { hubs } = fake({ canListen: false });
    const hub = hubs.join("t");
    hubs.appended("t", 1, append("a", "a"));
    hubs.appended("t", 3, append("c", "c"));
    expect([hub.written(0), hub.written(2)?.length]).toEqual([undefined, 1]);
    hub.saw(4);
    expect(hub.written(2)).toBeUndefined();
    hub.saw("removed");
    expect(hub.written(2)).toBeUndefined();
  });

  test("is notified to other processes, one statement at a time, what comes meanwhile together", async () => {
    const database = fake({ canListen: true });
    for (let head = 1; head <= 50; head++) database.hubs.appended("t", head, append("b", "x"));
    database.hubs.appended("u", 1, append("b", "x"));
    database.hubs.removed("v");
    database.hubs.appended("n".repeat(2000), 1, append("b", "x"));
    await vi.advanceTimersByTimeAsync(0);
    expect(database.notified).toEqual(["1 t", "50 t", "1 u", "removed v"]);
  });

  test("is not notified where nobody could listen", async () => {
    const database = fake({ canListen: false });
    database.hubs.appended("t", 1, append("b", "x"));
    await vi.advanceTimersByTimeAsync(1000);
    expect(database.notified).toEqual([]);
  });
});

test("one question at one version is asked once, and again behind a change", async () => {
  const hub = fake({ canListen: false }).hubs.join("t");
  const ask = vi.fn(async () => "answer");
  await Promise.all([hub.shared("5", ask), hub.shared("5", ask)]);
  expect(ask).toHaveBeenCalledTimes(1);
  const first = hub.shared("5", ask);
  hub.saw(6);
  await Promise.all([first, hub.shared("5", ask)]);
  expect(ask).toHaveBeenCalledTimes(3);
});

describe("a follower", () => {
  const page = (head: number, from: number): FollowRead => ({
    head,
    events: Array.from({ length: head - from }, (_, index) => ({
      seq: from + index + 1,
      batch: "b",
      control: true,
      data: "x",
    })),
  });

  test("goes on by itself where the read it shares is never answered", async () => {
    const { hubs } = fake({ canListen: false });
    const control = new AbortController();
    let asked = 0;
    const readAfter = (cursor: number): Promise<FollowRead> =>
      asked++ === 0 ? new Promise(() => {}) : Promise.resolve(page(2, cursor));
    const next = (): Promise<unknown> =>
      followPostgres(hubs, { id: "t", after: 0, signal: control.signal }, readAfter).next();
    const both = Promise.all([next(), next()]);
    await vi.advanceTimersByTimeAsync(4000);
    expect(asked).toBe(1);
    await vi.advanceTimersByTimeAsync(3000);
    expect(await both).toMatchObject([{ value: { type: "events" } }, { value: { type: "events" } }]);
    control.abort();
  });

  test("waits out a failing database for 10 s, then says so; what is misconfigured it says at once", async () => {
    const { hubs } = fake({ canListen: false });
    const control = new AbortController();
    const start = performance.now();
    const follow = (code: "unavailable" | "misconfigured"): Promise<number> =>
      followPostgres(hubs, { id: code, after: 0, signal: control.signal }, async () => {
        throw new ToolRunError(code, "no");
      })
        .next()
        .then(
          () => Number.NaN,
          () => performance.now() - start,
        );
    const [slow, fast] = [follow("unavailable"), follow("misconfigured")];
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await fast).toBe(0);
    expect(await slow).toBeGreaterThan(9_900);
    expect(await slow).toBeLessThan(11_000);
  });

  test("is not fooled by the late answer of a read that it gave up", async () => {
    const { hubs } = fake({ canListen: false });
    let answerFirst = (): void => {};
    let asked = 0;
    const readAfter = (): Promise<FollowRead> =>
      new Promise((resolve) => {
        if (asked++ === 0) answerFirst = () => resolve(null);
      });
    const ended = followPostgres(hubs, { id: "t", after: 0, signal: new AbortController().signal }, readAfter)
      .next()
      .catch((error: ToolRunError) => error.message);
    await vi.advanceTimersByTimeAsync(6000);
    answerFirst();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await ended).toMatch(/did not answer in time/);
  });

  test("whose next is asked twice at once gets one piece after the other", async () => {
    const { hubs } = fake({ canListen: false });
    const control = new AbortController();
    const changes = followPostgres(hubs, { id: "t", after: 0, signal: control.signal }, async (cursor) =>
      page(Math.min(cursor + 2, 4), cursor),
    );
    const all = await Promise.all([changes.next(), changes.next()]);
    expect(all).toMatchObject([
      { value: { events: [{ seq: 1 }, { seq: 2 }] } },
      { value: { events: [{ seq: 3 }, { seq: 4 }] } },
    ]);
    control.abort();
    expect(await changes.next()).toEqual({ done: true, value: undefined });
  });

  test("that is returned while it waits ends, and leaves nothing behind", async () => {
    const database = fake({ canListen: false });
    const changes = followPostgres(
      database.hubs,
      { id: "t", after: 0, signal: new AbortController().signal },
      async () => null,
    );
    const next = changes.next();
    await vi.advanceTimersByTimeAsync(1000);
    const { length } = database.looks;
    await changes.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(database.looks).toHaveLength(length);
  });
});
