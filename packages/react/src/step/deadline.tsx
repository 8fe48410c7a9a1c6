"use client";

import type { ReactNode } from "react";
import type { AnyStep } from "toolrun";
import { useStepContext } from "./step-context.ts";
import { Moment, useNow } from "./time.tsx";

/** Since when a step waits, and until when it does. */
export function Deadline({ step }: { readonly step: AnyStep }): ReactNode {
  const { strings, clockOffsetMs = 0 } = useStepContext();
  const expiresAt = step.ask?.expiresAt;
  const now = useNow(expiresAt !== undefined);
  if (!step.ask) return null;
  const left = expiresAt === undefined || now === null ? undefined : Math.max(0, expiresAt - clockOffsetMs - now);
  return (
    <span className="tr-when">
      <Moment at={step.ask.askedAt} words={strings.requestedAt} />
      {/* Minutes until the last one: a clock that counts down all the time only presses. */}
      {left === undefined
        ? null
        : ` · ${strings.expiresIn(left > 60_000 ? strings.minutes(left) : strings.seconds(left))}`}
    </span>
  );
}
