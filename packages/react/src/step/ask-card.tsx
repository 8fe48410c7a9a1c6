"use client";

import { type ReactNode, useId } from "react";
import type { AnyStep, Json } from "toolrun";
import { BrowserWait } from "./browser-wait.tsx";
import { Deadline } from "./deadline.tsx";
import { titleOfKey } from "./fields.ts";
import { Icon } from "./icon.tsx";
import { LinkOut } from "./link-out.tsx";
import { QuestionForm } from "./question-form.tsx";
import { useStepContext } from "./step-context.ts";
import { useAsk } from "./use-ask.ts";
import { isRecord, KeyList } from "./value-view.tsx";
import { VisibleText } from "./visible-text.tsx";

/** A step that needs something else than a yes: an answer, a visit to a page, a browser, or word after a crash. */
export function AskCard({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings, actions } = useStepContext();
  const { card, busy, fresh, refusal, decide } = useAsk(step);
  const id = useId();
  const kind = step.ask?.kind ?? "question";
  const word = {
    approval: strings.needsApproval,
    question: strings.needsAnswer,
    link: strings.needsLink,
    browser: strings.needsBrowser,
    interrupted: strings.interrupted,
  }[kind];
  const off = busy || fresh;
  const act = (name: "retry" | "skip") => (): void => {
    if (actions && !off) void decide(() => actions[name](step));
  };
  const skip = (
    <button type="button" className="tr-button" aria-disabled={off || undefined} onClick={act("skip")}>
      {strings.skip}
    </button>
  );
  const prompt = step.ask?.prompt ?? (kind === "question" ? promptOf(step.input) : undefined);
  // What a person is asked says it all; what a browser or a broken step was to do stands in its arguments.
  const showsInput = kind === "browser" || kind === "interrupted";
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would bring its own look and its own label.
    <div
      ref={card}
      role="group"
      className="tr-card tr-ask"
      aria-labelledby={`${id}title`}
      aria-describedby={`${id}kicker`}
      data-status="waiting"
      data-kind={kind}
      data-step={step.id}
    >
      <div className="tr-kicker" id={`${id}kicker`}>
        <span className="tr-status" data-tone={kind === "interrupted" ? "danger" : "warn"}>
          <Icon name={kind === "interrupted" ? "warn" : "ask"} /> {word}
        </span>
        {prompt === undefined || kind === "question" ? null : (
          <span className="tr-label">
            <VisibleText text={step.title} />
          </span>
        )}
        <Deadline step={step} />
      </div>
      <h3 id={`${id}title`} className="tr-title" tabIndex={-1} data-step-heading={step.id} dir="auto">
        <VisibleText text={prompt ?? step.title} />
      </h3>
      {kind === "interrupted" ? <p>{strings.interruptedText}</p> : null}
      {kind === "browser" ? <BrowserWait step={step} fresh={fresh} /> : null}
      {showsInput && isRecord(step.input) && Object.keys(step.input).length > 0 ? (
        <KeyList value={step.input} titles={titlesOf(step.input)} />
      ) : null}
      {refusal === undefined || kind === "question" ? null : (
        <p role="alert" className="tr-notice" data-tone="danger">
          <Icon name="ask" /> <span>{refusal}</span>
        </p>
      )}
      {actions === null ? <p className="tr-muted">{strings.readOnlyViewer}</p> : null}
      {actions && kind === "question" ? (
        <QuestionForm
          step={step}
          off={off}
          busy={busy}
          refusal={refusal}
          onAnswer={(value, stay) => decide(() => actions.answer(step, { value }), stay)}
          skip={skip}
        />
      ) : null}
      {actions && kind === "link" ? (
        <LinkOut
          url={step.ask?.url}
          off={off}
          busy={busy}
          onDone={() => void decide(() => actions.answer(step, { value: null }))}
          skip={skip}
        />
      ) : null}
      {actions && kind === "interrupted" ? (
        <div className="tr-actions">
          <button
            type="button"
            className="tr-button tr-strong"
            aria-disabled={off || undefined}
            data-busy={busy || undefined}
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

function titlesOf(input: Readonly<Record<string, Json>>): ReadonlyMap<string, string> {
  return new Map(Object.keys(input).map((key) => [key, titleOfKey(key)]));
}

/** A question tool's own input often holds the question. */
function promptOf(input: Json): string | undefined {
  if (!isRecord(input)) return undefined;
  const { question, prompt } = input;
  return typeof question === "string" ? question : typeof prompt === "string" ? prompt : undefined;
}
