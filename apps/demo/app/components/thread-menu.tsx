"use client";

import { useThreads } from "@toolrun/react";
import type { TimelineRun } from "@toolrun/react/timeline";
import { type ReactNode, useId, useRef } from "react";
import styles from "./thread-menu.module.css";
import { TimelinePopover } from "./timeline-popover.tsx";

export interface ThreadMenuProps {
  readonly endpoint: string;
  readonly threadId: string | undefined;
  readonly onOpen: (threadId: string) => void;
  readonly onNew: () => void;
  readonly run: TimelineRun;
}

/** The visitor's conversations; those that wait for a decision say so, on the button too. */
export function ThreadMenu({ endpoint, threadId, onOpen, onNew, run }: ThreadMenuProps): ReactNode {
  const { threads, isLoading } = useThreads({ endpoint });
  const popover = useRef<HTMLDivElement>(null);
  const timeline = useRef<HTMLDivElement>(null);
  const id = useId();
  const timelineId = useId();
  const elsewhere = threads.filter((thread) => thread.id !== threadId && thread.pending > 0).length;
  const choose = (action: () => void) => (): void => {
    popover.current?.hidePopover();
    action();
  };
  return (
    <div className={styles.menu}>
      <button type="button" className={styles.button} popoverTarget={id}>
        Conversations
        {elsewhere > 0 ? (
          <span className={styles.count}>
            {elsewhere}
            <span className={styles.hidden}> waiting for you</span>
          </span>
        ) : null}
      </button>
      <div ref={popover} id={id} popover="auto" className={styles.popover} role="dialog" aria-label="Conversations">
        <div className={styles.row}>
          <button type="button" className={styles.fresh} onClick={choose(onNew)}>
            New conversation
          </button>
          <button
            type="button"
            className={styles.fresh}
            onClick={choose(() => {
              timeline.current?.showPopover();
              timeline.current?.focus();
            })}
          >
            Timeline
          </button>
        </div>
        {threads.length === 0 ? (
          <p className={styles.none}>{isLoading ? "Loading…" : "None yet. Your first message starts one."}</p>
        ) : (
          <ul className={styles.list}>
            {threads.map((thread) => (
              <li key={thread.id}>
                <button
                  type="button"
                  className={styles.thread}
                  aria-current={thread.id === threadId ? "true" : undefined}
                  onClick={choose(() => onOpen(thread.id))}
                >
                  <span className={styles.title}>{thread.title || "New conversation"}</span>
                  {thread.pending > 0 ? (
                    <span className={styles.badge}>waiting for you</span>
                  ) : (
                    <span className={styles.when}>
                      {thread.status === "running" ? "working" : ago(Date.now() - thread.updatedAt)}
                    </span>
                  )}
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
      <TimelinePopover run={run} id={timelineId} popover={timeline} />
    </div>
  );
}

function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}
