import { z } from "zod";
import { ShopError } from "./shop-error.ts";
import { type OrderDetail, type OrderList, type orderQuery, orderStatuses } from "./shop-schemas.ts";
import type { Sql } from "./sql.ts";

/** Drivers give a Date for a timestamp; JSON wants text. */
const timestamp = z.date().transform((date) => date.toISOString());

const listedRow = z
  .object({
    number: z.int(),
    customer_name: z.string(),
    total_cents: z.int(),
    refunded_cents: z.int(),
    currency: z.string(),
    status: z.enum(orderStatuses),
    placed_at: timestamp,
    archived_at: timestamp.nullable(),
  })
  .transform((row) => ({
    number: row.number,
    customerName: row.customer_name,
    amountCents: row.total_cents,
    refundedCents: row.refunded_cents,
    currency: row.currency,
    status: row.status,
    placedAt: row.placed_at,
    archivedAt: row.archived_at,
  }));

const listed = `
  select o.number, c.name as customer_name, o.total_cents, o.currency, o.status, o.placed_at, o.archived_at,
    (select coalesce(sum(amount_cents), 0)::int from refunds where order_number = o.number) as refunded_cents,
    o.items, o.customer_id, c.email, c.city, (count(*) over ())::int as total
  from orders o join customers c on c.id = o.customer_id`;

/** Orders, newest first; with `before` the oldest first. Archived ones show only when asked for by number. */
export async function listOrders(sql: Sql, options: z.output<typeof orderQuery>): Promise<OrderList> {
  const direction = options.before ? "asc" : "desc";
  const rows = await sql.query(
    `${listed}
    where ($1::text is null or o.number = any (string_to_array($1, ',')::int[]))
      and ($2::text is null or o.status = any (string_to_array($2, ',')))
      and ($3::text is null or o.placed_at < $3::text::timestamptz)
      and ($1::text is not null or o.archived_at is null)
    order by o.placed_at ${direction}, o.number ${direction}
    limit $4::int`,
    [options.ids?.join(",") ?? null, options.status?.join(",") ?? null, options.before ?? null, options.limit],
  );
  return { orders: z.array(listedRow).parse(rows), total: totalRow.parse(rows[0] ?? { total: 0 }).total };
}

const totalRow = z.object({ total: z.int() });

/** One order with its customer, payments and refunds. @throws ShopError `unknown-order` */
export async function readOrder(sql: Sql, number: number): Promise<OrderDetail> {
  const [row] = await sql.query(`${listed} where o.number = $1::int`, [number]);
  if (!row) throw unknownOrder(number);
  const payments = await sql.query(
    "select id, amount_cents, method, paid_at from payments where order_number = $1::int order by id",
    [number],
  );
  const refunds = await sql.query(
    "select id, amount_cents, reason, refunded_at from refunds where order_number = $1::int order by id",
    [number],
  );
  const { items, ...customer } = detailRow.parse(row);
  const order = { ...listedRow.parse(row), items, payments: z.array(paymentRow).parse(payments) };
  const paidCents = order.payments.reduce((sum, payment) => sum + payment.amountCents, 0);
  return {
    ...order,
    customer: { id: customer.customer_id, name: order.customerName, email: customer.email, city: customer.city },
    refunds: z.array(refundRow).parse(refunds),
    paidCents,
    refundableCents: paidCents - order.refundedCents,
  };
}

/** The same words wherever an order is missing. */
export function unknownOrder(number: number | string): ShopError {
  return new ShopError("unknown-order", `There is no order ${number}.`);
}

const detailRow = z.object({ items: z.string(), customer_id: z.int(), email: z.string(), city: z.string() });

const paymentRow = z
  .object({ id: z.int(), amount_cents: z.int(), method: z.string(), paid_at: timestamp })
  .transform((row) => ({ id: row.id, amountCents: row.amount_cents, method: row.method, paidAt: row.paid_at }));

const refundRow = z
  .object({ id: z.int(), amount_cents: z.int(), reason: z.string().nullable(), refunded_at: timestamp })
  .transform((row) => ({
    id: row.id,
    amountCents: row.amount_cents,
    reason: row.reason,
    refundedAt: row.refunded_at,
  }));
