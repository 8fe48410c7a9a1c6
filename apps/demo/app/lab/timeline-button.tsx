"use client";

import type { TimelineRun } from "@toolrun/react/timeline";
import { en, type Strings } from "@toolrun/react/ui";
import { type ReactNode, useId } from "react";
import { TimelinePopover } from "../components/timeline-popover.tsx";

export interface TimelineButtonProps {
  readonly run: TimelineRun;
  readonly strings: Partial<Strings> | undefined;
}

/** Opens the timeline of a run over its chat. */
export function TimelineButton({ run, strings }: TimelineButtonProps): ReactNode {
  const id = useId();
  return (
    <>
      <button type="button" className="tr-button" popoverTarget={id}>
        {strings?.timeline ?? en.timeline}
      </button>
      <TimelinePopover run={run} id={id} strings={strings} />
    </>
  );
}
