"use client";

import type { ReactNode } from "react";
import type { AnyStep, Decision, Json } from "toolrun";
import { LogPane } from "./log-pane.tsx";
import { type StepContextValue, useStepContext, whoDecided } from "./step-context.ts";
import { isOver } from "./step-look.ts";
import { Moment, useNow } from "./time.tsx";
import { isRecord } from "./value-view.tsx";
import { VisibleText } from "./visible-text.tsx";

/** What one should know about a step without opening it: how far it is, what went wrong, who decided. */
export function StepBody({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings } = useStepContext();
  const { status, error, progress } = step;
  const running = status === "running" && !step.retryAt;
  return (
    <>
      <DecisionLines step={step} />
      {status === "writing" ? <Draft text={step.draft} /> : null}
      {running && progress ? <ProgressLine step={step} /> : null}
      {status === "running" && step.retryAt ? <RetryLine step={step} /> : null}
      {running && step.attempt > 1 ? <AgainLine step={step} /> : null}
      {step.children.length > 0 ? <ChildrenLine steps={step.children} /> : null}
      {status === "running" ? <LogPane lines={step.log} /> : null}
      {status === "failed" ? (
        <p className="tr-line" data-tone="danger">
          {error ? strings.errors[error.code] : strings.failed}{" "}
          {error && error.message !== "" ? (
            <span className="tr-muted">
              <VisibleText text={error.message} />
            </span>
          ) : null}
        </p>
      ) : null}
      {step.effect === "unknown" ? (
        <p className="tr-line" data-tone="warn">
          {strings.effectUnknown}
        </p>
      ) : null}
    </>
  );
}

/** What was decided, by whom, and with how many changes: a step can have been asked about more than once. */
function DecisionLines({ step }: { readonly step: AnyStep }): ReactNode {
  const context = useStepContext();
  const { strings } = context;
  const { decision, earlier } = step;
  const decisions = decision ? [...earlier, decision] : earlier;
  if (decisions.length === 0) return step.grantId ? <ByGrant step={step} grantId={step.grantId} /> : null;
  return decisions.map((each) => (
    <p key={`${each.digest} ${each.at}`} className="tr-line tr-muted">
      {each.action === "expire" ? (
        <Moment at={each.at} words={strings.expiredAt} />
      ) : (
        <VisibleText text={decisionWords(step, each, context)} />
      )}
    </p>
  ));
}

function decisionWords(step: AnyStep, decision: Decision, context: StepContextValue): string {
  const { strings } = context;
  const who = whoDecided(decision, context);
  const along = decision.grantId ? ` ${strings.along}` : "";
  switch (decision.action) {
    case "approve":
      return strings.approvedBy(who, countChanges(step, decision)) + along;
    case "deny":
      return strings.deniedBy(who, decision.reason) + along;
    case "retry":
      return strings.retriedBy(who);
    case "skip":
      return strings.skippedBy(who);
    default:
      if (decision.kind === "browser") return strings.ranInBrowser;
      return strings.answeredBy(who, briefly(decision.value));
  }
}

/** Nobody was asked: whose earlier decision it was, and where that is listed. */
function ByGrant({ step, grantId }: { readonly step: AnyStep; readonly grantId: string }): ReactNode {
  const context = useStepContext();
  const { strings, grants, onShowGrant } = context;
  const grant = grants?.find((each) => each.grantId === grantId);
  const who = whoDecided(grant, context);
  const words = step.reason === "blocked" ? strings.autoDenied(who, grant?.reason) : strings.autoApproved(who);
  return (
    <p className="tr-line tr-muted">
      <VisibleText text={words} />{" "}
      {grant && onShowGrant ? (
        <button type="button" className="tr-link" onClick={() => onShowGrant(grantId)}>
          {strings.showGrant}
        </button>
      ) : null}
    </p>
  );
}

/** An answer that fits in the line; a longer one is in the details. */
function briefly(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || typeof value === "object") return undefined;
  const text = String(value);
  return text === "" || text.length > 60 || text.includes("\n") ? undefined : text;
}

function countChanges({ input }: AnyStep, { originalInput: before }: Decision): number {
  if (before === undefined) return 0;
  if (!isRecord(before) || !isRecord(input)) return 1;
  const keys = new Set([...Object.keys(before), ...Object.keys(input)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(input[key])).length;
}

/** The end of the arguments while the model still writes them, so that one sees it move. */
function Draft({ text }: { readonly text: string }): ReactNode {
  if (text === "") return null;
  const tail = text.length > 160 ? `…${text.slice(-159)}` : text;
  return (
    <p className="tr-line tr-muted tr-draft" dir="ltr">
      <VisibleText text={tail} />
    </p>
  );
}

function ProgressLine({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings } = useStepContext();
  const { value, max, label } = step.progress ?? {};
  const known = value !== undefined && max !== undefined && max > 0;
  const count = known ? strings.of(value, max) : undefined;
  return (
    <div className="tr-line tr-progress">
      {known ? <progress value={Math.min(value, max)} max={max} aria-label={step.title} /> : null}
      <span className="tr-muted tr-tabular">
        {count}
        {label && label !== count ? (
          <>
            {count ? " · " : null}
            <VisibleText text={label} />
          </>
        ) : null}
      </span>
    </div>
  );
}

function RetryLine({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings, clockOffsetMs = 0 } = useStepContext();
  const now = useNow(true);
  const left = now === null || step.retryAt === undefined ? 0 : Math.max(0, step.retryAt - clockOffsetMs - now);
  return (
    <p className="tr-line" data-tone="warn">
      {strings.retryingIn(strings.seconds(left))} · {strings.attempt(step.attempt + 1)}
      <LastError step={step} />
    </p>
  );
}

/** Tried before: what went wrong then is worth knowing while it runs again. */
function AgainLine({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings } = useStepContext();
  return (
    <p className="tr-line tr-muted">
      {strings.tryingAgain(step.attempt)}
      <LastError step={step} />
    </p>
  );
}

function LastError({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings } = useStepContext();
  if (!step.lastError) return null;
  return (
    <span className="tr-muted">
      {" · "}
      <VisibleText text={strings.lastError(step.lastError)} />
    </span>
  );
}

/** How far a sub-agent is. */
function ChildrenLine({ steps }: { readonly steps: readonly AnyStep[] }): ReactNode {
  const { strings } = useStepContext();
  return <p className="tr-line tr-muted tr-tabular">{strings.childSteps(steps.filter(isOver).length, steps.length)}</p>;
}
