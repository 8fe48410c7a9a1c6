import { setupLock } from "./schema.ts";
import { seedOrders } from "./seed-orders.ts";
import type { Database, Sql, SqlParam, Transaction } from "./sql.ts";

/** Fills an empty shop. A shop with an order in it stays as it is, so this may run at every start, on two servers. */
export async function seedOnce(database: Pick<Database, "transaction">, today: Date): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query("select pg_advisory_xact_lock($1::int)", [setupLock]);
    const present = await sql.query("select 1 from orders limit 1");
    if (present.length === 0) await insertSeed(sql, today);
  });
}

/** Puts the shop back to its first morning: orders, counters and remembered answers. Gives the number of orders. */
export async function reseed(transaction: Transaction, today: Date): Promise<number> {
  return transaction(async (sql) => {
    await sql.query("select pg_advisory_xact_lock($1::int)", [setupLock]);
    await sql.query("truncate customers, orders, payments, refunds, tool_counter, tool_results restart identity");
    return insertSeed(sql, today);
  });
}

async function insertSeed(sql: Sql, today: Date): Promise<number> {
  const { customers, orders } = seedOrders(today);
  const paidAt = (placedAt: Date) => new Date(placedAt.getTime() + 60_000);
  await insertRows(
    sql,
    "customers (id, name, email, city)",
    customers.map((customer) => [customer.id, customer.name, customer.email, customer.city]),
  );
  await insertRows(
    sql,
    "orders (number, customer_id, items, total_cents, status, placed_at)",
    orders.map((order) => [
      order.number,
      order.customerId,
      order.items,
      order.totalCents,
      order.status,
      order.placedAt,
    ]),
  );
  await insertRows(
    sql,
    "payments (order_number, amount_cents, method, paid_at)",
    orders.flatMap((order) =>
      order.paymentsCents.map((amount) => [order.number, amount, "card", paidAt(order.placedAt)]),
    ),
  );
  await insertRows(
    sql,
    "refunds (order_number, amount_cents, reason, refunded_at)",
    orders.flatMap((order) =>
      order.refund
        ? [[order.number, order.refund.amountCents, order.refund.reason, refundedAt(order.placedAt, today)]]
        : [],
    ),
  );
  // The seed names its own keys, which the sequences do not notice.
  await sql.query("select setval(pg_get_serial_sequence('customers', 'id'), (select max(id) from customers))");
  await sql.query("select setval(pg_get_serial_sequence('orders', 'number'), (select max(number) from orders))");
  return orders.length;
}

/** Six days after the order, or now: never in the future. */
function refundedAt(placedAt: Date, today: Date): Date {
  return new Date(Math.min(placedAt.getTime() + 6 * 24 * 3_600_000, today.getTime()));
}

async function insertRows(sql: Sql, target: string, rows: readonly (readonly SqlParam[])[]): Promise<void> {
  const params: SqlParam[] = [];
  const places = rows.map((row) => `(${row.map((value) => `$${params.push(value)}`).join(", ")})`);
  if (rows.length > 0) await sql.query(`insert into ${target} values ${places.join(", ")}`, params);
}
