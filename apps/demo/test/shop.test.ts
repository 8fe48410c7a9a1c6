import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DatabaseInUseError, inMemory, openPglite } from "../lib/open-pglite.ts";
import { openPostgres } from "../lib/open-postgres.ts";
import { LockHeldError, takePidLock } from "../lib/pid-lock.ts";
import { createTables } from "../lib/schema.ts";
import { seedOnce } from "../lib/seed.ts";
import { seedOrders } from "../lib/seed-orders.ts";
import { createShop, type Shop } from "../lib/shop.ts";
import type { Database } from "../lib/sql.ts";

/** A real Postgres, where locks are really contended for, when one is named; else the embedded one. */
const postgresUrl = process.env.TEST_DATABASE_URL;

let database: Database;
let shop: Shop;

beforeAll(async () => {
  database = postgresUrl ? await openPostgres(postgresUrl) : await openPglite(inMemory);
  await createTables(database);
  shop = createShop(database);
}, 60_000);

beforeEach(async () => {
  await shop.reset();
});

afterAll(async () => {
  await database.close();
});

describe("the seed", () => {
  test("has 220 orders, and order 1042 is Mia Chen's, paid and charged twice", async () => {
    expect(await shop.list({ limit: 1 })).toMatchObject({ total: 220 });
    const order = await shop.read(1042);
    expect(order).toMatchObject({ status: "paid", amountCents: 4990, currency: "EUR", refundedCents: 0 });
    expect(order.customer).toMatchObject({ name: "Mia Chen", email: "mia.chen@example.com" });
    expect(order.payments.map((payment) => payment.amountCents)).toEqual([4990, 4990]);
    expect(order).toMatchObject({ paidCents: 9980, refundableCents: 9980 });
  });

  test("shows 1042 among the first six, newest first, with every first row of another kind", async () => {
    const { orders } = await shop.list({ limit: 6 });
    expect(orders.map((order) => order.number)).toEqual([1044, 1043, 1042, 1041, 1040, 1039]);
    expect(orders.map((order) => order.status)).toEqual([
      "paid",
      "shipped",
      "paid",
      "returned",
      "shipped",
      "cancelled",
    ]);
  });

  test("is the same every time and has whole, plausible rows", () => {
    const today = new Date("2026-11-30T10:00:00Z");
    const { customers, orders } = seedOrders(today);
    expect(seedOrders(today)).toEqual({ customers, orders });
    expect(new Set(orders.map((order) => order.status)).size).toBe(6);
    expect(new Set(customers.map((customer) => customer.email)).size).toBe(customers.length);
    for (const order of orders) {
      expect(order.placedAt.getTime()).toBeLessThan(today.getTime());
      expect(order.totalCents).toBeGreaterThan(0);
      if (order.refund) expect(order.refund.amountCents).toBeLessThanOrEqual(order.totalCents);
      expect(order.paymentsCents.length === 0).toBe(order.status === "cancelled");
    }
  });

  test("has exactly eight orders older than a year", async () => {
    const aYearAgo = new Date(Date.now() - 365 * 24 * 3_600_000).toISOString();
    const { orders } = await shop.list({ limit: 50, before: aYearAgo });
    expect(orders.map((order) => order.number)).toEqual([825, 826, 827, 828, 829, 830, 831, 832]);
  });

  test("is not sown twice", async () => {
    await seedOnce(database, new Date());
    await Promise.all([seedOnce(database, new Date()), seedOnce(database, new Date())]);
    expect((await shop.list({ limit: 1 })).total).toBe(220);
  });
});

describe("a refund", () => {
  test("changes the order once", async () => {
    const result = await shop.refund(1042, { amountCents: 2000, reason: "charged twice", idempotencyKey: "a" });
    expect(result).toEqual({
      orderNumber: 1042,
      amountCents: 2000,
      status: "partly-refunded",
      refundedCents: 2000,
      refundableCents: 7980,
      replayed: false,
    });
    expect(await shop.read(1042)).toMatchObject({
      status: "partly-refunded",
      refundedCents: 2000,
      refunds: [{ amountCents: 2000, reason: "charged twice" }],
    });
    expect(await shop.count("refundOrder", "1042")).toBe(1);
  });

  test("with a key that was seen replays its answer, and is counted", async () => {
    const first = await shop.refund(1042, { amountCents: 2000, idempotencyKey: "a" });
    const second = await shop.refund(1042, { amountCents: 2000, idempotencyKey: "a" });
    expect(second).toEqual({ ...first, replayed: true });
    expect((await shop.read(1042)).refundedCents).toBe(2000);
    expect(await shop.count("refundOrder", "1042")).toBe(2);
  });

  test("with a key of another request is refused", async () => {
    await shop.refund(1042, { amountCents: 2000, idempotencyKey: "a" });
    const other = shop.refund(1042, { amountCents: 2001, idempotencyKey: "a" });
    await expect(other).rejects.toMatchObject({ code: "key-reused" });
  });

  test("of more than is left is refused, changes nothing and frees its key", async () => {
    const tooMuch = shop.refund(1042, { amountCents: 9981, idempotencyKey: "a" });
    await expect(tooMuch).rejects.toMatchObject({
      code: "not-refundable",
      message: "Only 99.80 € can still be refunded on order 1042; 99.81 € was asked for. Nothing was refunded.",
    });
    expect(await shop.read(1042)).toMatchObject({ status: "paid", refundedCents: 0 });
    expect(await shop.refund(1042, { amountCents: 9980, idempotencyKey: "a" })).toMatchObject({ status: "refunded" });
    const again = shop.refund(1042, { amountCents: 1, idempotencyKey: "b" });
    await expect(again).rejects.toThrow("Nothing is left to refund on order 1042");
    expect(await shop.count("refundOrder", "1042")).toBe(3);
  });

  test("of an order that was never charged, or does not exist, is refused", async () => {
    const cancelled = shop.refund(1039, { amountCents: 100, idempotencyKey: "a" });
    await expect(cancelled).rejects.toMatchObject({ code: "not-refundable" });
    const unknown = shop.refund(9999, { amountCents: 100, idempotencyKey: "b" });
    await expect(unknown).rejects.toMatchObject({ code: "unknown-order", message: "There is no order 9999." });
  });

  test("twenty at once never give back more than was paid", async () => {
    const settled = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        shop.refund(1042, { amountCents: 3000, idempotencyKey: `parallel-${index}` }),
      ),
    );
    expect(settled.filter((one) => one.status === "fulfilled")).toHaveLength(3);
    expect(await shop.read(1042)).toMatchObject({ refundedCents: 9000, refundableCents: 980 });
  });

  test("twenty at once with one key are one refund", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => shop.refund(1042, { amountCents: 2000, idempotencyKey: "one" })),
    );
    expect(answers.filter((answer) => !answer.replayed)).toHaveLength(1);
    expect((await shop.read(1042)).refundedCents).toBe(2000);
    expect(await shop.count("refundOrder", "1042")).toBe(20);
  });
});

describe("an archived order", () => {
  test("leaves the list, keeps its first date and can still be read", async () => {
    const first = await shop.archive(825, { idempotencyKey: "a" });
    expect(await shop.archive(825, { idempotencyKey: "a" })).toEqual({ ...first, replayed: true });
    expect((await shop.archive(825, { idempotencyKey: "b" })).archivedAt).toBe(first.archivedAt);
    expect((await shop.list({ limit: 1 })).total).toBe(219);
    expect((await shop.list({ limit: 1, ids: [825] })).orders[0]?.archivedAt).toBe(first.archivedAt);
    expect(await shop.count("archiveOrder", "825")).toBe(3);
  });
});

describe("an import", () => {
  const row = { customerName: "Ada Berg", email: "ada@example.com", city: "Oslo", items: "1 × Carafe" } as const;
  const rows = [
    { ...row, amountCents: 2750, status: "paid" as const },
    { ...row, amountCents: 5500, status: "shipped" as const, placedAt: "2026-01-02T03:04:05Z" },
  ];

  test("adds its rows once, under new numbers", async () => {
    const first = await shop.import({ rows, idempotencyKey: "chunk-1" });
    expect(first).toEqual({ imported: 2, numbers: [1045, 1046], replayed: false });
    expect(await shop.import({ rows, idempotencyKey: "chunk-1" })).toEqual({ ...first, replayed: true });
    expect((await shop.list({ limit: 1 })).total).toBe(222);
    expect(await shop.read(1046)).toMatchObject({
      customer: { name: "Ada Berg", city: "Oslo" },
      placedAt: "2026-01-02T03:04:05.000Z",
      refundableCents: 5500,
    });
    expect(await shop.count("importOrders", null)).toBe(2);
  });
});

describe("the list", () => {
  test("filters by status and by number", async () => {
    const returned = await shop.list({ limit: 500, status: ["returned", "refunded"] });
    expect(returned.total).toBe(returned.orders.length);
    expect(new Set(returned.orders.map((order) => order.status))).toEqual(new Set(["returned", "refunded"]));
    const named = await shop.list({ limit: 20, ids: [900, 1042, 99_999] });
    expect(named.orders.map((order) => order.number)).toEqual([1042, 900]);
    expect(await shop.list({ limit: 20, ids: [] })).toEqual({ orders: [], total: 0 });
  });
});

describe("the lock of a directory", () => {
  const folder = mkdtempSync(join(tmpdir(), "shop-lock-"));
  const path = join(folder, "data.lock");
  const write = (owner: object) => writeFileSync(path, JSON.stringify({ born: null, token: "theirs", ...owner }));
  const holder = () => JSON.parse(readFileSync(path, "utf8")).token;

  beforeEach(() => rmSync(path, { force: true }));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("is refused while its process lives, and the error says whom to stop", async () => {
    write({ pid: process.ppid });
    await expect(takePidLock(path, { waitMs: 0 })).rejects.toBeInstanceOf(LockHeldError);
    expect(holder()).toBe("theirs");
    await expect(openPglite(join(folder, "data"), { waitMs: 0 })).rejects.toThrow(
      `Stop that process (kill ${process.ppid}), or set PGLITE_DIR to another directory`,
    );
  });

  test("is taken over from a process that is gone", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    await once(child, "exit");
    write({ pid: child.pid });
    const lock = await takePidLock(path, { waitMs: 0 });
    expect(holder()).not.toBe("theirs");
    lock.release();
    expect(() => holder()).toThrow("ENOENT");
  });

  test("is taken over while waiting, when its process ends", async () => {
    const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"]);
    write({ pid: child.pid });
    const taken = takePidLock(path, { waitMs: 20_000 });
    child.kill("SIGKILL");
    (await taken).release();
  });

  test.runIf(process.platform === "linux")("is taken over when its pid was given to another process", async () => {
    write({ pid: process.ppid, born: "1" });
    (await takePidLock(path, { waitMs: 0 })).release();
  });

  test("goes to one only, when many find it free or stale at once", async () => {
    write({ pid: 2 ** 30 });
    const settled = await Promise.allSettled(Array.from({ length: 8 }, () => takePidLock(path, { waitMs: 300 })));
    const taken = settled.filter((one) => one.status === "fulfilled");
    expect(taken).toHaveLength(1);
    await expect(takePidLock(path, { waitMs: 0 })).rejects.toBeInstanceOf(LockHeldError);
    taken[0]?.value.release();
  });

  test("is not needed for a file that nobody finished", async () => {
    writeFileSync(path, "{");
    (await takePidLock(path, { waitMs: 0 })).release();
  });
});

describe("a directory", () => {
  const folder = mkdtempSync(join(tmpdir(), "shop-data-"));
  const directory = join(folder, "data");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("that a killed server left half-made is made anew, and then keeps its rows", { timeout: 60_000 }, async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, "PG_VERSION"), "");
    writeFileSync(`${directory}.making`, "");
    const first = await openPglite(directory);
    await expect(openPglite(directory, { waitMs: 0 })).rejects.toBeInstanceOf(DatabaseInUseError);
    await first.script("create table kept (value integer); insert into kept values (7);");
    await expect(first.script("create table lost (value integer); select 1 / 0;")).rejects.toThrow("division by zero");
    await first.close();
    await expect(first.query("select 1")).rejects.toThrow("has stopped");

    const second = await openPglite(directory);
    expect(await second.query("select value, to_regclass('lost') as lost from kept")).toEqual([
      { value: 7, lost: null },
    ]);
    await second.close();
    expect(readdirSync(folder)).toEqual(["data"]);
  });
});

describe("the route", () => {
  const base = "http://localhost/api/shop";
  const body = JSON.stringify({ amountCents: 2000, idempotencyKey: "route" });
  const post = (path: string, authorization: string | undefined, text = body) =>
    new Request(`${base}/${path}`, { method: "POST", body: text, headers: authorization ? { authorization } : {} });

  async function open() {
    process.env.SHOP_TOKEN = "secret";
    process.env.PGLITE_DIR = inMemory;
    return import("../app/api/shop/[...shop]/route.ts");
  }

  test("answers 404 to a write without the token, whatever is asked", { timeout: 60_000 }, async () => {
    const { GET, POST } = await open();
    for (const authorization of [undefined, "Bearer ", "Bearer wrong", "secret", "Basic secret"]) {
      for (const path of ["orders/1042/refund", "orders/1042/archive", "orders/9999/refund", "import", "reset"]) {
        const response = await POST(post(path, authorization));
        expect(response.status).toBe(404);
        expect(await response.json()).toEqual({ error: { code: "not-found", message: "Not found." } });
      }
    }
    const order = await (await GET(new Request(`${base}/orders/1042`))).json();
    expect(order).toMatchObject({ status: "paid", refundedCents: 0 });
    const counter = await GET(new Request(`${base}/counter?tool=refundOrder&subject=1042`));
    expect(await counter.json()).toEqual({ count: 0 });
  });

  test("answers 404 to every write while no token is set", async () => {
    const { POST } = await open();
    process.env.SHOP_TOKEN = "";
    expect((await POST(post("reset", "Bearer "))).status).toBe(404);
  });

  test("does what the token's holder asks, and says what is wrong", { timeout: 60_000 }, async () => {
    const { GET, POST } = await open();
    const token = "Bearer secret";
    expect(await (await POST(post("orders/1042/refund", token))).json()).toMatchObject({ refundedCents: 2000 });
    const unknown = JSON.stringify({ amountCents: 1, idempotencyKey: "unknown" });
    expect((await POST(post("orders/9999/refund", token, unknown))).status).toBe(404);
    const greedy = JSON.stringify({ amountCents: 7981, idempotencyKey: "greedy" });
    expect((await POST(post("orders/1042/refund", token, greedy))).status).toBe(409);
    const reused = JSON.stringify({ amountCents: 1, idempotencyKey: "route" });
    expect((await POST(post("orders/1042/refund", token, reused))).status).toBe(422);
    const wrong = await POST(post("orders/1042/refund", token, JSON.stringify({ amountCents: 1.5, extra: 1 })));
    expect(wrong.status).toBe(400);
    const { error } = await wrong.json();
    expect(error.issues.map((issue: { path: string }) => issue.path)).toEqual(["amountCents", "idempotencyKey", ""]);
    expect((await POST(post("orders/1042/refund", token, "no JSON"))).status).toBe(400);
    expect((await GET(new Request(`${base}/orders?limit=0`))).status).toBe(400);
    expect((await GET(new Request(`${base}/orders/0`))).status).toBe(404);
    expect((await GET(new Request(`${base}/nothing`))).status).toBe(404);
    expect(await (await POST(post("reset", token))).json()).toEqual({ orders: 220 });
    expect(await (await GET(new Request(`${base}/orders/1042`))).json()).toMatchObject({ status: "paid" });
  });
});
