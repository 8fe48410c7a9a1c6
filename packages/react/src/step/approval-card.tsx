"use client";

import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { ActionResult, AnyStep, ApproveOptions } from "toolrun";
import { ApprovalFacts } from "./approval-facts.tsx";
import { DenyForm } from "./deny-form.tsx";
import { toFields } from "./fields.ts";
import { coverOf } from "./grant-words.ts";
import { HiddenNotice } from "./hidden-notice.tsx";
import { Icon } from "./icon.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { ScopeForm } from "./scope-form.tsx";
import { useStepContext } from "./step-context.ts";
import { useAsk } from "./use-ask.ts";
import { countHidden } from "./visible-text.tsx";

export interface ApprovalCardProps {
  readonly step: AnyStep;
  readonly className?: string | undefined;
}

/**
 * A step that waits for a person: the exact arguments, and the ways to answer. Nothing is claimed before the server
 * said so, and no key or click decides that was not meant for this card.
 */
export function ApprovalCard({ step, className }: ApprovalCardProps): ReactNode {
  const { strings, actions } = useStepContext();
  const { card, busy, fresh, refusal, decide } = useAsk(step);
  const [mode, setMode] = useState<"view" | "edit" | "deny" | "scope">("view");
  const [reason, setReason] = useState("");
  const [revealed, setRevealed] = useState(false);
  const revealButton = useRef<HTMLButtonElement>(null);
  const editButton = useRef<HTMLButtonElement>(null);
  const denyButton = useRef<HTMLButtonElement>(null);
  const scopeButton = useRef<HTMLButtonElement>(null);
  const returnTo = useRef<{ readonly current: HTMLElement | null }>(undefined);
  const id = useId();

  const schema = step.ask?.schema;
  const editable = step.ask?.editable ?? false;
  const fields = useMemo(() => toFields(schema, step.input, editable || []), [schema, step.input, editable]);
  const hidden = useMemo(() => countHidden(step.input), [step.input]);
  const unread = hidden > 0 && !revealed;
  const canEdit = editable !== false && fields.some((field) => !field.locked);

  const canRemember = step.ask?.scopes?.some((scope) => scope !== "once") ?? false;

  const approve = (options?: ApproveOptions): Promise<ActionResult> =>
    decide(() => actions?.approve(step, options) ?? viewer());
  const tryApprove = (options?: ApproveOptions): void => {
    if (busy || fresh) return;
    if (unread) revealButton.current?.focus();
    else void approve(options);
  };
  // In the commit that takes the form away, so that focus is on the page itself for no moment.
  useLayoutEffect(() => {
    if (mode !== "view") return;
    returnTo.current?.current?.focus();
    returnTo.current = undefined;
  }, [mode]);
  const back = (button: { readonly current: HTMLElement | null }): void => {
    returnTo.current = button;
    setMode("view");
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (mode !== "view" || !actions || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]")) return;
    const key = event.key.toLowerCase();
    if (key !== "a" && key !== "e" && key !== "d") return;
    event.preventDefault();
    if (key === "d" && !busy) setMode("deny");
    if (key === "e" && canEdit && !busy) setMode("edit");
    if (key !== "a") return;
    if (card.current && isCut(card.current)) card.current.scrollIntoView({ block: "nearest" });
    else tryApprove();
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would make the keys and the look of the card its own.
    <div
      ref={card}
      role="group"
      className={["tr-card tr-ask", className].filter(Boolean).join(" ")}
      aria-labelledby={`${id}title`}
      aria-describedby={`${id}facts`}
      data-status="waiting"
      data-kind="approval"
      data-step={step.id}
      data-destructive={step.destructive || undefined}
      onKeyDown={onKeyDown}
    >
      <ApprovalFacts step={step} id={id} editing={mode === "edit"} fields={fields} />
      {hidden > 0 ? (
        <HiddenNotice count={hidden} revealed={revealed} onReveal={() => setRevealed(true)} button={revealButton} />
      ) : null}
      {refusal === undefined || mode === "edit" ? null : (
        <p role="alert" className="tr-notice" data-tone="danger">
          <Icon name="ask" /> <span>{refusal}</span>
        </p>
      )}
      {actions === null ? <p className="tr-muted">{strings.readOnlyViewer}</p> : null}
      {actions && mode === "view" ? (
        <div className="tr-actions">
          <button
            type="button"
            className={step.destructive ? "tr-button tr-danger" : "tr-button tr-primary"}
            aria-disabled={busy || fresh || unread || undefined}
            aria-keyshortcuts="A"
            data-busy={busy || unread || undefined}
            onClick={() => tryApprove()}
          >
            {busy ? strings.sending : step.destructive ? strings.approveDestructive(step.title) : strings.approveOnce}
          </button>
          {canEdit ? (
            <button
              ref={editButton}
              type="button"
              className="tr-button"
              aria-disabled={busy || undefined}
              aria-keyshortcuts="E"
              onClick={() => busy || setMode("edit")}
            >
              {strings.edit}
            </button>
          ) : null}
          <button
            ref={denyButton}
            type="button"
            className="tr-button"
            aria-disabled={busy || undefined}
            aria-keyshortcuts="D"
            onClick={() => busy || setMode("deny")}
          >
            {strings.deny}
          </button>
          {canRemember ? (
            <button
              ref={scopeButton}
              type="button"
              className="tr-button tr-quiet"
              aria-disabled={busy || undefined}
              onClick={() => busy || setMode("scope")}
            >
              {strings.remember}
            </button>
          ) : null}
        </div>
      ) : null}
      {actions && mode === "edit" ? (
        <SchemaForm
          fields={fields}
          input={step.input}
          draftKey={step.id}
          busy={busy}
          destructive={step.destructive}
          submitLabel={(changes) =>
            changes > 0
              ? strings.approveWithChanges
              : step.destructive
                ? strings.approveDestructive(step.title)
                : strings.approveOnce
          }
          onSubmit={(input, changes) => approve(changes === 0 ? undefined : { input })}
          onBack={() => back(editButton)}
        />
      ) : null}
      {actions && mode === "deny" ? (
        <DenyForm
          busy={busy}
          reason={reason}
          onReason={setReason}
          cover={coverOf({ ...step.ask?.grant, uses: undefined }, strings)} // a denial is not used up
          onDeny={(options) => {
            const given = reason.trim() === "" ? {} : { reason: reason.trim() };
            if (!busy) void decide(() => actions.deny(step, { ...given, ...options }));
          }}
          onBack={() => back(denyButton)}
        />
      ) : null}
      {actions && mode === "scope" ? (
        <ScopeForm
          step={step}
          busy={busy}
          held={unread}
          onApprove={(scope) => tryApprove({ scope })}
          onBack={() => back(scopeButton)}
        />
      ) : null}
    </div>
  );
}

const viewer = (): Promise<ActionResult> => Promise.resolve({ ok: false, code: "forbidden", message: "" });

/** True when part of the card is off screen that could be on it: the key then shows the card instead of deciding. */
function isCut(card: HTMLElement): boolean {
  const box = card.getBoundingClientRect();
  const frame = card.closest("[data-tr-scroller]")?.getBoundingClientRect();
  const top = Math.max(0, frame?.top ?? 0);
  const bottom = Math.min(window.innerHeight, frame?.bottom ?? window.innerHeight);
  return box.bottom > bottom + 1 || (box.top < top - 1 && box.height <= bottom - top);
}
