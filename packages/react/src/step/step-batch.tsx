"use client";

import { type ReactNode, useCallback, useMemo, useState } from "react";
import type { ActionResult, AnyStep } from "toolrun";
import { Icon } from "./icon.tsx";
import { StepCard } from "./step-card.tsx";
import { StepContext, useStepContext } from "./step-context.ts";
import { countHidden } from "./visible-text.tsx";

/**
 * The steps of one answer of the model, in their order. Where several wait for a decision, they can be decided together:
 * approved only what has been on screen, is not destructive and hides nothing; denied always.
 */
export function StepBatch({ steps }: { readonly steps: readonly AnyStep[] }): ReactNode {
  const context = useStepContext();
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const onSeen = useCallback((id: string) => setSeen((ids) => (ids.has(id) ? ids : new Set([...ids, id]))), []);
  const value = useMemo(() => ({ ...context, onSeen }), [context, onSeen]);
  const waiting = steps.filter((step) => step.ask?.kind === "approval");
  // One shape whatever the count: a card that stays must not be made anew when the one before it is decided.
  return (
    <StepContext.Provider value={value}>
      {waiting.length > 1 && context.actions ? <BatchHeader steps={steps} waiting={waiting} seen={seen} /> : null}
      {/* biome-ignore lint/a11y/noRedundantRoles: without list markers Safari would not say that it is a list. */}
      <ol className="tr-steps" role="list">
        {steps.map((step) => (
          <li key={step.id}>
            <StepCard step={step} />
          </li>
        ))}
      </ol>
    </StepContext.Provider>
  );
}

interface BatchHeaderProps {
  readonly steps: readonly AnyStep[];
  readonly waiting: readonly AnyStep[];
  readonly seen: ReadonlySet<string>;
}

function BatchHeader({ steps, waiting, seen }: BatchHeaderProps): ReactNode {
  const { strings, actions, onDecided } = useStepContext();
  const [refusal, setRefusal] = useState<string>();
  const free = waiting.filter((step) => !step.sending);
  const safe = free.filter((step) => seen.has(step.id) && !step.destructive && countHidden(step.input) === 0);
  const decided = steps.filter((step) => step.decision).length;

  const decide = async (decided: readonly AnyStep[], sent: Promise<ActionResult> | undefined): Promise<void> => {
    setRefusal(undefined);
    const last = decided.at(-1);
    if (last) onDecided?.(last);
    const result = await sent;
    if (result && !result.ok) setRefusal(`${strings.refused} ${result.message}`);
  };

  return (
    <div className="tr-batch">
      <p className="tr-status" data-tone="warn">
        <Icon name="ask" /> {strings.batch(waiting.length, decided)}
      </p>
      <div className="tr-actions">
        {safe.length > 1 ? (
          <button type="button" className="tr-button" onClick={() => void decide(safe, actions?.approve(safe))}>
            {strings.approveAll(safe.length)}
          </button>
        ) : null}
        <button
          type="button"
          className="tr-button"
          aria-disabled={free.length === 0 || undefined}
          onClick={() => free.length === 0 || void decide(free, actions?.deny(free))}
        >
          {strings.denyAll}
        </button>
      </div>
      {refusal === undefined ? null : (
        <p role="alert" className="tr-notice" data-tone="danger">
          <Icon name="ask" /> <span>{refusal}</span>
        </p>
      )}
    </div>
  );
}
