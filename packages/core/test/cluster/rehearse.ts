import { setTimeout as sleep } from "node:timers/promises";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { Played } from "./check-run.ts";
import { wrongOf } from "./check-run.ts";
import type { Cluster } from "./cluster.ts";
import { startCluster, wreakHavoc } from "./cluster.ts";
import type { Follower } from "./follower.ts";
import { follow } from "./follower.ts";
import { httpUser } from "./http-user.ts";
import { openStore } from "./open-store.ts";
import { beAPerson } from "./person.ts";
import type { Random } from "./random.ts";
import { seeded } from "./random.ts";
import { readStored } from "./read-log.ts";
import type { Plan } from "./story.ts";

export interface Rehearsal {
  readonly file: string;
  readonly storeUrl: string;
  readonly seed: number;
  /** Runs that two followers watch; nothing sweeps meanwhile. */
  readonly watched: number;
  /** Runs that nobody watches; a cron sweeps. */
  readonly unwatched: number;
  /** Runs at a time. @defaultValue 20 */
  readonly atOnce?: number | undefined;
  /** @defaultValue 900 */
  readonly leaseMs?: number | undefined;
  /** About how often a server dies. Never without. */
  readonly killEveryMs?: number | undefined;
  /** Each run has this long. @defaultValue 90,000 */
  readonly runMs?: number | undefined;
}

export interface Figures {
  readonly wrong: readonly string[];
  readonly runs: number;
  readonly seconds: number;
  readonly kills: number;
  readonly pauses: number;
  readonly events: number;
  readonly streams: number;
  readonly executions: number;
  readonly takenOver: number;
  readonly interrupted: number;
  readonly retried: number;
  readonly continued: number;
}

/** Plays runs on two servers that die at random, and looks at everything they left behind. */
export async function rehearse(options: Rehearsal): Promise<Figures> {
  const { file, storeUrl, seed, watched, unwatched, atOnce = 20, leaseMs = 900, killEveryMs } = options;
  const random = seeded(seed);
  const cuts = random.fork();
  const cutAfterMs = killEveryMs === undefined ? undefined : () => cuts.between(200, 1_600);
  const cluster = await startCluster({ file, storeUrl, leaseMs, cutAfterMs });
  const opened = await openStore(storeUrl);
  const start = performance.now();
  const havoc = killEveryMs === undefined ? undefined : wreakHavoc(cluster, random.fork(), leaseMs, killEveryMs);
  try {
    const plans = Array.from({ length: watched + unwatched }, (_, run) => planOf(run, random.fork()));
    const play = (plan: Plan, followers: number) => playRun(cluster, plan, followers, random.fork(), options);
    const acts = await inParallel(plans.slice(0, watched), atOnce, (plan) => play(plan, 2));
    const cron = sweepOften(cluster, unwatched);
    acts.push(...(await inParallel(plans.slice(watched), atOnce, (plan) => play(plan, 0))));
    await cron.stop();
    await havoc?.stop();
    const executions = await opened.journal.read();
    const played: Played[] = [];
    for (const act of acts) {
      if (!act.threadId) continue;
      const stored = await readStored(opened.store, act.threadId);
      const own = executions.filter(({ threadId }) => threadId === act.threadId);
      played.push({ ...act, threadId: act.threadId, stored, executions: own, isCalm: havoc === undefined });
    }
    const events = played.flatMap(({ stored }) => stored.map(({ seq, data }) => parseEvent(data, seq)));
    const decisions = played.flatMap((each) => each.decisions);
    return {
      wrong: [...acts.flatMap(({ failure }) => failure ?? []), ...played.flatMap(wrongOf)],
      runs: acts.length,
      seconds: Math.round((performance.now() - start) / 100) / 10,
      kills: havoc?.kills ?? 0,
      pauses: havoc?.pauses ?? 0,
      events: events.length,
      streams: acts.reduce((sum, { streams }) => sum + streams, 0),
      executions: executions.length,
      takenOver: events.filter((event) => event.type === "run-resumed" && event.why === "takeover").length,
      interrupted: events.filter((event) => event.type === "call-interrupted").length,
      retried: decisions.filter(({ action }) => action === "retry").length,
      continued: acts.reduce((sum, { continued }) => sum + continued, 0),
    };
  } finally {
    await havoc?.stop();
    await cluster.close();
    await opened.close();
  }
}

function planOf(run: number, random: Random): Plan {
  return {
    run,
    words: random.between(5, 30),
    wordMs: random.between(5, 40),
    toolMs: random.between(50, 900),
  };
}

interface Act extends Pick<Played, "plan" | "decisions" | "followers"> {
  readonly threadId: string | undefined;
  readonly streams: number;
  readonly continued: number;
  readonly failure?: string;
}

async function playRun(
  cluster: Cluster,
  plan: Plan,
  count: number,
  random: Random,
  { runMs = 90_000 }: Rehearsal,
): Promise<Act> {
  const deadline = Date.now() + runMs;
  const user = httpUser(() => cluster.url, `user-${plan.run}`, deadline);
  const followers: Follower[] = [];
  let known: string | undefined;
  const onThread = (threadId: string): void => {
    known = threadId;
    for (let index = 0; index < count; index++) followers.push(follow(user, threadId, deadline));
  };
  const streams = (): number => followers.reduce((sum, follower) => sum + follower.streams, 0);
  try {
    const { threadId, thread, decisions, continued } = await beAPerson(user, plan, random, onThread);
    await Promise.all(followers.map((follower) => follower.sees(thread.seq)));
    return { plan, threadId, decisions, followers, continued, streams: streams() };
  } catch (error) {
    const failure = `run ${plan.run} (${known}): ${error}\n${cluster.errors}`;
    return { plan, threadId: known, decisions: [], followers, continued: 0, streams: streams(), failure };
  } finally {
    await Promise.all(followers.map((follower) => follower.close()));
  }
}

/** A cron that looks often. */
function sweepOften({ url }: Cluster, runs: number): { stop(): Promise<void> } {
  let isOver = runs === 0;
  const work = (async () => {
    while (!isOver) {
      await fetch(`${url}/sweep`, { method: "POST", signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
      await sleep(250);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await work;
    },
  };
}

async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
