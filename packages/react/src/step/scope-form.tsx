"use client";

import { type ReactNode, useEffect, useId, useRef } from "react";
import type { AnyStep, DecisionScope } from "toolrun";
import { coverOf } from "./grant-words.ts";
import { useStepContext } from "./step-context.ts";
import { useFresh } from "./use-fresh.ts";
import { VisibleText } from "./visible-text.tsx";

export interface ScopeFormProps {
  readonly step: AnyStep;
  readonly busy: boolean;
  /** Something has to be read first. */
  readonly held: boolean;
  readonly onApprove: (scope: DecisionScope) => void;
  readonly onBack: () => void;
}

/** An approval that is remembered: what it covers, how often and how long, and then for what. */
export function ScopeForm({ step, busy, held, onApprove, onBack }: ScopeFormProps): ReactNode {
  const { strings } = useStepContext();
  const fresh = useFresh();
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    // Not on a button that approves: a held key would press it.
    panel.current?.focus();
    panel.current?.scrollIntoView?.({ block: "nearest" });
  }, []);
  const words = { run: strings.forRun, thread: strings.forThread };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would bring its own look and its own label.
    <div
      ref={panel}
      role="group"
      tabIndex={-1}
      className="tr-form tr-scopes"
      aria-labelledby={`${id}title`}
      aria-describedby={`${id}covers`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onBack();
      }}
    >
      <p id={`${id}title`}>
        <strong>{strings.rememberTitle}</strong>
      </p>
      <p id={`${id}covers`} className="tr-muted" dir="auto">
        <VisibleText text={coverOf(step.ask?.grant, strings)} />
      </p>
      <div className="tr-actions tr-choices">
        {(["run", "thread"] as const).map((scope) =>
          step.ask?.scopes?.includes(scope) ? (
            <button
              key={scope}
              type="button"
              className="tr-button"
              aria-disabled={busy || fresh || held || undefined}
              data-busy={busy || held || undefined}
              onClick={() => fresh || onApprove(scope)}
            >
              {busy ? strings.sending : words[scope]}
            </button>
          ) : null,
        )}
        <button type="button" className="tr-button tr-quiet" onClick={onBack}>
          {strings.back}
        </button>
      </div>
    </div>
  );
}
