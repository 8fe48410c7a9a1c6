"use client";

import { type ReactNode, useId } from "react";
import type { Json } from "toolrun";
import type { Strings } from "../strings.ts";
import type { Choice, Field } from "./fields.ts";
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
  /** Somebody proposed it: one can go back to that. */
  readonly resettable: boolean;
  readonly error: string | undefined;
  readonly onText: (text: string) => void;
}

/** One value of a form with its name, help, error and the way back to what was proposed. */
export function FieldInput(props: FieldInputProps): ReactNode {
  const { strings } = useStepContext();
  const { id, field, text, proposed, error, onText } = props;
  const describedBy = useId();
  const changed = props.resettable && text !== proposed;
  const isRadio = field.kind === "choice" && field.required && !field.nullable && field.choices.length <= maxRadios;
  const isLong = field.kind === "long" || field.kind === "json" || field.kind === "list" || text.includes("\n");
  const title = <VisibleText text={field.title} />;
  const optional = field.required || field.kind === "boolean" ? null : ` (${strings.optional})`;
  // What stands for nothing typed; never typed for the person.
  const { default: fallback } = field.schema;
  const placeholder = ["string", "number"].includes(typeof fallback) ? String(fallback) : undefined;
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
      ) : isRadio || field.kind === "many" ? (
        <fieldset id={id} tabIndex={-1} className="tr-options" aria-describedby={describedBy} disabled={field.locked}>
          <legend>
            {title}
            {optional}
          </legend>
          {field.choices.map((choice) => (
            <label key={JSON.stringify(choice.value)} className="tr-check">
              <input
                type={isRadio ? "radio" : "checkbox"}
                name={id}
                value={JSON.stringify(choice.value)}
                checked={isRadio ? text === JSON.stringify(choice.value) : chosenIn(text).has(choice.value)}
                aria-invalid={error === undefined ? undefined : true}
                onChange={(event) => onText(isRadio ? event.target.value : toggled(field, text, choice, proposed))}
              />
              <VisibleText text={wordOf(choice, strings)} />
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
                <option key={JSON.stringify(choice.value)} value={JSON.stringify(choice.value)}>
                  {wordOf(choice, strings)}
                </option>
              ))}
            </select>
          ) : isLong ? (
            <textarea
              {...control}
              placeholder={placeholder}
              rows={Math.min(8, Math.max(2, text.split("\n").length))}
              spellCheck={field.kind === "long"}
              onChange={(event) => onText(event.target.value)}
            />
          ) : (
            // Numbers too are text: a number input gives "" for "1." and swallows what it does not understand.
            <input
              {...control}
              placeholder={placeholder}
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
        {field.kind === "list" ? <p>{strings.listField}</p> : null}
        {changed && proposed !== "" ? <p className="tr-was">{strings.was(shorten(proposed))}</p> : null}
      </div>
      {changed ? (
        <button
          type="button"
          className="tr-button tr-quiet tr-undo"
          onClick={() => {
            document.getElementById(id)?.focus(); // this button is about to go away
            onText(proposed);
          }}
        >
          <Icon name="undo" />
          <span className="tr-sr-only">{strings.resetField(field.title)}</span>
        </button>
      ) : null}
    </div>
  );
}

/** What a choice is called. */
export function wordOf({ value, title }: Choice, strings: Strings): string {
  if (title !== undefined) return title;
  if (typeof value === "boolean") return value ? strings.yes : strings.no;
  return String(value);
}

function chosenIn(text: string): ReadonlySet<Json> {
  try {
    const values: unknown = JSON.parse(text);
    return new Set(Array.isArray(values) ? values : []);
  } catch {
    return new Set();
  }
}

/** The choices with one more or one less, in the order of the schema; what it does not name is kept. */
function toggled({ choices }: Field, text: string, choice: Choice, proposed: string): string {
  const chosen = new Set(chosenIn(text));
  if (!chosen.delete(choice.value)) chosen.add(choice.value);
  const known = choices.map(({ value }) => value).filter((value) => chosen.delete(value));
  const values = [...known, ...chosen];
  return values.length === 0 && proposed === "" ? "" : JSON.stringify(values);
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
