"use client";

import { RunTimeline, type TimelineRun } from "@toolrun/react/timeline";
import type { Strings } from "@toolrun/react/ui";
import type { ReactNode, RefObject } from "react";
import styles from "./thread-menu.module.css";

export interface TimelinePopoverProps {
  readonly run: TimelineRun;
  readonly id: string;
  readonly popover?: RefObject<HTMLDivElement | null> | undefined;
  readonly strings?: Partial<Strings> | undefined;
}

/** What the run spent its time on, over the chat. */
export function TimelinePopover({ run, id, popover, strings }: TimelinePopoverProps): ReactNode {
  return (
    <div
      ref={popover}
      id={id}
      popover="auto"
      className={styles.popover}
      role="dialog"
      aria-label={strings?.timeline ?? "Timeline"}
      tabIndex={-1}
    >
      <div className={`tr ${styles.timeline}`}>
        <RunTimeline run={run} strings={strings} />
      </div>
    </div>
  );
}
