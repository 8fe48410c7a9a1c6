import { z } from "zod";

/**
 * What goes over the wire between the shop, the agent's tools and the orders table. Safe for edge code; the table
 * imports only the types. Money is cents, times are ISO 8601 in UTC.
 */

export const orderStatuses = ["paid", "partly-refunded", "refunded", "shipped", "cancelled", "returned"] as const;

const orderStatus = z.enum(orderStatuses);
const orderNumber = z.int().positive();
const cents = z.int().min(0).max(1_000_000_00);
const positiveCents = z.int().min(1).max(1_000_000_00);
const timestamp = z.iso.datetime();
const idempotencyKey = z.string().min(1).max(200);

/** One line of the list. */
const orderRow = z.object({
  number: orderNumber,
  customerName: z.string(),
  amountCents: cents,
  refundedCents: cents,
  currency: z.string(),
  status: orderStatus,
  placedAt: timestamp,
  archivedAt: timestamp.nullable(),
});

/** `total` counts all orders that match, not only those sent. */
export const orderList = z.object({ orders: z.array(orderRow), total: z.int() });

/** One order with everything about it. `refundableCents` is what was paid and not yet given back. */
export const orderDetail = orderRow.extend({
  items: z.string(),
  customer: z.object({ id: z.int(), name: z.string(), email: z.string(), city: z.string() }),
  payments: z.array(z.object({ id: z.int(), amountCents: cents, method: z.string(), paidAt: timestamp })),
  refunds: z.array(z.object({ id: z.int(), amountCents: cents, reason: z.string().nullable(), refundedAt: timestamp })),
  paidCents: cents,
  refundableCents: cents,
});

/** What a caller may ask of the list. {@link orderQuery} reads it back from the address. */
export interface OrderQuery {
  /** @defaultValue 20 */
  readonly limit?: number | undefined;
  readonly ids?: readonly number[] | undefined;
  readonly status?: readonly OrderStatus[] | undefined;
  /** An ISO date or time: what was placed earlier, oldest first. */
  readonly before?: string | undefined;
}

/** The query of the list: `ids` and `status` are comma-separated; `before` gives what was placed earlier, oldest first. */
export const orderQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(20),
  ids: commaList(z.coerce.number<string>().pipe(orderNumber)).optional(),
  status: commaList(orderStatus).optional(),
  before: z.union([z.iso.date(), z.iso.datetime({ offset: true })]).optional(),
});

export const refundInput = z.strictObject({
  amountCents: positiveCents,
  reason: z.string().trim().min(1).max(500).optional(),
  idempotencyKey,
});

export const archiveInput = z.strictObject({ idempotencyKey });

/** A row of a file to import. Without `placedAt` it was placed now. */
const importRow = z.strictObject({
  customerName: z.string().trim().min(1).max(120),
  email: z.email(),
  city: z.string().trim().min(1).max(120).default("Unknown"),
  items: z.string().trim().min(1).max(500),
  amountCents: positiveCents,
  status: z.enum(["paid", "shipped", "cancelled", "returned"]).default("paid"),
  placedAt: z.iso.datetime({ offset: true }).optional(),
});

export const importInput = z.strictObject({ rows: z.array(importRow).min(1).max(200), idempotencyKey });

/** `replayed`: this key was answered before; nothing was done again. */
const replayed = z.boolean();

export const refundResult = z.object({
  orderNumber,
  amountCents: cents,
  status: orderStatus,
  refundedCents: cents,
  refundableCents: cents,
  replayed,
});

export const archiveResult = z.object({ orderNumber, archivedAt: timestamp, replayed });

export const importResult = z.object({ imported: z.int(), numbers: z.array(orderNumber), replayed });

/** Every refusal, whatever its status. */
export const errorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  }),
});

export type OrderStatus = z.infer<typeof orderStatus>;
export type OrderRow = z.infer<typeof orderRow>;
export type OrderList = z.infer<typeof orderList>;
export type OrderDetail = z.infer<typeof orderDetail>;
export type RefundInput = z.infer<typeof refundInput>;
export type RefundResult = z.infer<typeof refundResult>;
export type ArchiveInput = z.infer<typeof archiveInput>;
export type ArchiveResult = z.infer<typeof archiveResult>;
export type ImportInput = z.input<typeof importInput>;
export type ImportResult = z.infer<typeof importResult>;

/** `1,2,3` → a list; an empty text is an empty list. */
function commaList<Item extends z.ZodType>(item: Item) {
  const split = (value: unknown) => (typeof value === "string" ? value.split(",").filter(Boolean) : value);
  return z.preprocess(split, z.array(item).max(200));
}
