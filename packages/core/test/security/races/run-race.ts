import { vi } from "vitest";
import type { ThreadStore } from "../../../src/store/thread-store.ts";
import { judge, judgeAgain } from "./judge.ts";
import { raceShop } from "./race-shop.ts";
import type { RaceStores } from "./race-stores.ts";
import type { Race } from "./races.ts";
import { SHORT_MS } from "./races.ts";

/** How one race ended. */
export interface Ended {
  readonly wrong: readonly string[];
  /** What came true: `approve`, `deny`, `expire`, `stop`, `removed`. */
  readonly outcome: string;
  readonly posts: number;
}

/** All wishes at once, then each once more. */
export async function runRace(race: Race, stores: RaceStores, count: number, seed: number): Promise<Ended> {
  const time = jump();
  const shop = await raceShop({ ...stores, stores: [time.over(stores.stores[0]), time.over(stores.stores[1])] }, race);
  try {
    const wishes = inOrderOf(
      seed,
      Array.from({ length: race.count ?? count }, (_, index) => race.wish(shop, index)),
    );
    if (race.jumpsAt) time.jumpIn(race.jumpsAt(wishes.length, seed), SHORT_MS + 1);
    const [answers] = await Promise.all([Promise.all(wishes.map((wish) => shop.send(wish))), race.beside?.(shop)]);
    await shop.settled();
    const events = await shop.events();
    if (events.length === 0)
      return {
        ...judgeRemoved(
          shop.ran.length,
          answers.map(({ status }) => status),
        ),
        posts: wishes.length,
      };
    const again = await Promise.all(answers.map(({ wish }) => shop.send({ ...wish, at: wish.at + 1 })));
    const wrong = [
      ...judge(shop, answers, events),
      ...answers.map((answer, index) => judgeAgain(answer, again[index] ?? answer)),
      shop.ran.length > 1 ? "the repetitions ran it again" : undefined,
      (await shop.events()).length > events.length ? "the repetitions are in the log" : undefined,
    ];
    const decided = events.find(({ type }) => type === "decision-recorded");
    const outcome = decided?.type === "decision-recorded" ? decided.action : "stop";
    return { wrong: wrong.filter((what) => what !== undefined), outcome, posts: 2 * wishes.length };
  } finally {
    time.end();
  }
}

function judgeRemoved(ran: number, statuses: readonly number[]): Omit<Ended, "posts"> {
  const wrong = statuses
    .filter((status) => ![200, 204, 404, 409].includes(status))
    .map((status) => `an answer of ${status}`);
  if (!statuses.includes(204)) wrong.push("nobody removed it");
  if (ran > 1 || (ran === 1 && !statuses.includes(200))) wrong.push(`it ran ${ran} times`);
  return { wrong, outcome: "removed" };
}

/** The order of a seed: the same one each time. */
function inOrderOf<Item>(seed: number, items: readonly Item[]): readonly Item[] {
  const ordered = [...items];
  let state = (seed * 7_919 + 104_729) % 2_147_483_647;
  for (let index = ordered.length - 1; index > 0; index--) {
    state = (state * 48_271) % 2_147_483_647;
    const other = state % (index + 1);
    [ordered[index], ordered[other]] = [ordered[other] as Item, ordered[index] as Item]; // both are within
  }
  return ordered;
}

/** A clock of the servers that can jump in the middle of a race: at a call of a store. */
function jump(): { over(store: ThreadStore): ThreadStore; jumpIn(calls: number, ms: number): void; end(): void } {
  let left = Number.POSITIVE_INFINITY;
  let by = 0;
  const now = Date.now;
  const count = (): void => {
    if (left-- === 0) vi.spyOn(Date, "now").mockImplementation(() => now() + by);
  };
  return {
    over: (store) => ({
      ...store,
      read: (...args) => {
        count();
        return store.read(...args);
      },
      append: (...args) => {
        count();
        return store.append(...args);
      },
    }),
    jumpIn(calls, ms) {
      left = calls;
      by = ms;
    },
    end: () => void vi.restoreAllMocks(),
  };
}
