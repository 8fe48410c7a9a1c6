import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import { rootOf } from "../../src/protocol/thread.ts";
import type { Follower } from "../cluster/follower.ts";
import { follow } from "../cluster/follower.ts";
import { httpUser } from "../cluster/http-user.ts";
import type { Opened } from "../cluster/open-store.ts";
import { openStore } from "../cluster/open-store.ts";
import { readEvents, readStored } from "../cluster/read-log.ts";
import type { ServerSlot } from "../cluster/server-slot.ts";
import { serverSlot } from "../cluster/server-slot.ts";
import { wrongOf } from "./check-crash.ts";
import type { World } from "./effects.ts";
import { startWorld } from "./effects.ts";
import { beAPerson } from "./person.ts";
import type { Point } from "./point.ts";

/** Longer than a busy machine stands still: where a lease runs out, calls are interrupted although nobody died. */
const LEASE_MS = 1_500;
const RUN_MS = 60_000;
/** So long after the end of its run a server has to be dead that was to die in it. */
const DEATH_MS = 10_000;

/** The script, played once. */
export interface Outcome {
  readonly wrong: readonly string[];
  readonly events: readonly ThreadEvent[];
  /** Seq of the last event of each append. */
  readonly appends: readonly number[];
  readonly effects: number;
}

/** Servers that die where they are told to, and what stays when they do. */
export interface Stage {
  /** The script on a server to which nothing happens. */
  undisturbed(): Promise<Outcome>;
  /** The script once for each point. */
  crash(points: readonly Point[]): Promise<readonly Outcome[]>;
  close(): Promise<void>;
}

/** `lanes` runs at a time, each with a server process of its own. */
export async function openStage(file: string, storeUrl: string, lanes = 5): Promise<Stage> {
  const opened = await openStore(storeUrl);
  const world = await startWorld(opened.store);
  const servers = Array.from({ length: lanes }, () => serverSlot(file, storeUrl, String(LEASE_MS), world.url));
  await Promise.all(servers.map((server) => server.start()));
  return {
    undisturbed: () => play(opened, world, servers[0] as ServerSlot, undefined), // there is a lane
    async crash(points) {
      const outcomes: Outcome[] = [];
      const queue = [...points.entries()];
      const lane = async (server: ServerSlot): Promise<void> => {
        for (let next = queue.shift(); next; next = queue.shift()) {
          outcomes[next[0]] = await play(opened, world, server, next[1]);
        }
      };
      await Promise.all(servers.map(lane));
      return outcomes;
    },
    async close() {
      await Promise.all(servers.map((server) => server.kill()));
      await world.close();
      await opened.close();
    },
  };
}

/** One run on one server, which dies at the point and is started again. */
async function play({ store }: Opened, world: World, server: ServerSlot, point: Point | undefined): Promise<Outcome> {
  const deadline = Date.now() + RUN_MS;
  const user = httpUser(() => `http://127.0.0.1:${server.port}`, crypto.randomUUID(), deadline);
  const followers: Follower[] = [];
  let threadId = "";
  const watch = (id: string): Follower => {
    threadId = id;
    const follower = follow(user, id, deadline);
    followers.push(follower);
    return follower;
  };
  if (point) await arm(server, point);
  const death = point && point.kind !== "lost" ? reviveAfterDeath(server) : undefined;
  try {
    const seen = await beAPerson({
      user,
      answer: point?.answer ?? "retry",
      mayAct: (thread) => death?.isDead === true || rootOf(thread)?.status === "waiting",
      watch,
      log: (id) => readEvents(store, id),
      deadline,
    });
    await death?.isOver();
    await followers[0]?.sees(seen.thread.seq);
    const stored = await readStored(store, threadId);
    const wrong = wrongOf({ ...seen, stored, effects: world.of(threadId), followers, isCalm: point === undefined });
    return {
      wrong: named(point, wrong),
      events: stored.map(({ seq, data }) => parseEvent(data, seq)),
      appends: stored.filter(({ batch }, index) => batch !== stored[index + 1]?.batch).map(({ seq }) => seq),
      effects: world.of(threadId).length,
    };
  } catch (error) {
    const log = (await readEvents(store, threadId)).map(({ seq, type }) => `${seq} ${type}`);
    const failure = `it came to no end: ${error}\n${log.join(", ")}\n${server.errors.slice(-1_000)}`;
    return { wrong: named(point, [failure]), events: [], appends: [], effects: 0 };
  } finally {
    await Promise.all(followers.map((follower) => follower.close()));
  }
}

function named(point: Point | undefined, wrong: readonly string[]): readonly string[] {
  const name = point ? `${point.kind} ${point.at}, then ${point.answer}` : "undisturbed";
  return wrong.map((text) => `${name}: ${text}`);
}

async function arm(server: ServerSlot, point: Point): Promise<void> {
  await fetch(`http://127.0.0.1:${server.port}/arm`, { method: "POST", body: JSON.stringify(point) });
}

/** A server's death and return. */
interface Death {
  readonly isDead: boolean;
  /**
   * Resolves when the server is back.
   * @throws when it lives on: then its fuse was not where the run came by.
   */
  isOver(): Promise<void>;
}

function reviveAfterDeath(server: ServerSlot): Death {
  let isDead = false;
  let isAwaited = true;
  const back = server.untilDead().then(async () => {
    isDead = true;
    if (isAwaited) await server.start();
  });
  back.catch(() => undefined); // isOver says it
  return {
    get isDead() {
      return isDead;
    },
    async isOver() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error("Nothing killed the server.")), DEATH_MS);
      });
      try {
        await Promise.race([back, late]);
      } finally {
        clearTimeout(timer);
        isAwaited = false;
      }
    },
  };
}
