import type { Append } from "../store/thread-store.ts";
import type { StoreCase, StoreCaseContext } from "./store-case.ts";
import { batch, check, dataOf, LEASE_MS, readThread, row, same, write } from "./store-case.ts";

const claim = (driverId: string): Partial<Append> => ({ lease: { driverId, ttlMs: LEASE_MS } });
const release = (driverId: string): Partial<Append> => ({ lease: { release: driverId } });

/** Tries to claim at the head and says how it went. */
async function tryClaim(context: StoreCaseContext, id: string, driverId: string): Promise<string> {
  const { head } = await readThread(context, id);
  return (await context.store.append(id, { at: head }, batch(context, [`claim of ${driverId}`], claim(driverId))))
    .status;
}

async function claimed(context: StoreCaseContext, driverId: string): Promise<string> {
  const id = context.newId();
  await write(context, id, 0, ["a"], claim(driverId));
  return id;
}

/** Claim as a condition of the append, renewal, release, expiry by the store's clock. */
export const leaseCases: readonly StoreCase[] = [
  {
    name: "while a lease is valid another's claim is held and writes nothing",
    async run(context) {
      const [id, owner] = [await claimed(context, "A"), context.newId()];
      const append = batch(context, ["x"], { ...claim("B"), snapshot: "bad", row: row(id, owner) });
      const result = await context.store.append(id, { at: 1 }, append);
      check(result.status === "held", `claim of B: expected held, got ${result.status}`);
      check(Number.isFinite(result.until), "until of a held claim is no time");
      const read = await readThread(context, id);
      same([read.head, read.snapshot ?? null, dataOf(read.events)], [1, null, ["a"]], "read after a held claim");
      same((await context.store.list(owner)).rows, [], "rows after a held claim");
      same((await context.store.lease(id, "B", LEASE_MS)).status, "lost", "renewal of B");
      same((await context.store.lease(id, "A", LEASE_MS)).status, "ok", "renewal of A");
    },
  },
  {
    name: "of two claims at once one wins",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const results = await Promise.all(
        ["A", "B"].map((driver) => context.store.append(id, { at: 1 }, batch(context, [driver], claim(driver)))),
      );
      same(results.filter(({ status }) => status === "ok").length, 1, "claims that won");
      const winner = results[0]?.status === "ok" ? "A" : "B";
      const loser = winner === "A" ? "B" : "A";
      same((await context.store.lease(id, winner, LEASE_MS)).status, "ok", "renewal of the winner");
      same((await context.store.lease(id, loser, LEASE_MS)).status, "lost", "renewal of the loser");
      same(await tryClaim(context, id, loser), "held", "the loser's next claim");
    },
  },
  {
    name: "a claim sent again after a lost reply is a conflict with its batch, also when another holds the lease by now",
    async run(context) {
      const id = context.newId();
      await write(context, id, 0, ["a"]);
      const append = batch(context, ["claim"], claim("A"));
      await context.store.append(id, { at: 1 }, append); // the reply is lost
      await context.advance(LEASE_MS + 100);
      same(await tryClaim(context, id, "B"), "ok", "claim of B after the lease of A");
      const again = await context.store.append(id, { at: 1 }, append);
      check(again.status === "conflict", `resent: expected conflict, got ${again.status}`);
      same(again.events[0]?.batch, append.batch, "first batch of the tail");
      same((await context.store.lease(id, "B", LEASE_MS)).status, "ok", "renewal of B");
    },
  },
  {
    name: "an append without a lease does not look at it",
    async run(context) {
      const id = await claimed(context, "A");
      await write(context, id, 1, ["b"]);
      same((await context.store.lease(id, "A", LEASE_MS)).status, "ok", "renewal after somebody else's append");
    },
  },
  {
    name: "renewing never claims",
    async run(context) {
      const id = context.newId();
      same((await context.store.lease(id, "A", LEASE_MS)).status, "lost", "renewal in an unknown thread");
      await write(context, id, 0, ["a"]);
      same((await context.store.lease(id, "A", LEASE_MS)).status, "lost", "renewal without a lease");
      same(await tryClaim(context, id, "B"), "ok", "claim of another after it");
    },
  },
  {
    name: "a renewal keeps the lease and brings head and control",
    async run(context) {
      const id = await claimed(context, "A");
      await write(context, id, 1, ["b", "~c"]);
      await context.advance(LEASE_MS * 0.6);
      same(await context.store.lease(id, "A", LEASE_MS), { status: "ok", head: 3, control: 2 }, "renewal");
      await context.advance(LEASE_MS * 0.6);
      same(await tryClaim(context, id, "B"), "held", "claim of B after 1.2 spans, one renewal between");
    },
  },
  {
    name: "the owner's own claim keeps the lease",
    async run(context) {
      const id = await claimed(context, "A");
      await context.advance(LEASE_MS * 0.6);
      same(await tryClaim(context, id, "A"), "ok", "second claim of A");
      await context.advance(LEASE_MS * 0.6);
      same(await tryClaim(context, id, "B"), "held", "claim of B");
    },
  },
  {
    name: "a lease ends by itself: anybody may claim, and its renewal is lost",
    async run(context) {
      const id = await claimed(context, "A");
      await context.advance(LEASE_MS + 100);
      same((await context.store.lease(id, "A", LEASE_MS)).status, "lost", "renewal of an expired lease");
      same(await tryClaim(context, id, "B"), "ok", "claim of B");
      same((await context.store.lease(id, "A", LEASE_MS)).status, "lost", "renewal of A after B's claim");
      same((await context.store.lease(id, "B", LEASE_MS)).status, "ok", "renewal of B");
      same(await tryClaim(context, id, "A"), "held", "claim of A");
    },
  },
  {
    name: "of a claim and a renewal after expiry at most one has the lease",
    async run(context) {
      const id = await claimed(context, "A");
      await context.advance(LEASE_MS + 100);
      const [claimOfB, renewalOfA] = await Promise.all([
        context.store.append(id, { at: 1 }, batch(context, ["b"], claim("B"))),
        context.store.lease(id, "A", LEASE_MS),
      ]);
      const won = [claimOfB.status === "ok", renewalOfA.status === "ok"];
      check(won.includes(true) && !(won[0] && won[1]), `claim ${claimOfB.status}, renewal ${renewalOfA.status}`);
    },
  },
  {
    name: "a release frees the lease at once, and only one's own",
    async run(context) {
      const id = await claimed(context, "A");
      await write(context, id, 1, ["b"], release("B"));
      same(await tryClaim(context, id, "B"), "held", "claim of B after releasing what it had not");
      await write(context, id, 2, ["c"], release("A"));
      same((await context.store.lease(id, "A", LEASE_MS)).status, "lost", "renewal after the release");
      same(await tryClaim(context, id, "B"), "ok", "claim of B after the release of A");
    },
  },
  {
    name: "a release that conflicts releases nothing",
    async run(context) {
      const id = await claimed(context, "A");
      await write(context, id, 1, ["b"]);
      same(
        (await context.store.append(id, { at: 1 }, batch(context, ["x"], release("A")))).status,
        "conflict",
        "append",
      );
      same(await tryClaim(context, id, "B"), "held", "claim of B");
    },
  },
];
