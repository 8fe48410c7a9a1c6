"use client";

import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { DenyOptions } from "toolrun";
import { useStepContext } from "./step-context.ts";
import { VisibleText } from "./visible-text.tsx";

export interface DenyFormProps {
  readonly busy: boolean;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  /** What a denial that is remembered covers. */
  readonly cover: string;
  readonly onDeny: (options: Omit<DenyOptions, "reason">) => void;
  readonly onBack: () => void;
}

/** One line for the reason; Enter denies. To end the run as well is a button of its own, to remember it a box. */
export function DenyForm({ busy, reason, onReason, cover, onDeny, onBack }: DenyFormProps): ReactNode {
  const { strings } = useStepContext();
  const id = useId();
  const [remembers, setRemembers] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const scope = remembers ? ({ scope: "thread" } as const) : {};
  useEffect(() => {
    field.current?.focus();
    field.current?.form?.scrollIntoView?.({ block: "nearest" });
  }, []);
  return (
    <form
      className="tr-form"
      onSubmit={(event) => {
        event.preventDefault();
        onDeny(scope);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          onBack();
        } else if (event.key === "Enter" && event.repeat) event.preventDefault(); // a held key never decides
      }}
    >
      <div className="tr-field">
        <label htmlFor={id}>{strings.denyLabel}</label>
        <input
          id={id}
          ref={field}
          className="tr-input"
          value={reason}
          maxLength={500}
          autoComplete="off"
          onChange={(event) => onReason(event.target.value)}
        />
        <div className="tr-chips">
          {strings.denyReasons.map((text) => (
            <button
              key={text}
              type="button"
              className="tr-chip"
              aria-pressed={reason === text}
              onClick={() => {
                onReason(text);
                field.current?.focus();
              }}
            >
              {text}
            </button>
          ))}
        </div>
      </div>
      <div>
        <label className="tr-check">
          <input
            type="checkbox"
            checked={remembers}
            aria-describedby={`${id}cover`}
            onChange={(event) => setRemembers(event.target.checked)}
          />
          {strings.denyRemember}
        </label>
        <p id={`${id}cover`} className="tr-field-notes" dir="auto" hidden={!remembers}>
          <VisibleText text={cover} />
        </p>
      </div>
      <div className="tr-actions">
        <button type="submit" className="tr-button tr-strong" aria-disabled={busy || undefined}>
          {busy ? strings.sending : strings.denyNow}
        </button>
        <button
          type="button"
          className="tr-button"
          aria-disabled={busy || undefined}
          onClick={() => onDeny({ ...scope, stop: true })}
        >
          {strings.denyAndStop}
        </button>
        <button type="button" className="tr-button tr-quiet" onClick={onBack}>
          {strings.back}
        </button>
      </div>
    </form>
  );
}
