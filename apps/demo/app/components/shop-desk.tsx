"use client";

import { type UseToolRun, useToolRun } from "@toolrun/react";
import { ToolRunChat } from "@toolrun/react/ui";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { CopyLine } from "./copy-line.tsx";
import { drawText } from "./draw-text.tsx";
import { ModelChip } from "./model-chip.tsx";
import { OrdersTable } from "./orders-table.tsx";
import styles from "./shop-desk.module.css";
import { ThreadMenu } from "./thread-menu.tsx";
import { TryToBreakIt } from "./try-to-break-it.tsx";

const suggestions = ["Refund order 1042", "Tidy up old orders", "Import 200 orders"];

export interface ShopDeskProps {
  /** The conversation in the address, so that a reload and a second tab show the same one. */
  readonly initialThreadId: string | undefined;
  readonly userId: string | undefined;
  /** Under the start script the page can have the server killed and started again. */
  readonly canRestart: boolean;
  /** @defaultValue "/api/toolrun", the edge route */
  readonly endpoint?: string | undefined;
}

/** Orders and assistant side by side: what the assistant does shows in the table at once. */
export function ShopDesk({ initialThreadId, userId, canRestart, endpoint = "/api/toolrun" }: ShopDeskProps): ReactNode {
  const [threadId, setThreadId] = useState(initialThreadId);
  const [ordersOpen, setOrdersOpen] = useState(false);
  const ordersId = useId();
  const open = (id: string | undefined): void => {
    setThreadId(id);
    window.history.replaceState(null, "", id === undefined ? window.location.pathname : `?thread=${id}`);
  };
  const run = useToolRun({ endpoint, threadId, onThread: open });
  useShopChanges(run.steps);

  const startNew = (): void => {
    open(undefined);
    run.reset();
  };
  return (
    <div className={styles.desk}>
      <header className={styles.top}>
        <h1>
          <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false">
            <path d="M3 8.2 4.4 3h11.2L17 8.2a2.3 2.3 0 0 1-4.6 0 2.3 2.3 0 0 1-4.7 0 2.3 2.3 0 0 1-4.7 0M4.3 11v6h11.4v-6M8.2 17v-3.6h3.6V17" />
          </svg>
          Shop <span>Back office</span>
        </h1>
        {/* On a small screen the orders fold away, so that the conversation comes first. */}
        <button
          type="button"
          className={styles.fold}
          aria-expanded={ordersOpen}
          aria-controls={ordersId}
          onClick={() => setOrdersOpen(!ordersOpen)}
        >
          {ordersOpen ? "Hide orders" : "Show orders"}
        </button>
      </header>
      <main className={styles.columns}>
        <div id={ordersId} className={styles.orders} data-open={ordersOpen || undefined}>
          <OrdersTable highlight={orderOf(run.steps)} limit={10} />
        </div>
        <section className={styles.assistant} aria-label="Shop assistant">
          <ToolRunChat
            run={run}
            user={userId === undefined ? undefined : { id: userId }}
            suggestions={suggestions}
            renderText={drawText}
            placeholder="Write to me…"
            strings={{ emptyTitle: "What should I do?" }}
            title={
              <div className={styles.chatHeader}>
                <h2>Shop assistant</h2>
                <ThreadMenu endpoint={endpoint} threadId={run.threadId} onOpen={open} onNew={startNew} run={run} />
                <ModelChip />
              </div>
            }
            steps={{
              refundOrder: (step) =>
                step.status === "succeeded" ? <b>{step.output.refunded.toFixed(2)} EUR refunded</b> : null,
            }}
          >
            <TryToBreakIt run={run} endpoint={endpoint} canRestart={canRestart} />
          </ToolRunChat>
        </section>
      </main>
      <footer className={styles.foot}>
        <p>
          Yours: <CopyLine text="npm i toolrun @toolrun/react" />
        </p>
        <p>
          Use a real model: put <code>OPENAI_API_KEY</code> in <code>.env.local</code>
        </p>
      </footer>
    </div>
  );
}

type Steps = UseToolRun["steps"];

/** The order the assistant last had in hand. */
function orderOf(steps: Steps): number | undefined {
  const step = steps.findLast(({ input }) => input !== null && typeof input === "object" && "orderId" in input);
  const input: unknown = step?.input;
  if (typeof input !== "object" || input === null || !("orderId" in input)) return undefined;
  const number = Number(input.orderId);
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/** Tells the table to look at once when a step that may have written something is over. */
function useShopChanges(steps: Steps): void {
  const settled = steps.filter(
    ({ status, decision }) => decision && (status === "succeeded" || status === "failed"),
  ).length;
  const before = useRef(settled);
  useEffect(() => {
    if (settled > before.current) window.dispatchEvent(new Event("shop:changed"));
    before.current = settled;
  }, [settled]);
}
