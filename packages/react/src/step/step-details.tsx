"use client";

import type { ReactNode } from "react";
import type { AnyStep, Json } from "toolrun";
import { LogPane } from "./log-pane.tsx";
import { useStepContext } from "./step-context.ts";
import { ValueView } from "./value-view.tsx";

/** Everything about a step: what went in, what came out, what it wrote on the way. */
export function StepDetails({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings } = useStepContext();
  const { decision, input, output, partial } = step;
  return (
    <>
      <Section title={strings.input} value={input} />
      {decision?.originalInput === undefined ? null : (
        <Section title={strings.proposed} value={decision.originalInput} />
      )}
      {output === undefined && partial !== undefined ? <Section title={strings.partial} value={partial} busy /> : null}
      {step.status === "succeeded" ? <Section title={strings.output} value={output ?? null} /> : null}
      {step.error?.issues?.length ? (
        <ul className="tr-values">
          {step.error.issues.map((issue) => (
            <li key={`${issue.path.join(".")}:${issue.message}`}>
              <code>{issue.path.join(".")}</code> {issue.message}
            </li>
          ))}
        </ul>
      ) : null}
      {step.status === "running" ? null : <LogPane lines={step.log} />}
      {step.attempt > 1 ? <p className="tr-muted">{strings.attempt(step.attempt)}</p> : null}
    </>
  );
}

function Section(props: { readonly title: string; readonly value: Json; readonly busy?: boolean }): ReactNode {
  return (
    <div className="tr-section" aria-busy={props.busy}>
      <h4>{props.title}</h4>
      <ValueView value={props.value} />
    </div>
  );
}
