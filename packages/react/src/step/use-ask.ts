"use client";

import { type RefObject, useEffect, useRef, useState } from "react";
import type { ActionResult, AnyStep } from "toolrun";
import { useStepContext } from "./step-context.ts";
import { useFocusLost } from "./use-focus-lost.ts";
import { useFresh } from "./use-fresh.ts";

export interface AskState {
  readonly card: RefObject<HTMLDivElement | null>;
  /** This tab's decision is on its way. */
  readonly busy: boolean;
  /** The card has only just appeared: nothing decides yet. */
  readonly fresh: boolean;
  /** Why the last decision was not taken. */
  readonly refusal: string | undefined;
  /**
   * Sends one decision at a time and moves focus on in the same handler; after a refusal the buttons live again. `stay`:
   * a form that may have to be corrected keeps focus until its card goes away.
   */
  readonly decide: (send: () => Promise<ActionResult>, stay?: boolean) => Promise<ActionResult>;
}

/** What every card that asks a person has in common. */
export function useAsk(step: AnyStep): AskState {
  const { strings, onDecided, onFocusLost, onSeen } = useStepContext();
  const card = useRef<HTMLDivElement>(null);
  const last = useRef<{ readonly step: AnyStep; readonly result: Promise<ActionResult> } | null>(null);
  const [posting, setPosting] = useState(false);
  const fresh = useFresh();
  const [refusal, setRefusal] = useState<string>();

  useEffect(() => {
    if (!card.current || !onSeen || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) onSeen(step.id);
      },
      { threshold: 0.6 },
    );
    observer.observe(card.current);
    return () => observer.disconnect();
  }, [step.id, onSeen]);

  // Settled from elsewhere while it had focus.
  useFocusLost(card, () => onFocusLost?.(step));

  return {
    card,
    busy: posting || step.sending,
    fresh,
    refusal,
    decide(send, stay = false) {
      // Twenty clicks are one decision: while it is on its way, and until the step shows that it has arrived.
      if (last.current && (posting || last.current.step === step)) return last.current.result;
      const settle = async (): Promise<ActionResult> => {
        setPosting(true);
        setRefusal(undefined);
        const sent = send();
        if (!stay) onDecided?.(step);
        const result = await sent;
        setPosting(false);
        if (result.ok) return result;
        last.current = null;
        setRefusal(`${strings.refused} ${result.message}`);
        return result;
      };
      const result = settle();
      last.current = { step, result };
      return result;
    },
  };
}
