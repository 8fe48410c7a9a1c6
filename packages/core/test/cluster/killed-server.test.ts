import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { buildFile, removeBuilds } from "../build-mutant.ts";
import { wrongOf } from "./check-run.ts";
import type { Cluster } from "./cluster.ts";
import { startCluster } from "./cluster.ts";
import type { Follower } from "./follower.ts";
import { follow } from "./follower.ts";
import type { HttpUser } from "./http-user.ts";
import { httpUser } from "./http-user.ts";
import { openStore } from "./open-store.ts";
import type { Told } from "./person.ts";
import { beAPerson } from "./person.ts";
import { seeded } from "./random.ts";
import { readEvents, readStored } from "./read-log.ts";
import type { Service } from "./services.ts";
import { services } from "./services.ts";
import type { Plan } from "./story.ts";

const LEASE_MS = 900;
const plan: Plan = { run: 1, words: 24, wordMs: 25, toolMs: 20 };

const stores = await services("a server killed in the middle of a stream");

describe.each(stores)("a server that is killed in the middle of a stream, on $name", ({ isThere, start }) => {
  let file = "";
  let store: Service;
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
    await until(async () => isInSecondText(await readEvents(opened.store, id)));
    await cluster.servers[0].kill();
    port = cluster.servers[1].port;
    const left = await readEvents(opened.store, id);
    expect(isInSecondText(left)).toBe(true);
    if (!watch) {
      await sleep(LEASE_MS * 2); // what must not happen has its time to happen
      expect(await readEvents(opened.store, id)).toEqual(left);
      await sweepUntil(cluster, async () => (await readEvents(opened.store, id)).length > left.length);
    }
    const after = await told;
    for (const follower of followers) expect(await follower.sees(after.thread.seq)).toBe(true);
    const stored = await readStored(opened.store, id);
    const executions = (await opened.journal.read()).filter((each) => each.threadId === id);
    const { decisions } = after;
    expect(wrongOf({ plan, threadId: id, decisions, followers, stored, executions, isCalm: false })).toEqual([]);
    return { told: after, followers, events: await readEvents(opened.store, id) };
  } finally {
    for (const follower of followers) await follower.close();
    await cluster.close();
    await opened.close();
  }
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
