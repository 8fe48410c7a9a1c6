"use client";

import { type ReactNode, useId } from "react";
import type { Json } from "toolrun";
import type { Strings } from "../strings.ts";
import type { Field } from "./fields.ts";
import { Icon } from "./icon.tsx";
import { useStepContext } from "./step-context.ts";
import { VisibleText } from "./visible-text.tsx";

const inputTypes: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date", time: "time" };

/** Few enough to be seen side by side. */
const maxRadios = 4;

export interface FieldInputProps {
  readonly id: string;
  readonly field: Field;
  readonly text: string;
  /** What stood there before the person changed it. */
  readonly proposed: string;
  readonly error: string | undefined;
  readonly onText: (text: string) => void;
}

/** One value of a form with its name, help, error and the way back to what was proposed. */
export function FieldInput(props: FieldInputProps): ReactNode {
  const { strings } = useStepContext();
  const { id, field, text, proposed, error, onText } = props;
  const describedBy = useId();
  const changed = text !== proposed;
  const isRadio = field.kind === "choice" && field.required && !field.nullable && field.choices.length <= maxRadios;
  const title = <VisibleText text={field.title} />;
  const optional = field.required || field.kind === "boolean" ? null : ` (${strings.optional})`;
  const control = {
    id,
    value: text,
    disabled: field.locked,
    "aria-invalid": error === undefined ? undefined : true,
    "aria-describedby": describedBy,
    className: "tr-input",
  } as const;
  return (
    <div className="tr-field" data-kind={field.kind} data-changed={changed || undefined}>
      {field.kind === "boolean" ? (
        <label className="tr-check">
          <input
            {...control}
            className={undefined}
            type="checkbox"
            value="true"
            checked={text === "true"}
            onChange={(event) => onText(String(event.target.checked))}
          />
          {title}
        </label>
      ) : isRadio ? (
        <fieldset id={id} tabIndex={-1} className="tr-options" aria-describedby={describedBy} disabled={field.locked}>
          <legend>{title}</legend>
          {field.choices.map((choice) => (
            <label key={JSON.stringify(choice)} className="tr-check">
              <input
                type="radio"
                name={id}
                value={JSON.stringify(choice)}
                checked={text === JSON.stringify(choice)}
                aria-invalid={error === undefined ? undefined : true}
                onChange={(event) => onText(event.target.value)}
              />
              {wordOf(choice, strings)}
            </label>
          ))}
        </fieldset>
      ) : (
        <>
          <label htmlFor={id}>
            {title}
            {optional}
          </label>
          {field.kind === "choice" ? (
            <select {...control} onChange={(event) => onText(event.target.value)}>
              {field.required && !field.nullable && text !== "" ? null : <option value="">{strings.none}</option>}
              {field.choices.map((choice) => (
                <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
                  {wordOf(choice, strings)}
                </option>
              ))}
            </select>
          ) : field.kind === "long" || field.kind === "json" || text.includes("\n") ? (
            <textarea
              {...control}
              rows={Math.min(8, Math.max(2, text.split("\n").length))}
              spellCheck={field.kind === "long"}
              onChange={(event) => onText(event.target.value)}
            />
          ) : (
            // Numbers too are text: a number input gives "" for "1." and swallows what it does not understand.
            <input
              {...control}
              type={inputTypes[String(field.schema.format)] ?? "text"}
              inputMode={field.kind === "number" ? "decimal" : field.kind === "integer" ? "numeric" : undefined}
              autoComplete="off"
              onChange={(event) => onText(event.target.value)}
            />
          )}
        </>
      )}
      <div id={describedBy} className="tr-field-notes">
        {error === undefined ? null : (
          <p className="tr-error">
            <Icon name="ask" /> {error}
          </p>
        )}
        {field.help === undefined ? null : <p>{field.help}</p>}
        {field.kind === "json" ? <p>{strings.jsonField}</p> : null}
        {changed && proposed !== "" ? <p className="tr-was">{strings.was(shorten(proposed))}</p> : null}
      </div>
      {changed ? (
        <button type="button" className="tr-button tr-quiet tr-undo" onClick={() => onText(proposed)}>
          <Icon name="undo" />
          <span className="tr-sr-only">{strings.resetField(field.title)}</span>
        </button>
      ) : null}
    </div>
  );
}

function wordOf(choice: Json, strings: Strings): string {
  if (typeof choice === "boolean") return choice ? strings.yes : strings.no;
  return String(choice);
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
