"use client";

import { type ReactNode, useSyncExternalStore } from "react";
import { useStepContext } from "./step-context.ts";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for the whole page, and none while nobody looks. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const notify of listeners) notify();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

const never = (): (() => void) => () => {};
const second = (): number => Math.floor(Date.now() / 1000) * 1000;

/** The time in whole seconds while `active`; null in server-rendered markup, which cannot know the reader's clock. */
export function useNow(active: boolean): number | null {
  return useSyncExternalStore(active ? subscribe : never, active ? second : zero, nothing);
}

const zero = (): number => 0;
const nothing = (): null => null;

interface ElapsedProps {
  readonly from: number | undefined;
  readonly to?: number | undefined;
}

/** How long something took or takes. Not spoken: a clock that talks is worse than none. */
export function Elapsed({ from, to }: ElapsedProps): ReactNode {
  const { strings, clockOffsetMs = 0 } = useStepContext();
  const now = useNow(to === undefined);
  if (from === undefined || now === null) return null;
  const ms = (to ?? now + clockOffsetMs) - from;
  if (ms < (to === undefined ? 1000 : 100)) return null; // "0.0 s" says nothing
  return (
    <span className="tr-elapsed" aria-hidden="true">
      {to === undefined ? strings.seconds(ms) : strings.span(ms)}
    </span>
  );
}

/** A moment in the reader's own time zone, filled in after hydration. */
export function Moment({ at, words }: { readonly at: number; readonly words: (time: string) => string }): ReactNode {
  const { strings } = useStepContext();
  const now = useNow(false);
  if (now === null) return null;
  return <time dateTime={new Date(at).toISOString()}>{words(strings.time(at))}</time>;
}
