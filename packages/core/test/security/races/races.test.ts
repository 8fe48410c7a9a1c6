import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { services } from "../../cluster/services.ts";
import type { RaceStores } from "./race-stores.ts";
import { openFaulty, openMemory, openService } from "./race-stores.ts";
import type { Race } from "./races.ts";
import { RIVALS, SAME } from "./races.ts";
import { runRevokeRace } from "./revoke-race.ts";
import type { Ended } from "./run-race.ts";
import { runRace } from "./run-race.ts";

const long = process.env.TOOLRUN_LONG === "1";
const SEED = Number(process.env.TOOLRUN_SEED ?? (long ? Date.now() % 100_000 : 1));
const POSTS = 200;
const [redis, postgres] = await services("races on one store");

interface Course {
  readonly name: string;
  readonly isThere: boolean;
  open(): RaceStores | Promise<RaceStores>;
  readonly rounds: number;
  /** Wishes of opposite kinds, both together. */
  readonly rivals: number;
}

const COURSES: readonly Course[] = [
  { name: "memory", isThere: true, open: () => openMemory(SEED), rounds: long ? 50 : 3, rivals: long ? POSTS : 40 },
  {
    name: "a faulty store",
    isThere: true,
    open: () => openFaulty(SEED),
    rounds: long ? 20 : 1,
    rivals: long ? 60 : 20,
  },
  {
    ...{ name: "Redis", isThere: redis.isThere, open: () => openService(redis) },
    rounds: long ? 20 : 1,
    rivals: long ? POSTS : 40,
  },
  {
    ...{ name: "PostgreSQL", isThere: postgres.isThere, open: () => openService(postgres) },
    rounds: long ? 10 : 1,
    rivals: long ? POSTS : 40,
  },
];

describe.each(COURSES)("two servers on $name", ({ name, isThere, open, rounds: count, rivals }) => {
  let stores: RaceStores;
  const outcomes: Record<string, Record<string, number>> = {};
  let posts = 0;
  let struck = 0;
  beforeAll(async () => {
    if (isThere) stores = await open();
  }, 120_000);
  afterAll(async () => {
    await stores?.close();
    console.log(
      `races on ${name}, TOOLRUN_SEED=${SEED}: ${posts} posts, ${struck} faults, ${JSON.stringify(outcomes)}`,
    );
  });

  const rounds = async (title: string, run: (seed: number) => Promise<Ended>): Promise<void> => {
    for (let round = 0; round < count; round++) {
      const { wrong, outcome, posts: sent } = await run(SEED + round);
      expect(wrong, `round ${round}`).toEqual([]);
      outcomes[title] = { ...outcomes[title], [outcome]: (outcomes[title]?.[outcome] ?? 0) + 1 };
      posts += sent;
      struck += stores.struck();
    }
  };

  const rows: readonly (readonly [string, Race, number])[] = [
    ...SAME.map((race) => [`${POSTS} times the same decision, ${race.name}`, race, POSTS] as const),
    ...RIVALS.map((race) => [race.name, race, rivals] as const),
  ];
  it.skipIf(!isThere).each(rows)(
    "%s: one comes true, it ran once at most, and all hear what happened",
    (title, race, wishes) => rounds(title, (seed) => runRace(race, stores, wishes, seed)),
    600_000,
  );

  it.skipIf(!isThere)(
    "the end of what a call waits for against revoke: it began before, or it asks again",
    () => rounds("revoke", (seed) => runRevokeRace(stores, 20, seed)),
    600_000,
  );
});
