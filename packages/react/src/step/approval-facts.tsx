"use client";

import type { ReactNode } from "react";
import type { AnyStep } from "toolrun";
import { Deadline } from "./deadline.tsx";
import type { Field } from "./fields.ts";
import { Icon } from "./icon.tsx";
import { useStepContext, whoDecided } from "./step-context.ts";
import { Moment } from "./time.tsx";
import { isRecord, KeyList, ValueView } from "./value-view.tsx";
import { VisibleText } from "./visible-text.tsx";

/** A reason this short is a label beside the title; a longer one is a sentence under it. */
const maxLabel = 28;

export interface ApprovalFactsProps {
  readonly step: AnyStep;
  readonly id: string;
  /** While editing, the form shows the values. */
  readonly editing: boolean;
  readonly fields: readonly Field[];
}

/** What a person needs to know to decide: what, with which arguments, why it asks, and until when. */
export function ApprovalFacts({ step, id, editing, fields }: ApprovalFactsProps): ReactNode {
  const { strings } = useStepContext();
  const reason = step.ask?.reason;
  const label = reason !== undefined && reason.length <= maxLabel ? reason.replace(/\.$/, "") : undefined;
  return (
    <>
      <div className="tr-kicker" id={`${id}facts`}>
        <span className="tr-status" data-tone="warn">
          <Icon name="ask" /> {strings.needsApproval}
        </span>
        {label === undefined ? null : <span className="tr-label">{label}</span>}
        {step.destructive ? (
          <span className="tr-label" data-tone="danger">
            <Icon name="warn" /> {strings.destructive}
          </span>
        ) : null}
        <Deadline step={step} />
      </div>
      <h3 id={`${id}title`} className="tr-title" tabIndex={-1} data-step-heading={step.id}>
        <VisibleText text={editing ? strings.editing(step.title) : step.title} />
      </h3>
      {step.summary && !editing ? (
        <p className="tr-muted" dir="auto">
          <VisibleText text={step.summary} />
        </p>
      ) : null}
      <DeniedBefore step={step} />
      {step.ask?.prompt ? (
        <p dir="auto">
          <VisibleText text={step.ask.prompt} />
        </p>
      ) : null}
      {reason !== undefined && label === undefined ? (
        <p className="tr-muted" dir="auto">
          <VisibleText text={reason} />
        </p>
      ) : null}
      {editing ? null : <Arguments step={step} fields={fields} />}
    </>
  );
}

/** The model asks for a tool again that a person denied: that is worth knowing before saying yes. */
function DeniedBefore({ step }: { readonly step: AnyStep }): ReactNode {
  const context = useStepContext();
  const denied = step.ask?.denied;
  if (!denied) return null;
  return (
    <div className="tr-notice" data-tone="muted">
      <Icon name="block" />
      <p>
        {context.strings.deniedBefore(whoDecided(denied, context))}{" "}
        <span className="tr-muted tr-tabular">
          <Moment at={denied.at} words={(time) => time} />
        </span>
        {denied.reason ? (
          <>
            <br />
            <q dir="auto">
              <VisibleText text={denied.reason} />
            </q>
          </>
        ) : null}
      </p>
    </div>
  );
}

/** In the order of the schema, with its titles; exactly the values that run. */
function Arguments({ step, fields }: { readonly step: AnyStep; readonly fields: readonly Field[] }): ReactNode {
  const { strings } = useStepContext();
  const { input } = step;
  if (!isRecord(input)) return input === null ? null : <ValueView value={input} />;
  const shown = fields.filter((field) => field.name in input);
  if (shown.length === 0) return <p className="tr-muted">{strings.noArguments}</p>;
  const ordered = Object.fromEntries(shown.map((field) => [field.name, input[field.name] ?? null]));
  return <KeyList value={ordered} titles={new Map(shown.map((field) => [field.name, field.title]))} />;
}
