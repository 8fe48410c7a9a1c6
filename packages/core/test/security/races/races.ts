import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { Answer, RaceShop, RaceShopOptions, Wish } from "./race-shop.ts";
import { INPUT } from "./race-shop.ts";

/** Two kinds of wishes about one step, or one kind many times, all at once. */
export interface Race extends RaceShopOptions {
  readonly name: string;
  /** One of `count`, made of its number; those of equal numbers modulo two go to the same server. */
  wish(shop: RaceShop, index: number): Wish;
  /** Beside the requests, from code. */
  beside?(shop: RaceShop): Promise<unknown>;
  /** How many wishes, where the table's number is not what the race is about. */
  readonly count?: number;
  /** The time jumps over the question's end at this call of a store, counted from the first wish. */
  readonly jumpsAt?: (count: number, seed: number) => number;
  /** What holds beside what holds for every race. */
  check?(shop: RaceShop, answers: readonly Answer[], events: readonly ThreadEvent[]): string | undefined;
}

/** Shorter than a lease: a clock that jumps over it makes nothing else end. */
export const SHORT_MS = 10_000;

type Decision = { readonly action: string; readonly [name: string]: unknown };

function decision(shop: RaceShop, index: number, key: string, decided: Decision, user = "ann", at = index): Wish {
  const { id: callId, digest } = shop.step;
  const body = { decisions: [{ callId, digest, ...decided }], key };
  return { at, user, path: `/${shop.threadId}/decisions`, body };
}

const approve = (shop: RaceShop, index: number, user = "ann"): Wish =>
  decision(shop, index, `yes ${index}`, { action: "approve" }, user);

/** Approvals at both servers, and as many of another wish at both. */
function against(name: string, other: Race["wish"], more: Omit<Race, "name" | "wish"> = {}): Race {
  const wish: Race["wish"] = (shop, index) => {
    const number = index >> 1;
    return index % 2 ? { ...other(shop, number), at: number } : { ...approve(shop, number), at: number };
  };
  return { name: `approve against ${name}`, ...more, wish };
}

function write(shop: RaceShop, path: string, body: Wish["body"] & object, user = "bea"): Wish {
  return { at: 0, user, path: `/${shop.threadId}/${path}`, body };
}

/** One decision, many times: a double click, five tabs, a proxy that repeats. */
export const SAME: readonly Race[] = [
  { name: "one key, one server", wish: (shop) => decision(shop, 0, "same", { action: "approve" }) },
  { name: "one key, two servers", wish: (shop, index) => decision(shop, index, "same", { action: "approve" }) },
  { name: "many keys, one server", wish: (shop, index) => ({ ...approve(shop, index), at: 0 }) },
  { name: "many keys, two servers", wish: approve },
  {
    name: "half of them with one key, two servers",
    wish: (shop, index) => decision(shop, index, index % 4 < 2 ? "same" : `yes ${index}`, { action: "approve" }),
  },
];

/** As a cron does at both servers; one that fails comes again. */
function sweeps({ servers }: RaceShop): Promise<unknown> {
  return Promise.allSettled(Array.from({ length: 20 }, (_, index) => servers[index % 2]?.sweep()));
}

export const RIVALS: readonly Race[] = [
  against("deny", (shop, index) => decision(shop, index, `no ${index}`, { action: "deny", reason: "no" })),
  against("deny that is remembered", (shop, index) =>
    decision(shop, index, `never ${index}`, { action: "deny", scope: "thread" }),
  ),
  against("approve by somebody else", (shop, index) =>
    decision(shop, index, `yes of bea ${index}`, { action: "approve" }, "bea"),
  ),
  against("approve with another input", (shop, index) =>
    decision(shop, index, `edit ${index}`, { action: "approve", input: { ...INPUT, amount: 10 + (index % 5) } }, "bea"),
  ),
  against("keep waiting", (shop, index) => decision(shop, index, `longer ${index}`, { action: "extend" }, "bea"), {
    ask: { expiresInMs: 600_000 },
  }),
  against("stop", (shop, index) => write(shop, "stop", { runId: shop.runId, key: `stop ${index}` })),
  against(
    "a message that denies",
    (shop, index) => write(shop, "messages", { message: { text: "No" }, pending: "deny", key: `message ${index}` }),
    { count: 24 }, // every message is news to every other: a dozen of them at once are conflict enough
  ),
  against("remove", (shop, index) => ({ at: index, user: "ann", method: "DELETE", path: `/${shop.threadId}` })),
  {
    name: "approve against sweep",
    ask: { expiresInMs: 600_000 },
    wish: approve,
    beside: sweeps,
  },
  {
    name: "approve against the end of its time",
    ask: { expiresInMs: SHORT_MS },
    wish: approve,
    jumpsAt: (count, seed) => (seed * 31) % (count * 2),
  },
  {
    name: "approve against the end of its time, which a sweep notices",
    ask: { expiresInMs: SHORT_MS },
    wish: approve,
    jumpsAt: (count, seed) => (seed * 37) % (count * 2),
    beside: sweeps,
  },
];
