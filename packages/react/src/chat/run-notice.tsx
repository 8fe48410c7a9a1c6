"use client";

import type { ReactNode } from "react";
import type { NoticePart } from "toolrun";
import { Icon } from "../step/icon.tsx";
import { useStepContext } from "../step/step-context.ts";
import type { Strings } from "../strings.ts";

/** Why an earlier run ended otherwise than by its answer: one quiet line in its place. */
export function RunNotice({ notice }: { readonly notice: NoticePart }): ReactNode {
  const { strings, me } = useStepContext();
  return (
    <p className="tr-line tr-muted tr-ended">
      <Icon name={notice.outcome === "failed" ? "warn" : "stop"} /> {noticeWords(notice, strings, me)}
    </p>
  );
}

/** The end of a run in words. */
export function noticeWords(notice: Omit<NoticePart, "type">, strings: Strings, me: string | undefined): string {
  const { outcome, limit, code, by } = notice;
  if (outcome === "limited") return limit ? strings.limits[limit] : strings.limits.turns;
  if (outcome === "stopped") return strings.stoppedBy(by ? (by.id === me ? strings.you : (by.name ?? null)) : null);
  return (code !== undefined && Object.hasOwn(strings.runCodes, code) && strings.runCodes[code]) || strings.runFailed;
}
