import { tool } from "toolrun/server";
import { z } from "zod";
import * as shop from "./shop-client.ts";

const orderId = z.string().regex(/^\d+$/, "an order number").meta({ title: "Order" });

export const findOrder = tool({
  title: "Look up order",
  description: "Find one order by its number: customer, total, status and payments.",
  inputSchema: z.object({ orderId }),
  readOnly: true, // runs at once; everything else asks the person first
  summary: ({ orderId }) => `order ${orderId}`,
  async execute({ orderId }, { signal }) {
    const order = await shop.readOrder(Number(orderId), signal);
    return {
      orderId,
      customer: order.customer.name,
      total: order.amountCents / 100,
      status: order.status,
      payments: order.payments.length,
    };
  },
});

export const refundOrder = tool({
  title: "Refund order",
  description: "Give back part or all of what was paid for an order, in EUR.",
  inputSchema: z.object({
    orderId,
    amount: z.number().positive().max(10_000).meta({ title: "Amount (EUR)" }),
    reason: z.string().max(200).optional().meta({ title: "Reason" }),
  }),
  summary: ({ orderId, amount }) => `${amount.toFixed(2)} EUR of order ${orderId}`,
  approval: { ask: { reason: "Moves money", editable: ["amount", "reason"] } },
  idempotent: true, // the shop keeps the key: the same refund is paid once
  async execute({ orderId, amount, reason }, { signal, idempotencyKey, progress }) {
    progress({ value: 1, max: 3, label: "Checking payments" });
    await shop.readOrder(Number(orderId), signal);
    progress({ value: 2, max: 3, label: "Refunding" });
    const body = { amountCents: Math.round(amount * 100), reason, idempotencyKey };
    const result = await shop.refundOrder(Number(orderId), body, signal);
    return { orderId, refunded: result.amountCents / 100, status: result.status };
  },
});

export const listOrders = tool({
  title: "List orders",
  description: "List orders that are older than a number of days, oldest first.",
  inputSchema: z.object({ olderThanDays: z.int().min(0).max(5_000).default(0) }),
  readOnly: true,
  async execute({ olderThanDays }, { signal }) {
    const before = new Date(Date.now() - olderThanDays * 86_400_000).toISOString();
    const { orders } = await shop.listOrders({ before, limit: 10 }, signal);
    return {
      orders: orders.map((order) => ({
        orderId: String(order.number),
        customer: order.customerName,
        total: order.amountCents / 100,
        status: order.status,
      })),
    };
  },
});

export const archiveOrder = tool({
  title: "Archive order",
  description: "Take an old order out of the list for good.",
  inputSchema: z.object({ orderId }),
  destructive: true,
  idempotent: true,
  summary: ({ orderId }) => `order ${orderId}`,
  async execute({ orderId }, { signal, idempotencyKey }) {
    await shop.archiveOrder(Number(orderId), { idempotencyKey }, signal);
    return { orderId, archived: true };
  },
});

const CHUNK = 10;

export const importOrders = tool({
  title: "Import orders",
  description: "Import orders from the warehouse's file.",
  inputSchema: z.object({ count: z.int().min(1).max(1_000).meta({ title: "How many" }) }),
  summary: ({ count }) => `${count} orders`,
  approval: { ask: { reason: "Writes to the orders table", editable: true } },
  timeoutMs: 120_000,
  idempotent: true,
  async execute({ count }, { signal, idempotencyKey, progress, log }) {
    for (let from = 0; from < count; from += CHUNK) {
      const size = Math.min(CHUNK, count - from);
      const rows = Array.from({ length: size }, (_, index) => importedRow(from + index));
      await shop.importOrders({ rows, idempotencyKey: `${idempotencyKey}:${from}` }, signal);
      progress({ value: from + size, max: count, label: `${from + size} of ${count}` });
      log(`Rows ${from + 1} to ${from + size} written`);
    }
    return { imported: count };
  },
});

/** The same rows at every try, and old ones: an import never pushes today's orders out of sight. */
function importedRow(index: number) {
  const placedAt = new Date(Date.UTC(2025, 0, 31) - index * 3_600_000).toISOString();
  const email = `warehouse-${index}@shop.example`;
  return {
    customerName: "Warehouse",
    email,
    city: "Hamburg",
    items: "Spare parts",
    amountCents: 1_990 + index,
    placedAt,
  };
}
