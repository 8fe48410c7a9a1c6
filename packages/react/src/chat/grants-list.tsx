"use client";

import { type ReactNode, useId, useRef, useState } from "react";
import type { ActionResult, AnyStep, Grant, ThreadSnapshot } from "toolrun";
import { Icon } from "../step/icon.tsx";
import { useStepContext, whoDecided } from "../step/step-context.ts";
import { Moment, useNow } from "../step/time.tsx";
import { useFocusLost } from "../step/use-focus-lost.ts";
import { ValueView } from "../step/value-view.tsx";
import { VisibleText } from "../step/visible-text.tsx";

/** What the list reads and does: `useToolRun` returns an object that fits. */
export interface GrantsRun extends Pick<ThreadSnapshot, "grants" | "access" | "clockOffsetMs"> {
  readonly steps: readonly Pick<AnyStep, "tool" | "title">[];
  revoke(grantId: string): Promise<ActionResult>;
}

export interface GrantsListProps {
  readonly run: GrantsRun;
  readonly className?: string | undefined;
}

/** The decisions that are remembered, each with a way to take it back for who may decide. */
export function GrantsList({ run, className }: GrantsListProps): ReactNode {
  const { strings } = useStepContext();
  const list = useRef<HTMLDivElement>(null);
  const grants = useLiveGrants(run);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would bring its own look and its own label.
    <div
      ref={list}
      role="group"
      aria-label={strings.grants(grants.length)}
      className={["tr-grants-list", className].filter(Boolean).join(" ")}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and must be reachable by keyboard then.
      tabIndex={0}
    >
      {grants.length === 0 ? <p className="tr-muted">{strings.noGrants}</p> : null}
      {/* biome-ignore lint/a11y/noRedundantRoles: without list markers Safari would not say that it is a list. */}
      <ul role="list">
        {grants.map((grant) => (
          <GrantLine
            key={grant.grantId}
            grant={grant}
            title={run.steps.find(({ tool }) => tool === grant.tool)?.title ?? grant.tool}
            revoke={run.access.decide ? run.revoke : null}
            onFocusLost={() => list.current?.focus()}
          />
        ))}
      </ul>
    </div>
  );
}

interface GrantLineProps {
  readonly grant: Grant;
  readonly title: string;
  readonly revoke: GrantsRun["revoke"] | null;
  readonly onFocusLost: () => void;
}

function GrantLine({ grant, title, revoke, onFocusLost }: GrantLineProps): ReactNode {
  const context = useStepContext();
  const { strings } = context;
  const [posting, setPosting] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const line = useRef<HTMLLIElement>(null);
  const id = useId();
  useFocusLost(line, onFocusLost);
  const { verdict, label, input, scope, used, uses, expiresAt, reason, at } = grant;
  const isAllowed = verdict === "allow";
  const who = whoDecided(grant, context);
  const takeBack = async (): Promise<void> => {
    if (!revoke || posting) return;
    setPosting(true);
    setRefusal(undefined);
    const result = await revoke(grant.grantId);
    setPosting(false);
    if (!result.ok) setRefusal(`${strings.refused} ${result.message}`);
  };
  return (
    <li ref={line} className="tr-grant" data-grant={grant.grantId} tabIndex={-1} aria-labelledby={`${id}what`}>
      <div className="tr-grant-what">
        <p id={`${id}what`} className="tr-grant-name">
          <span className="tr-status" data-tone={isAllowed ? "ok" : "danger"}>
            <Icon name={isAllowed ? "check" : "block"} /> {isAllowed ? strings.allowed : strings.refusedAlways}
          </span>{" "}
          <strong dir="auto">
            <VisibleText text={label ?? title} />
          </strong>
        </p>
        <p className="tr-muted tr-tabular">
          {scope === "run" ? strings.inRun : strings.inThread}
          {" · "}
          {strings.used(used, uses)}
          {expiresAt === undefined ? null : (
            <>
              {" · "}
              <Moment at={expiresAt} words={strings.until} />
            </>
          )}
          {" · "}
          <Moment at={at} words={(time) => strings.decidedBy(who, time)} />
        </p>
        {reason ? (
          <p className="tr-muted" dir="auto">
            <VisibleText text={reason} />
          </p>
        ) : null}
        {label === undefined ? (
          <details className="tr-fold">
            <summary>{strings.exactly}</summary>
            <ValueView value={input} />
          </details>
        ) : null}
        {refusal === undefined ? null : (
          <p role="alert" className="tr-error">
            {refusal}
          </p>
        )}
      </div>
      {revoke ? (
        <button
          type="button"
          className="tr-button"
          aria-label={posting ? undefined : strings.revokeOf(label ?? title)}
          aria-disabled={posting || undefined}
          onClick={() => void takeBack()}
        >
          {posting ? strings.sending : strings.revoke}
        </button>
      ) : null}
    </li>
  );
}

/** The grants that still count: neither used up nor over. */
export function useLiveGrants({
  grants,
  clockOffsetMs,
}: Pick<GrantsRun, "grants" | "clockOffsetMs">): readonly Grant[] {
  const now = useNow(grants.some(({ expiresAt }) => expiresAt !== undefined)) ?? 0;
  return grants.filter(
    ({ expiresAt = Number.POSITIVE_INFINITY, used, uses = Number.POSITIVE_INFINITY }) =>
      used < uses && expiresAt > now + clockOffsetMs,
  );
}
