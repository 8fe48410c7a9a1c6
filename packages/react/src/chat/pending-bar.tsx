"use client";

import { type ReactNode, type RefObject, useEffect, useState } from "react";
import { Icon } from "../step/icon.tsx";
import { useStepContext } from "../step/step-context.ts";
import { type ChatRun, needPerson } from "./chat-run.ts";
import { headingsIn } from "./focus.ts";

export interface PendingBarProps {
  readonly run: ChatRun;
  readonly scroller: RefObject<HTMLElement | null>;
  readonly onReview: () => void;
}

/** Says that a step waits when none of those that wait can be seen. */
export function PendingBar({ run, scroller, onReview }: PendingBarProps): ReactNode {
  const { strings } = useStepContext();
  const asking = needPerson(run);
  const count = asking.length;
  const inView = useCardInView(scroller, asking.map((step) => step.id).join(" "));
  if (count === 0 || inView) return null;
  return (
    <div className="tr-pending">
      <span className="tr-status" data-tone="warn">
        <Icon name="ask" /> {strings.pending(count)}
      </span>
      <button type="button" className="tr-button" aria-keyshortcuts="F8" onClick={onReview}>
        {strings.review} <kbd>F8</kbd>
      </button>
    </div>
  );
}

function useCardInView(scroller: RefObject<HTMLElement | null>, ids: string): boolean {
  const [inView, setInView] = useState(false);
  useEffect(() => {
    if (ids === "" || typeof IntersectionObserver === "undefined") return;
    const visible = new Set<Element>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) visible.add(target);
          else visible.delete(target);
        }
        setInView(visible.size > 0);
      },
      { root: scroller.current },
    );
    for (const heading of headingsIn(scroller.current)) observer.observe(heading.closest("[data-step]") ?? heading);
    return () => {
      observer.disconnect();
      setInView(false);
    };
  }, [ids, scroller]);
  return inView;
}
