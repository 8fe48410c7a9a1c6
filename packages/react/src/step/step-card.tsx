"use client";

import { memo, type NamedExoticComponent, type ReactNode, useId, useState } from "react";
import type { AnyStep } from "toolrun";
import { ApprovalCard } from "./approval-card.tsx";
import { AskCard } from "./ask-card.tsx";
import { Icon } from "./icon.tsx";
import { StepBody } from "./step-body.tsx";
import { useStepContext } from "./step-context.ts";
import { StepDetails } from "./step-details.tsx";
import { isOver, stepLook } from "./step-look.ts";
import { StepSlot } from "./step-slot.tsx";
import { Elapsed } from "./time.tsx";
import { isRecord } from "./value-view.tsx";
import { VisibleText } from "./visible-text.tsx";

export interface StepCardProps {
  readonly step: AnyStep;
  readonly className?: string | undefined;
}

/** One step in whatever state it is: a question while it waits for a person, else one line that opens. */
export const StepCard: NamedExoticComponent<StepCardProps> = memo(function StepCard({
  step,
  className,
}: StepCardProps) {
  // A step can ask several times: each question begins afresh.
  if (step.ask?.kind === "approval") return <ApprovalCard key={step.ask.askedAt} step={step} className={className} />;
  if (step.ask) return <AskCard key={step.ask.askedAt} step={step} />;
  return <StepLine step={step} className={className} />;
});

function StepLine({ step, className }: StepCardProps): ReactNode {
  const { strings, slots } = useStepContext();
  const [open, setOpen] = useState(false);
  const id = useId();
  const { icon, word, tone } = stepLook(step, strings);
  const render = slots && Object.hasOwn(slots, step.tool) ? slots[step.tool] : undefined;
  // The tool's summary speaks of what the model asked for; a person who changed that must not read it as what ran.
  const isChanged = [...step.earlier, step.decision].some((decision) => decision?.originalInput !== undefined);
  const summary = !isChanged ? (step.summary ?? previewOf(step)) : previewOf(step);
  return (
    <div
      className={["tr-step", className].filter(Boolean).join(" ")}
      data-status={step.status}
      data-tone={tone}
      data-step={step.id}
    >
      <h3 className="tr-step-heading">
        <button
          type="button"
          className="tr-step-toggle"
          aria-expanded={open}
          aria-controls={`${id}details`}
          onClick={() => setOpen(!open)}
        >
          <Icon name={icon} />
          <span className="tr-step-what">
            <span className="tr-step-title">
              <VisibleText text={step.title} />
            </span>
            {summary ? " " : null}
            {summary ? (
              <span className="tr-step-summary" dir="auto">
                <VisibleText text={summary} />
              </span>
            ) : null}
          </span>
          <span className="tr-step-word">{word}</span>
          <Elapsed from={step.startedAt} to={isOver(step) ? (step.endedAt ?? step.startedAt) : undefined} />
          <Icon name="chevron" />
        </button>
      </h3>
      <StepBody step={step} />
      {render ? (
        <div className="tr-slot">
          <StepSlot step={step} render={render}>
            {null}
          </StepSlot>
        </div>
      ) : null}
      <div id={`${id}details`} className="tr-details" hidden={!open}>
        {open ? <StepDetails step={step} /> : null}
      </div>
      {step.children.length > 0 ? (
        // biome-ignore lint/a11y/noRedundantRoles: without list markers Safari would not say that it is a list.
        <ol className="tr-steps tr-children" role="list" aria-label={step.title}>
          {step.children.map((child) => (
            <li key={child.id}>
              <StepCard step={child} />
            </li>
          ))}
        </ol>
      ) : null}
    </div>
  );
}

/** Without a summary of the tool's own: the first simple values of its input, as they are. */
function previewOf({ input }: AnyStep): string | undefined {
  if (!isRecord(input)) return undefined;
  const simple = Object.values(input).filter((value) => typeof value === "string" || typeof value === "number");
  const text = simple.slice(0, 2).map(String).join(" · ");
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
