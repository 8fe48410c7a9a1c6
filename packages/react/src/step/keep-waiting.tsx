"use client";

import { type ReactNode, useState } from "react";
import type { AnyStep } from "toolrun";
import { useStepContext } from "./step-context.ts";

/** Gives a question that runs out its time again, from now. */
export function KeepWaiting({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings, actions } = useStepContext();
  const [posting, setPosting] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const extendMs = step.ask?.extendMs;
  if (!actions || extendMs === undefined) return null;
  const off = posting || step.sending;
  const keep = async (): Promise<void> => {
    setPosting(true);
    setRefusal(undefined);
    const result = await actions.extend(step);
    setPosting(false);
    if (!result.ok) setRefusal(`${strings.refused} ${result.message}`);
  };
  return (
    <>
      <button
        type="button"
        className="tr-button tr-keep"
        aria-disabled={off || undefined}
        onClick={() => void (off || keep())}
      >
        {posting ? strings.sending : strings.keepWaiting(strings.period(extendMs))}
      </button>
      {refusal === undefined ? null : (
        <span role="alert" className="tr-error">
          {refusal}
        </span>
      )}
    </>
  );
}
