"use client";

import type { ReactNode } from "react";
import type { AnyStep } from "toolrun";
import { Icon } from "./icon.tsx";
import { useStepContext } from "./step-context.ts";

export interface BrowserWaitProps {
  readonly step: AnyStep;
  /** The card has only just come up: whether this page can do it is not known yet. */
  readonly fresh: boolean;
}

/** What a browser tool waits for: this page, another tab, or a page that can do it. */
export function BrowserWait({ step, fresh }: BrowserWaitProps): ReactNode {
  const { strings, browserSteps } = useStepContext();
  const where = step.sending ? "here" : browserSteps?.[step.id];
  const unknown = browserSteps === undefined || fresh ? strings.browserText : strings.browserNowhere;
  const words = { here: strings.browserHere, elsewhere: strings.browserElsewhere };
  return (
    // Speaks when it changes: that nobody does it comes up later than the card.
    <p className="tr-working" role="status" data-tone="accent">
      {where === "here" ? <Icon name="spin" /> : null}
      <span>{where ? words[where] : unknown}</span>
    </p>
  );
}
