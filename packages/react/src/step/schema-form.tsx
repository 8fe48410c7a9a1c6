"use client";

import { type FormEvent, type ReactNode, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { ActionResult, Issue, Json } from "toolrun";
import { FieldInput } from "./field-input.tsx";
import { type Draft, type Field, type Leaf, leavesOf, toDraft, valueAt, withValue } from "./fields.ts";
import { readField } from "./read-field.ts";
import { useStepContext } from "./step-context.ts";
import { useDraft } from "./use-draft.ts";

export interface SchemaFormProps {
  readonly fields: readonly Field[];
  /** What the form begins with, and what "was" and Reset mean. Keys without a field are kept. */
  readonly input: Json;
  /** Under which the draft is kept for the session. */
  readonly draftKey: string;
  readonly submitLabel: (changes: number) => string;
  readonly busy: boolean;
  readonly destructive?: boolean | undefined;
  /** Gets the whole input, and how many of its values were changed. */
  readonly onSubmit: (input: Json, changes: number) => Promise<ActionResult>;
  readonly onBack?: (() => void) | undefined;
  readonly children?: ReactNode;
}

type Errors = Readonly<Record<string, string>>;

/** A form made from a JSON Schema: simple fields for scalars, JSON for the rest. The server judges what it sends. */
export function SchemaForm(props: SchemaFormProps): ReactNode {
  const { strings } = useStepContext();
  const { input, busy, onSubmit, onBack } = props;
  const fields = useMemo(() => leavesOf(props.fields), [props.fields]);
  const proposed = useMemo(() => toDraft(fields, input), [fields, input]);
  const [draft, setDraft] = useDraft(props.draftKey, proposed);
  const [errors, setErrors] = useState<Errors>({});
  const [refusal, setRefusal] = useState<string>();
  const [attempts, setAttempts] = useState(0);
  const summary = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const changes = fields.filter((field) => draft[field.name] !== proposed[field.name]).length;

  // In the commit that made the summary: focus goes there, in answer to the person's own press.
  useLayoutEffect(() => {
    if (attempts > 0) summary.current?.focus();
  }, [attempts]);
  // Opened by a press (there is a way back): focus goes in. A form that came by itself leaves focus where it is.
  const opened = onBack !== undefined;
  useEffect(() => {
    if (!opened) return;
    form.current?.querySelector<HTMLElement>("input:enabled, select:enabled, textarea:enabled")?.focus();
    form.current?.scrollIntoView?.({ block: "nearest" });
  }, [opened]);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    setRefusal(undefined);
    const read = readAll(fields, draft, proposed, input, (field, text) => readField(field, text, strings));
    setErrors(read.errors);
    if (read.value === undefined) {
      setAttempts((count) => count + 1);
      return;
    }
    const result = await onSubmit(read.value, changes);
    if (result.ok) return setDraft(proposed);
    const { byField, others } = sortIssues(result.issues ?? [], fields);
    setErrors(byField);
    setRefusal([`${strings.refused} ${result.message}`, ...others].join(" "));
    // Only where the person still is.
    if (form.current?.contains(document.activeElement)) setAttempts((count) => count + 1);
  };

  const wrong = fields.filter((field) => errors[field.name] !== undefined);
  return (
    <form
      ref={form}
      className="tr-form tr-schema-form"
      noValidate
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key === "Escape" && onBack) {
          event.stopPropagation();
          onBack();
        } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) {
          event.preventDefault();
          form.current?.requestSubmit();
        } else if (event.key === "Enter" && event.repeat) event.preventDefault(); // a held key never decides
      }}
    >
      {wrong.length > 0 || refusal !== undefined ? (
        <div ref={summary} role="alert" tabIndex={-1} className="tr-summary">
          {refusal === undefined ? null : <p>{refusal}</p>}
          {wrong.length > 0 ? (
            <p>
              {strings.needAttention(wrong.length)}:{" "}
              {wrong.map((field, index) => (
                <span key={field.name}>
                  {index > 0 ? ", " : ""}
                  <a
                    href={`#${id}${field.name}`}
                    onClick={(event) => {
                      event.preventDefault();
                      document.getElementById(`${id}${field.name}`)?.focus();
                    }}
                  >
                    {field.title}
                  </a>
                </span>
              ))}
            </p>
          ) : null}
        </div>
      ) : null}
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          id={`${id}${field.name}`}
          field={field}
          text={draft[field.name] ?? ""}
          proposed={proposed[field.name] ?? ""}
          resettable={opened}
          error={errors[field.name]}
          onText={(text) => {
            setDraft({ ...draft, [field.name]: text });
            if (errors[field.name] !== undefined) setErrors(without(errors, field.name));
          }}
        />
      ))}
      {changes > 0 && props.destructive !== undefined ? (
        <p className="tr-muted">{strings.changed(changes, fields.length)}</p>
      ) : null}
      <div className="tr-actions">
        <button
          type="submit"
          className={props.destructive ? "tr-button tr-danger" : "tr-button tr-primary"}
          aria-disabled={busy || undefined}
          aria-keyshortcuts="Control+Enter"
        >
          {busy ? strings.sending : props.submitLabel(changes)}
        </button>
        {changes > 0 && onBack ? (
          <button
            type="button"
            className="tr-button"
            onClick={() => {
              form.current?.querySelector<HTMLElement>("[type=submit]")?.focus(); // this button is about to go away
              setDraft(proposed);
              setErrors({});
            }}
          >
            {strings.reset}
          </button>
        ) : null}
        {onBack ? (
          <button type="button" className="tr-button" onClick={onBack}>
            {strings.back}
          </button>
        ) : null}
        {props.children}
      </div>
    </form>
  );
}

type Read = (field: Field, text: string) => ReturnType<typeof readField>;

/** The whole input. What was not touched stays exactly as it was; unknown keys stay too. */
function readAll(
  fields: readonly Leaf[],
  draft: Draft,
  proposed: Draft,
  input: Json,
  read: Read,
): { readonly value: Json | undefined; readonly errors: Errors } {
  let value = withValue(input, [], undefined);
  const errors: Record<string, string> = {};
  for (const field of fields) {
    const around = field.path.slice(0, -1);
    if (around.length > 0) value = withValue(value, around, valueAt(value, around) ?? {});
    const typed = draft[field.name] ?? "";
    const untouched = typed === proposed[field.name] && (valueAt(input, field.path) !== undefined || !field.required);
    if (field.locked || untouched) continue;
    const result = read(field, typed);
    if ("error" in result) errors[field.name] = result.error;
    else value = withValue(value, field.path, "omit" in result ? undefined : result.value);
  }
  return { value: Object.keys(errors).length === 0 ? value : undefined, errors };
}

/** Each issue at its field, with the place inside it where that is not the field itself. */
function sortIssues(issues: readonly Issue[], fields: readonly Leaf[]): { byField: Errors; others: readonly string[] } {
  const byField: Record<string, string> = {};
  const others: string[] = [];
  for (const { path, message } of issues) {
    const field = fields.find((candidate) => candidate.path.every((key, index) => key === String(path[index])));
    const inside = field ? path.slice(field.path.length).join(".") : "";
    const words = inside === "" ? message : `${inside}: ${message}`;
    if (!field) others.push(message);
    else byField[field.name] = byField[field.name] === undefined ? words : `${byField[field.name]} ${words}`;
  }
  return { byField, others };
}

function without(errors: Errors, name: string): Errors {
  return Object.fromEntries(Object.entries(errors).filter(([key]) => key !== name));
}
