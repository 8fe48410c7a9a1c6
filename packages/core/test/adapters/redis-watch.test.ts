import { describe, expect, test } from "vitest";
import { followLog } from "../../src/adapters/redis-follow.ts";
import type { LogPage, LogSource } from "../../src/adapters/redis-watch.ts";
import { createWatches } from "../../src/adapters/redis-watch.ts";
import type { FollowChange, StoredEvent } from "../../src/store/thread-store.ts";
import { type FakeClock, fakeClock, quiet } from "../fake-clock.ts";

const event = (seq: number, batch = `b${seq}`): StoredEvent => ({ seq, batch, control: true, data: `${seq}` });

/** A log, who looked at it and when, and a way to notify or not. */
function world({ listens = false } = {}) {
  const clock: FakeClock = fakeClock(0);
  const log: StoredEvent[] = [];
  const looks: number[] = [];
  let failure: Error | undefined;
  let held: Promise<void> | undefined;
  let live = listens;
  let notify = (_head?: number): void => undefined;
  const source: LogSource = {
    async page(_, after, batch): Promise<LogPage> {
      looks.push(clock.monotonic());
      if (failure) throw failure;
      const answer = answerTo(after, batch);
      await held; // the answer is what was there when it was asked
      return answer;
    },
    listen: listens
      ? (_, look) => {
          notify = look;
          return { isLive: () => live, stop: () => undefined };
        }
      : undefined,
  };
  const answerTo = (after: number, batch: string | undefined): LogPage => {
    if (log.length === 0) return { type: "none" };
    if (after > log.length || (batch !== undefined && after > 0 && log[after - 1]?.batch !== batch))
      return { type: "reset" };
    return { type: "events", events: log.slice(after), head: log.length, batch: log.at(-1)?.batch ?? "" };
  };
  const watches = createWatches(source, clock);
  const stop = new AbortController();
  const followed: FollowChange[] = [];
  const follow = (after = log.length): void => {
    const changes = followLog(source, watches, "t", after, stop.signal);
    const read = async (): Promise<void> => {
      for await (const change of changes) followed.push(change);
      ended.count++;
    };
    read().catch((error: unknown) => errors.push(error));
  };
  const errors: unknown[] = [];
  const ended = { count: 0 };
  return {
    clock,
    log,
    looks,
    watches,
    followed,
    errors,
    ended,
    follow,
    write: (...batches: string[]) => {
      for (const batch of batches) log.push(event(log.length + 1, batch));
    },
    seen: () => followed.flatMap(seqsOf),
    notify: (head?: number) => notify(head),
    setLive: (value: boolean) => {
      live = value;
    },
    /** Answers wait until the returned function is called. */
    hold: (): (() => void) => {
      let release = (): void => undefined;
      held = new Promise((resolve) => {
        release = () => {
          held = undefined;
          resolve();
        };
      });
      return release;
    },
    fail: (error?: Error) => {
      failure = error;
    },
    stop: () => stop.abort(),
  };
}

function seqsOf(change: FollowChange): readonly (number | string)[] {
  return change.type === "events" ? change.events.map(({ seq }) => seq) : [change.type];
}

describe("where nothing notifies", () => {
  test("one look for all followers of a thread, ever more rarely up to once a second", async () => {
    const made = world();
    made.write("a");
    for (let index = 0; index < 5; index++) made.follow();
    await quiet();
    made.looks.length = 0;
    await made.clock.advance(5000);
    expect(made.looks.map(Math.round)).toEqual([150, 375, 713, 1219, 1978, 2978, 3978, 4978]);
    made.stop();
  });

  test("what came is seen by the next look, and looks are frequent again", async () => {
    const made = world();
    made.write("a");
    made.follow();
    await made.clock.advance(5000);
    made.write("b");
    await made.clock.advance(1000);
    expect(made.seen()).toEqual([2]);
    made.looks.length = 0;
    await made.clock.advance(400);
    expect(made.looks).toHaveLength(2);
    made.stop();
  });

  test("what this process writes is there at once, in order, and nobody looks", async () => {
    const made = world();
    made.write("a");
    made.follow();
    made.follow();
    await quiet();
    made.looks.length = 0;
    for (let seq = 2; seq < 50; seq++) {
      made.write(`own ${seq}`);
      made.watches.feed("t", [event(seq, `own ${seq}`)]);
      await made.clock.advance(20);
    }
    expect(made.looks).toEqual([]);
    expect(made.seen().filter((_, index) => index % 2 === 0)).toEqual(
      Array.from({ length: 48 }, (_, index) => index + 2),
    );
    made.stop();
  });

  test("own events that do not join on are read instead", async () => {
    const made = world();
    made.write("a");
    made.follow();
    await quiet();
    made.write("another's", "own");
    made.watches.feed("t", [event(3, "own")]);
    await quiet();
    expect(made.seen()).toEqual([2, 3]);
    made.stop();
  });

  test("own events where others were show that the store went back: a reset", async () => {
    const made = world();
    made.write("a", "b", "c");
    made.follow(1);
    await quiet();
    made.log.length = 1;
    made.write("own");
    made.watches.feed("t", [event(2, "own")]);
    await quiet();
    expect(made.seen()).toEqual([2, 3, "reset"]);
    made.stop();
  });

  test("nobody waiting, nobody looking, and no timer is left", async () => {
    const made = world();
    made.write("a");
    made.follow();
    await made.clock.advance(500);
    expect(made.ended.count).toBe(0);
    made.stop();
    await quiet();
    expect(made.ended.count).toBe(1);
    made.looks.length = 0;
    await made.clock.advance(10_000);
    expect(made.looks).toEqual([]);
    expect(made.clock.armed).toBe(0);
  });

  test("a store that fails ends its followers with its error", async () => {
    const made = world();
    made.write("a");
    made.follow();
    await quiet();
    made.fail(new Error("down"));
    await made.clock.advance(200);
    expect(made.errors).toEqual([new Error("down")]);
    expect(made.clock.armed).toBe(0);
  });
});

describe("where notifications arrive", () => {
  test("a notification brings a look; one of what is known does not", async () => {
    const made = world({ listens: true });
    made.write("a");
    made.follow();
    await quiet();
    made.looks.length = 0;
    made.write("b");
    made.notify(2);
    await quiet();
    made.notify(2);
    made.notify(1);
    await quiet();
    expect([made.seen(), made.looks.length]).toEqual([[2], 1]);
    made.stop();
  });

  test("a lost one is made good after 5 s, and that thread is looked at often until the next one comes", async () => {
    const made = world({ listens: true });
    made.write("a");
    made.follow();
    await quiet();
    made.write("b");
    await made.clock.advance(4990);
    expect(made.seen()).toEqual([]);
    await made.clock.advance(20);
    expect(made.seen()).toEqual([2]);
    made.write("c");
    await made.clock.advance(200);
    expect(made.seen()).toEqual([2, 3]);
    made.write("d");
    made.notify(4);
    await quiet();
    made.looks.length = 0;
    await made.clock.advance(4990);
    expect(made.looks).toEqual([]);
    made.stop();
  });

  test("while the connection is away it looks as if nothing notified, and once more when it is back", async () => {
    const made = world({ listens: true });
    made.write("a");
    made.follow();
    await quiet();
    made.setLive(false);
    made.write("b");
    await made.clock.advance(5200);
    expect(made.seen()).toEqual([2]);
    made.write("c");
    made.setLive(true);
    made.notify();
    await quiet();
    expect(made.seen()).toEqual([2, 3]);
    made.stop();
  });

  test.each([undefined, 2])("one that arrives while a follower reads is not lost: %s", async (announced) => {
    const made = world({ listens: true });
    made.write("a");
    const release = made.hold();
    made.follow();
    await quiet();
    made.write("b");
    made.notify(announced);
    release();
    await quiet();
    expect(made.seen()).toEqual([2]);
    made.stop();
  });

  test("a removal is announced, and so is a log that went back and on", async () => {
    const made = world({ listens: true });
    made.write("a", "b");
    made.follow();
    await quiet();
    made.log.length = 1;
    made.write("x", "y");
    made.notify(3);
    await quiet();
    expect(made.seen()).toEqual(["reset"]);
  });
});
