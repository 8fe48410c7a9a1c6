"use client";

import { type FormEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import type { ActionResult, Issue, Json } from "toolrun";
import { FieldInput } from "./field-input.tsx";
import { type Draft, type Field, readField, toDraft } from "./fields.ts";
import { useStepContext } from "./step-context.ts";
import { useDraft } from "./use-draft.ts";
import { isRecord } from "./value-view.tsx";

export interface SchemaFormProps {
  readonly fields: readonly Field[];
  /** What the form begins with, and what "was" and Reset mean. Keys without a field are kept. */
  readonly input: Json;
  /** Under which the draft is kept for the session. */
  readonly draftKey: string;
  readonly submitLabel: (changes: number) => string;
  readonly busy: boolean;
  readonly destructive?: boolean | undefined;
  /** Gets the whole input, or undefined where nothing was changed. */
  readonly onSubmit: (input: Json | undefined) => Promise<ActionResult>;
  readonly onBack?: (() => void) | undefined;
  readonly children?: ReactNode;
}

type Errors = Readonly<Record<string, string>>;

/** A form made from a JSON Schema: simple fields for scalars, JSON for the rest. The server judges what it sends. */
export function SchemaForm(props: SchemaFormProps): ReactNode {
  const { strings } = useStepContext();
  const { fields, input, busy, onSubmit, onBack } = props;
  const proposed = useMemo(() => toDraft(fields, input), [fields, input]);
  const [draft, setDraft] = useDraft(props.draftKey, proposed);
  const [errors, setErrors] = useState<Errors>({});
  const [refusal, setRefusal] = useState<string>();
  const [attempts, setAttempts] = useState(0);
  const summary = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const changes = fields.filter((field) => draft[field.name] !== proposed[field.name]).length;

  // After the render that made the summary: focus goes there, in answer to the person's own press.
  useEffect(() => {
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
    const result = await onSubmit(changes === 0 ? undefined : read.value);
    if (result.ok) return setDraft(proposed);
    const { byField, others } = sortIssues(result.issues ?? [], fields);
    setErrors(byField);
    setRefusal([`${strings.refused} ${result.message}`, ...others].join(" "));
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
  fields: readonly Field[],
  draft: Draft,
  proposed: Draft,
  input: Json,
  read: Read,
): { readonly value: Json | undefined; readonly errors: Errors } {
  const before = isRecord(input) ? input : {};
  const entries = new Map<string, Json>(Object.entries(before));
  const errors: Record<string, string> = {};
  for (const field of fields) {
    const typed = draft[field.name] ?? "";
    const untouched = typed === proposed[field.name] && (field.name in before || !field.required);
    if (field.locked || untouched) continue;
    const result = read(field, typed);
    if ("error" in result) errors[field.name] = result.error;
    else if ("omit" in result) entries.delete(field.name);
    else entries.set(field.name, result.value);
  }
  return { value: Object.keys(errors).length === 0 ? Object.fromEntries(entries) : undefined, errors };
}

function sortIssues(
  issues: readonly Issue[],
  fields: readonly Field[],
): { byField: Errors; others: readonly string[] } {
  const byField: Record<string, string> = {};
  const others: string[] = [];
  for (const issue of issues) {
    const field = fields.find((candidate) => candidate.name === String(issue.path[0]));
    if (field) byField[field.name] = issue.message;
    else others.push(issue.message);
  }
  return { byField, others };
}

function without(errors: Errors, name: string): Errors {
  return Object.fromEntries(Object.entries(errors).filter(([key]) => key !== name));
}
