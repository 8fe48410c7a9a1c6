"use client";

import { type ReactNode, useEffect, useRef, useState } from "react";
import useSWR from "swr";
import { formatEuro } from "../../lib/format-euro.ts";
import type { OrderList, OrderRow } from "../../lib/shop-schemas.ts";
import { OrderStatusLabel } from "./order-status-label.tsx";
import styles from "./orders-table.module.css";

export interface OrdersTableProps {
  /** The order the assistant is talking about: its row gets a thin outline, and joins the table if it is not in it. */
  readonly highlight?: number | undefined;
  /** How many of the newest orders to show. @defaultValue 6 */
  readonly limit?: number | undefined;
}

/**
 * The newest orders, live. A row that changed flashes and keeps a mark, so that one sees what the assistant did.
 * Dispatch `shop:changed` on the window to have it look at once.
 */
export function OrdersTable({ highlight, limit = 6 }: OrdersTableProps): ReactNode {
  const { orders, total, failed, changes } = useLiveOrders(limit, highlight);
  return (
    <section className={styles.card} aria-labelledby="orders-heading">
      <header className={styles.header}>
        <h2 className={styles.heading} id="orders-heading">
          Orders
        </h2>
        {total === undefined ? null : <span className={styles.count}>{total} in all</span>}
      </header>
      <table className={styles.table} aria-labelledby="orders-heading" aria-busy={orders === undefined}>
        <thead>
          <tr>
            <th scope="col">Order</th>
            <th scope="col">Customer</th>
            <th scope="col" className={styles.amount}>
              Amount
            </th>
            <th scope="col" className={styles.statusCell}>
              Status
            </th>
          </tr>
        </thead>
        <tbody>
          {orders?.map((order) => (
            <Row
              key={order.number}
              order={order}
              highlit={order.number === highlight}
              changes={changes[order.number]}
            />
          )) ?? <SkeletonRows count={limit} />}
        </tbody>
      </table>
      <p className={styles.note} role="status">
        {failed ? <span className={styles.failure}>The orders could not be loaded. Trying again…</span> : null}
        {!failed && orders === undefined ? <span className={styles.hidden}>Loading the orders…</span> : null}
      </p>
    </section>
  );
}

interface RowProps {
  readonly order: OrderRow;
  readonly highlit: boolean;
  /** How often this row changed since the page was opened. */
  readonly changes: number | undefined;
}

function Row({ order, highlit, changes = 0 }: RowProps): ReactNode {
  return (
    // The data attribute's value alternates, so that a second change starts the animation again.
    <tr
      className={styles.row}
      data-order={order.number}
      data-highlight={highlit || undefined}
      data-changed={changes === 0 ? undefined : changes % 2 === 0 ? "even" : "odd"}
    >
      <th scope="row" className={styles.number}>
        {order.number}
        {changes > 0 ? (
          <span className={styles.mark} title="Changed since you opened this page">
            <span className={styles.hidden}>, changed</span>
          </span>
        ) : null}
      </th>
      <td className={styles.customer}>{order.customerName}</td>
      <td className={styles.amount}>{formatEuro(order.amountCents)}</td>
      <td className={styles.statusCell}>
        <OrderStatusLabel status={order.status} refundedCents={order.refundedCents} />
      </td>
    </tr>
  );
}

const cellClass = {
  number: styles.number,
  customer: styles.customer,
  amount: styles.amount,
  status: styles.statusCell,
};

function SkeletonRows({ count }: { readonly count: number }): ReactNode {
  return Array.from({ length: count }, (_, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: placeholders are all alike and never move.
    <tr key={index} className={styles.row}>
      {(["number", "customer", "amount", "status"] as const).map((column) => (
        <td key={column} className={cellClass[column]}>
          <span className={styles.bone} data-column={column} />
        </td>
      ))}
    </tr>
  ));
}

interface LiveOrders {
  readonly orders: readonly OrderRow[] | undefined;
  readonly total: number | undefined;
  readonly failed: boolean;
  readonly changes: Readonly<Record<number, number>>;
}

function useLiveOrders(limit: number, highlight: number | undefined): LiveOrders {
  const [changes, setChanges] = useState<Readonly<Record<number, number>>>({});
  const seen = useRef(new Map<number, string>());

  // Compared as answers arrive, not as rows render: what was already there when the page opened is not a change.
  const note = ({ orders }: OrderList): void => {
    const changed = orders.filter((order) => isChange(seen.current, order));
    for (const order of orders) seen.current.set(order.number, fingerprint(order));
    if (changed.length === 0) return;
    setChanges((before) => ({
      ...before,
      ...Object.fromEntries(changed.map((order) => [order.number, (before[order.number] ?? 0) + 1])),
    }));
  };

  // A deduping interval as long as the refresh interval, SWR's default, would swallow every second look.
  const options = {
    refreshInterval: 2_000,
    dedupingInterval: 500,
    errorRetryInterval: 1_000, // after an error SWR's polling rests, and its own pause would be up to 15 s
    keepPreviousData: true,
    onSuccess: note,
  };
  const list = useSWR(`/api/shop/orders?limit=${limit}`, fetchOrders, options);
  const missing = highlight !== undefined && list.data && !list.data.orders.some((order) => order.number === highlight);
  const extra = useSWR(missing ? `/api/shop/orders?ids=${highlight}` : null, fetchOrders, options);

  const refresh = useRef(() => {});
  useEffect(() => {
    refresh.current = () => {
      void list.mutate();
      if (missing) void extra.mutate();
    };
  });
  useEffect(() => {
    const look = (): void => refresh.current();
    window.addEventListener("shop:changed", look);
    return () => window.removeEventListener("shop:changed", look);
  }, []);

  return {
    orders: list.data && [...list.data.orders, ...((missing && extra.data?.orders) || [])],
    total: list.data?.total,
    failed: list.error !== undefined,
    changes,
  };
}

/** A known order that looks different, or a new one with a higher number than any seen: not one that scrolled into view. */
function isChange(seen: ReadonlyMap<number, string>, order: OrderRow): boolean {
  if (seen.size === 0) return false;
  const before = seen.get(order.number);
  return before === undefined ? order.number > Math.max(...seen.keys()) : before !== fingerprint(order);
}

function fingerprint(order: OrderRow): string {
  return [order.status, order.amountCents, order.refundedCents, order.archivedAt].join("|");
}

async function fetchOrders(url: string): Promise<OrderList> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The shop answered ${response.status}.`);
  return response.json(); // As it comes: our own route, deployed with this file: parsing it here would cost the page all of zod.
}
