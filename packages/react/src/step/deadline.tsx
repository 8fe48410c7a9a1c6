"use client";

import type { ReactNode } from "react";
import type { AnyStep } from "toolrun";
import { KeepWaiting } from "./keep-waiting.tsx";
import { useStepContext } from "./step-context.ts";
import { Moment, useNow } from "./time.tsx";

/** Since when a step waits, until when it does, and a way to make it wait longer. */
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
      {left === undefined ? null : (
        <span className="tr-left" data-soon={left <= 60_000 || undefined}>
          {strings.expiresIn(left > 60_000 ? strings.minutes(left) : strings.seconds(left))}
        </span>
      )}
      <KeepWaiting step={step} />
    </span>
  );
}
