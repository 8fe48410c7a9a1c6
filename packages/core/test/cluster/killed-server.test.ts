import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import { postgresBinaries, startPostgres } from "../adapters/postgres-server.ts";
import { hasRedis, startRedis } from "../adapters/redis-server.ts";
import { buildFile, removeBuilds } from "../build-mutant.ts";
import { wrongOf } from "./check-run.ts";
import type { Cluster } from "./cluster.ts";
import { startCluster } from "./cluster.ts";
import type { Follower } from "./follower.ts";
import { follow } from "./follower.ts";
import type { HttpUser } from "./http-user.ts";
import { httpUser } from "./http-user.ts";
import type { Opened } from "./open-store.ts";
import { openStore } from "./open-store.ts";
import type { Told } from "./person.ts";
import { beAPerson } from "./person.ts";
import { seeded } from "./random.ts";
import type { Plan } from "./story.ts";

const LEASE_MS = 900;
const plan: Plan = { run: 1, words: 24, wordMs: 25, toolMs: 20 };

const stores = [
  { name: "Redis", isThere: await hasRedis("a server killed in the middle of a stream, on Redis"), start: redis },
  { name: "PostgreSQL", isThere: postgresBinaries !== undefined, start: postgres },
];

async function redis(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = await startRedis();
  return { url: server.url, stop: () => server.close() };
}

async function postgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = await startPostgres();
  return { url: await server.createDatabase(), stop: () => server.stop() };
}

describe.each(stores)("a server that is killed in the middle of a stream, on $name", ({ isThere, start }) => {
  let file = "";
  let store: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    if (!isThere) return;
    file = await buildFile(new URL("./server-process.ts", import.meta.url), "server-process");
    store = await start();
  }, 60_000);
  afterAll(async () => {
    await store?.stop();
    await removeBuilds();
  });

  test.skipIf(!isThere)(
    "leaves a run that goes on when its follower reconnects to the other server",
    async () => {
      const { told, followers, events } = await killInTheMiddle(file, store.url, { watch: true });
      expect(events.filter((event) => event.type === "run-resumed" && event.why === "takeover")).toHaveLength(1);
      expect(followers[0]?.streams).toBeGreaterThan(1);
      expect(told.thread.runs[0]?.turns[1]?.attempt).toBe(2);
    },
    60_000,
  );

  test.skipIf(!isThere)(
    "leaves a run that stands still while nobody watches, until a sweep",
    async () => {
      const { told, events } = await killInTheMiddle(file, store.url, { watch: false });
      expect(events.filter((event) => event.type === "run-resumed" && event.why === "takeover")).toHaveLength(1);
      expect(told.thread.runs[0]?.turns[1]?.attempt).toBe(2);
    },
    60_000,
  );
});

interface Aftermath {
  readonly told: Told;
  readonly followers: readonly Follower[];
  readonly events: readonly ThreadEvent[];
}

/** A run on one server, which dies in the second turn's text; from then on everybody asks the other one. */
async function killInTheMiddle(file: string, storeUrl: string, { watch }: { watch: boolean }): Promise<Aftermath> {
  const opened = await openStore(storeUrl);
  const cluster = await startCluster({ file, storeUrl, leaseMs: LEASE_MS });
  const followers: Follower[] = [];
  try {
    let port = cluster.servers[0].port;
    const deadline = Date.now() + 30_000;
    const user: HttpUser = httpUser(() => `http://127.0.0.1:${port}`, crypto.randomUUID(), deadline);
    let begun = (_threadId: string): void => undefined;
    const threadId = new Promise<string>((resolve) => {
      begun = (id) => {
        if (watch) followers.push(follow(user, id, deadline));
        resolve(id);
      };
    });
    const told = beAPerson(user, plan, seeded(1), begun);
    const id = await Promise.race([threadId, told.then((each) => each.threadId)]);
    await until(async () => isInSecondText(await eventsOf(opened, id)));
    await cluster.servers[0].kill();
    port = cluster.servers[1].port;
    const left = await eventsOf(opened, id);
    expect(isInSecondText(left)).toBe(true);
    if (!watch) {
      await sleep(LEASE_MS * 2); // what must not happen has its time to happen
      expect(await eventsOf(opened, id)).toEqual(left);
      await sweepUntil(cluster, async () => (await eventsOf(opened, id)).length > left.length);
    }
    const after = await told;
    for (const follower of followers) expect(await follower.sees(after.thread.seq)).toBe(true);
    const read = await opened.store.read(id);
    const stored = read === null || "gone" in read ? [] : read.events;
    const executions = (await opened.journal.read()).filter((each) => each.threadId === id);
    const { decisions } = after;
    expect(wrongOf({ plan, threadId: id, decisions, followers, stored, executions, isCalm: false })).toEqual([]);
    return { told: after, followers, events: await eventsOf(opened, id) };
  } finally {
    for (const follower of followers) await follower.close();
    await cluster.close();
    await opened.close();
  }
}

async function eventsOf({ store }: Opened, id: string): Promise<readonly ThreadEvent[]> {
  const read = await store.read(id);
  return read === null || "gone" in read ? [] : read.events.map(({ seq, data }) => parseEvent(data, seq));
}

function isInSecondText(events: readonly ThreadEvent[]): boolean {
  const last = events.at(-1);
  return last?.type === "text-added" && last.turn === 2;
}

async function sweepUntil({ servers }: Cluster, condition: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    await fetch(`http://127.0.0.1:${servers[1].port}/sweep`, { method: "POST" });
    return condition();
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await condition()); await sleep(20)) {
    if (Date.now() > end) throw new Error("It did not happen.");
  }
}
