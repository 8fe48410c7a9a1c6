import type { ReactNode } from "react";
import { formatEuro } from "../../lib/format-euro.ts";
import type { OrderStatus } from "../../lib/shop-schemas.ts";
import styles from "./orders-table.module.css";

interface Look {
  readonly word: string;
  readonly tone: "ok" | "accent" | "warn" | "danger" | "muted";
  /** An outline in a 16 × 16 box. Each status has its own, because colour alone tells some people nothing. */
  readonly icon: string;
}

const looks: Readonly<Record<OrderStatus, Look>> = {
  paid: { word: "Paid", tone: "ok", icon: "M2 8a6 6 0 1 0 12 0A6 6 0 1 0 2 8M5.2 8.2l2 2 3.6-4.1" },
  shipped: {
    word: "Shipped",
    tone: "accent",
    icon: "M1.5 4h8v7h-8zM9.5 6.5H12l2.5 2.5v2h-5M4.5 11a1.4 1.4 0 1 0 .01 0M11.5 11a1.4 1.4 0 1 0 .01 0",
  },
  "partly-refunded": { word: "Partly refunded", tone: "warn", icon: "M5 5.5 2 8.5l3 3M2 8.5h7a4 4 0 0 0 4-4V4" },
  refunded: { word: "Refunded", tone: "muted", icon: "M5 2 2 5l3 3M2 5h7.5a4 4 0 0 1 0 8H5" },
  returned: { word: "Returned", tone: "warn", icon: "M2 5.5 8 2.5l6 3v6l-6 3-6-3zM2 5.5l6 3 6-3M8 8.5v6" },
  cancelled: {
    word: "Cancelled",
    tone: "danger",
    icon: "M2 8a6 6 0 1 0 12 0A6 6 0 1 0 2 8M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2",
  },
};

export interface OrderStatusLabelProps {
  readonly status: OrderStatus;
  /** Named beside the word while part of the money is still with the shop. */
  readonly refundedCents: number;
}

/** What has become of an order: an icon, a word and a colour, and how much was given back. */
export function OrderStatusLabel({ status, refundedCents }: OrderStatusLabelProps): ReactNode {
  const { word, tone, icon } = looks[status];
  return (
    <span className={styles.status} data-tone={tone} data-status={status}>
      <svg className={styles.icon} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        <path d={icon} />
      </svg>
      <span>
        {word}
        {status === "partly-refunded" ? " " : null}
        {status === "partly-refunded" ? <span className={styles.refunded}>· {formatEuro(refundedCents)}</span> : null}
      </span>
    </span>
  );
}
