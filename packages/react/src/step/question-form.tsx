"use client";

import { type ReactNode, useMemo, useState } from "react";
import type { ActionResult, AnyStep, Json } from "toolrun";
import { wordOf } from "./field-input.tsx";
import { type Choice, type Field, toFields } from "./fields.ts";
import { Icon } from "./icon.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { useStepContext } from "./step-context.ts";
import { isRecord } from "./value-view.tsx";
import { VisibleText } from "./visible-text.tsx";

/** More than these are a list to choose from, not a row of buttons. */
const maxButtons = 6;

export interface QuestionFormProps {
  readonly step: AnyStep;
  /** Nothing decides now: an answer is on its way, or the card has only just come up. */
  readonly off: boolean;
  readonly busy: boolean;
  readonly refusal: string | undefined;
  /** `stay`: focus is needed here again where the answer is not taken. */
  readonly onAnswer: (value: Json, stay: boolean) => Promise<ActionResult>;
  readonly skip: ReactNode;
}

/** A few choices are buttons; anything else is a form: one field for a simple answer, several for an object. */
export function QuestionForm({ step, off, busy, refusal, onAnswer, skip }: QuestionFormProps): ReactNode {
  const { strings } = useStepContext();
  const schema = step.ask?.schema;
  const whole = isRecord(schema) && isRecord(schema.properties);
  const fields = useMemo((): readonly Field[] => {
    if (whole) return toFields(schema, {});
    const text = { minLength: 1, ...(isRecord(schema) ? schema : { type: "string" }) };
    return toFields({ properties: { answer: { title: strings.answerLabel, ...text } }, required: ["answer"] }, {});
  }, [schema, whole, strings]);
  const [empty] = useState({}); // the same object on every render: the form compares with it
  const choices = whole ? [] : choicesOf(fields[0]);

  if (choices.length > 0 && choices.length <= maxButtons) {
    return (
      <>
        {refusal === undefined ? null : (
          <p role="alert" className="tr-notice" data-tone="danger">
            <Icon name="ask" /> <span>{refusal}</span>
          </p>
        )}
        <div className="tr-actions tr-choices">
          {choices.map((choice) => (
            <button
              key={JSON.stringify(choice.value)}
              type="button"
              className="tr-button tr-strong"
              aria-disabled={off || undefined}
              data-busy={busy || undefined}
              onClick={() => off || void onAnswer(choice.value, false)}
            >
              <VisibleText text={wordOf(choice, strings)} />
            </button>
          ))}
          {skip}
        </div>
        {busy ? <p className="tr-muted">{strings.sending}</p> : null}
      </>
    );
  }
  return (
    <SchemaForm
      fields={fields}
      input={empty}
      draftKey={`${step.id}:${step.ask?.askedAt}`}
      busy={busy}
      submitLabel={() => strings.sendAnswer}
      onSubmit={async (value) => {
        if (whole) return onAnswer(value, true);
        const result = await onAnswer(isRecord(value) ? (value.answer ?? null) : null, true);
        return result.ok ? result : { ...result, issues: result.issues?.map(asAnswer) };
      }}
    >
      {skip}
    </SchemaForm>
  );
}

/** What a single answer is chosen from; none where it is typed. */
function choicesOf(field: Field | undefined): readonly Choice[] {
  if (field?.kind === "boolean") return [{ value: true }, { value: false }];
  return field?.kind === "choice" ? field.choices : [];
}

/** The server speaks of the answer itself, the form of a field. */
function asAnswer<Found extends { readonly path: readonly (string | number)[] }>(issue: Found): Found {
  return { ...issue, path: ["answer", ...issue.path] };
}
