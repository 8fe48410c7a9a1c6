"use client";

import { type ReactNode, useId, useMemo, useState } from "react";
import type { AnyStep, Json } from "toolrun";
import { type Field, titleOfKey, toFields } from "./fields.ts";
import { Icon } from "./icon.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { useStepContext } from "./step-context.ts";
import { useAsk } from "./use-ask.ts";
import { isRecord, KeyList } from "./value-view.tsx";
import { VisibleText } from "./visible-text.tsx";

/** A step that needs something else than a yes: an answer, a visit to a page, this browser, or word after a crash. */
export function AskCard({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings, actions } = useStepContext();
  const { card, busy, fresh, refusal, decide } = useAsk(step);
  const id = useId();
  const kind = step.ask?.kind;
  const word = {
    approval: strings.needsApproval,
    question: strings.needsAnswer,
    link: strings.needsLink,
    browser: strings.needsBrowser,
    interrupted: strings.interrupted,
  }[kind ?? "question"];
  const act = (name: "retry" | "skip") => (): void => {
    if (actions && !busy && !fresh) void decide(() => actions[name](step));
  };
  const skip = (
    <button type="button" className="tr-button" aria-disabled={busy || fresh || undefined} onClick={act("skip")}>
      {strings.skip}
    </button>
  );
  const prompt = step.ask?.prompt ?? (kind === "question" ? promptOf(step.input) : undefined);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would bring its own look and its own label.
    <div
      ref={card}
      role="group"
      className="tr-card tr-ask"
      aria-labelledby={`${id}title`}
      data-status="waiting"
      data-kind={kind}
      data-step={step.id}
    >
      <div className="tr-kicker">
        <span className="tr-status" data-tone={kind === "interrupted" ? "danger" : "warn"}>
          <Icon name={kind === "interrupted" ? "warn" : "ask"} /> {word}
        </span>
      </div>
      <h3 id={`${id}title`} className="tr-title" tabIndex={-1} data-step-heading={step.id}>
        <VisibleText text={prompt ?? step.title} />
      </h3>
      {kind === "interrupted" ? <p>{strings.interruptedText}</p> : null}
      {kind === "browser" ? <p>{strings.browserText}</p> : null}
      {kind !== "question" && isRecord(step.input) ? (
        <KeyList value={step.input} titles={titlesOf(step.input)} />
      ) : null}
      {refusal === undefined || kind === "question" ? null : (
        <p role="alert" className="tr-notice" data-tone="danger">
          <Icon name="ask" /> <span>{refusal}</span>
        </p>
      )}
      {actions === null ? <p className="tr-muted">{strings.readOnlyViewer}</p> : null}
      {actions && kind === "question" ? (
        <Question
          step={step}
          busy={busy}
          onAnswer={(value) => decide(() => actions.answer(step, { value }))}
          skip={skip}
        />
      ) : null}
      {actions && kind === "link" ? (
        <>
          <LinkOut url={step.ask?.url} />
          <div className="tr-actions">
            <button
              type="button"
              className="tr-button tr-strong"
              aria-disabled={busy || fresh || undefined}
              onClick={() => busy || fresh || void decide(() => actions.answer(step, { value: true }))}
            >
              {busy ? strings.sending : strings.done}
            </button>
            {skip}
          </div>
        </>
      ) : null}
      {actions && kind === "interrupted" ? (
        <div className="tr-actions">
          <button
            type="button"
            className="tr-button tr-strong"
            aria-disabled={busy || fresh || undefined}
            onClick={act("retry")}
          >
            {busy ? strings.sending : strings.retry}
          </button>
          {skip}
        </div>
      ) : null}
      {actions && kind === "browser" ? <div className="tr-actions">{skip}</div> : null}
    </div>
  );
}

/** One field for a simple answer, several for an object; the same form as for editing arguments. */
function Question(props: {
  readonly step: AnyStep;
  readonly busy: boolean;
  readonly onAnswer: (value: Json) => ReturnType<ReturnType<typeof useAsk>["decide"]>;
  readonly skip: ReactNode;
}): ReactNode {
  const { strings } = useStepContext();
  const { step, busy, onAnswer, skip } = props;
  const schema = step.ask?.schema;
  const whole = isRecord(schema) && isRecord(schema.properties);
  const fields = useMemo((): readonly Field[] => {
    if (whole) return toFields(schema, {});
    const answer = { title: strings.answerLabel, ...(isRecord(schema) ? schema : { type: "string" }) };
    return toFields({ properties: { answer }, required: ["answer"] }, {});
  }, [schema, whole, strings]);
  const [empty] = useState({}); // the same object on every render: the form compares with it
  return (
    <SchemaForm
      fields={fields}
      input={empty}
      draftKey={step.id}
      busy={busy}
      submitLabel={() => strings.sendAnswer}
      onSubmit={(value) => onAnswer(whole ? (value ?? {}) : isRecord(value) ? (value.answer ?? null) : null)}
    >
      {skip}
    </SchemaForm>
  );
}

/** Only web addresses and paths of this site become links: the address may come from a model. */
function LinkOut({ url }: { readonly url: string | undefined }): ReactNode {
  const { strings } = useStepContext();
  if (url === undefined) return null;
  const safe = /^https?:\/\//i.test(url) || /^\/(?![/\\])/.test(url);
  if (!safe) {
    return (
      <p>
        <VisibleText text={url} /> <span className="tr-muted">{strings.unsafeLink}</span>
      </p>
    );
  }
  return (
    <p>
      <a className="tr-anchor" href={url} target="_blank" rel="noopener noreferrer nofollow">
        {strings.openLink} <bdi dir="ltr">{url.replace(/^https?:\/\//i, "")}</bdi>
      </a>
    </p>
  );
}

function titlesOf(input: Readonly<Record<string, Json>>): ReadonlyMap<string, string> {
  return new Map(Object.keys(input).map((key) => [key, titleOfKey(key)]));
}

/** A question tool's own input often holds the question. */
function promptOf(input: Json): string | undefined {
  if (!isRecord(input)) return undefined;
  const { question, prompt } = input;
  return typeof question === "string" ? question : typeof prompt === "string" ? prompt : undefined;
}
