"use client";

import type { ReactNode, RefObject } from "react";
import { Icon } from "./icon.tsx";
import { useStepContext } from "./step-context.ts";

export interface HiddenNoticeProps {
  readonly count: number;
  readonly revealed: boolean;
  readonly onReveal: () => void;
  readonly button: RefObject<HTMLButtonElement | null>;
}

/** That the arguments hold characters one would not see, until the person says that they were looked at. */
export function HiddenNotice({ count, revealed, onReveal, button }: HiddenNoticeProps): ReactNode {
  const { strings } = useStepContext();
  return (
    <div className="tr-notice" data-tone="warn">
      <Icon name="warn" />
      <p>
        <strong>{strings.hiddenCharacters(count)}.</strong> {strings.hiddenExplained}{" "}
        {revealed ? null : (
          <button ref={button} type="button" className="tr-link" onClick={onReveal}>
            {strings.reveal}
          </button>
        )}
      </p>
    </div>
  );
}
