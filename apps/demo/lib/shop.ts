import { z } from "zod";
import { formatEuro } from "./format-euro.ts";
import { listOrders, readOrder, unknownOrder } from "./read-orders.ts";
import { reseed } from "./seed.ts";
import { ShopError } from "./shop-error.ts";
import {
  type ArchiveInput,
  type ArchiveResult,
  archiveResult,
  type ImportResult,
  type importInput,
  importResult,
  type OrderDetail,
  type OrderList,
  type OrderStatus,
  type orderQuery,
  type RefundInput,
  type RefundResult,
  refundResult,
} from "./shop-schemas.ts";
import type { Database, Sql } from "./sql.ts";
import { countCall, readCount, writeOnce } from "./write-once.ts";

/** The shop's back office: what the API route offers over HTTP and tests call directly. Inputs are already parsed. */
export interface Shop {
  list(options: z.output<typeof orderQuery>): Promise<OrderList>;
  /** @throws ShopError `unknown-order` */
  read(number: number): Promise<OrderDetail>;
  /** Gives money back. @throws ShopError `unknown-order`, `not-refundable`, `key-reused` */
  refund(number: number, input: RefundInput): Promise<RefundResult>;
  /** Takes an order off the list. An archived one keeps its date. @throws ShopError `unknown-order`, `key-reused` */
  archive(number: number, input: ArchiveInput): Promise<ArchiveResult>;
  /** Adds orders one by one, all or none of them. @throws ShopError `key-reused` */
  import(input: z.output<typeof importInput>): Promise<ImportResult>;
  /** How often a tool arrived here, replays and refusals included. */
  count(tool: string, subject: string | null): Promise<number>;
  /** Back to the first morning. */
  reset(): Promise<number>;
}

export function createShop(database: Pick<Database, "query" | "transaction">): Shop {
  const { transaction } = database;
  return {
    list: (options) => listOrders(database, options),
    read: (number) => readOrder(database, number),
    count: (tool, subject) => readCount(database, tool, subject),
    reset: () => reseed(transaction, new Date()),

    async refund(number, { idempotencyKey: key, ...input }) {
      const write = { tool: "refundOrder", subject: String(number), key, input };
      await countCall(database, write);
      const schema = refundResult.omit({ replayed: true });
      return writeOnce(transaction, { ...write, schema, work: (sql) => refundIn(sql, number, input) });
    },

    async archive(number, { idempotencyKey: key }) {
      const write = { tool: "archiveOrder", subject: String(number), key, input: {} };
      await countCall(database, write);
      const schema = archiveResult.omit({ replayed: true });
      return writeOnce(transaction, { ...write, schema, work: (sql) => archiveIn(sql, number) });
    },

    async import({ idempotencyKey: key, rows }) {
      const write = { tool: "importOrders", subject: key, key, input: rows };
      await countCall(database, write);
      const schema = importResult.omit({ replayed: true });
      return writeOnce(transaction, { ...write, schema, work: (sql) => importIn(sql, rows) });
    },
  };
}

async function refundIn(sql: Sql, number: number, input: Omit<RefundInput, "idempotencyKey">) {
  // The row lock comes before the sums: two refunds of one order are judged one after the other.
  await lockOrder(sql, number);
  const before = await readOrder(sql, number);
  if (input.amountCents > before.refundableCents) throw tooMuch(before, input.amountCents);
  const refundableCents = before.refundableCents - input.amountCents;
  const status: OrderStatus = refundableCents === 0 ? "refunded" : "partly-refunded";
  await sql.query(
    "insert into refunds (order_number, amount_cents, reason, refunded_at) values ($1::int, $2::int, $3, $4)",
    [number, input.amountCents, input.reason ?? null, new Date()],
  );
  await sql.query("update orders set status = $2 where number = $1::int", [number, status]);
  const refundedCents = before.refundedCents + input.amountCents;
  return { orderNumber: number, amountCents: input.amountCents, status, refundedCents, refundableCents };
}

function tooMuch(order: OrderDetail, amountCents: number): ShopError {
  const left =
    order.refundableCents === 0
      ? `Nothing is left to refund on order ${order.number}`
      : `Only ${formatEuro(order.refundableCents)} can still be refunded on order ${order.number}`;
  return new ShopError("not-refundable", `${left}; ${formatEuro(amountCents)} was asked for. Nothing was refunded.`);
}

async function archiveIn(sql: Sql, number: number) {
  await lockOrder(sql, number);
  const rows = await sql.query(
    "update orders set archived_at = coalesce(archived_at, $2) where number = $1::int returning archived_at",
    [number, new Date()],
  );
  const { archived_at } = z.object({ archived_at: z.date() }).parse(rows[0]);
  return { orderNumber: number, archivedAt: archived_at.toISOString() };
}

async function importIn(sql: Sql, rows: z.output<typeof importInput>["rows"]) {
  const numbers: number[] = [];
  for (const row of rows) {
    const placedAt = row.placedAt ? new Date(row.placedAt) : new Date();
    const [inserted] = await sql.query(
      `with customer as (
        insert into customers (name, email, city) values ($1, $2, $3)
        on conflict (email) do update set name = customers.name returning id
      )
      insert into orders (customer_id, items, total_cents, status, placed_at)
      select id, $4::text, $5::int, $6::text, $7::timestamptz from customer returning number`,
      [row.customerName, row.email, row.city, row.items, row.amountCents, row.status, placedAt],
    );
    const { number } = z.object({ number: z.int() }).parse(inserted);
    numbers.push(number);
    if (row.status === "cancelled") continue;
    await sql.query(
      "insert into payments (order_number, amount_cents, method, paid_at) values ($1::int, $2::int, 'card', $3)",
      [number, row.amountCents, placedAt],
    );
  }
  return { imported: numbers.length, numbers };
}

async function lockOrder(sql: Sql, number: number): Promise<void> {
  const locked = await sql.query("select number from orders where number = $1::int for update", [number]);
  if (locked.length === 0) throw unknownOrder(number);
}
