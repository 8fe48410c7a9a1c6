"use client";

import { useEffect, useRef } from "react";
import type { ChatRun } from "./chat-run.ts";

/** A minute before the end is time to ask for more; ten seconds before it is not, but better than silence. */
const warnings = [
  { leftMs: 60_000, urgent: false },
  { leftMs: 10_000, urgent: true },
] as const;
/** A moment later than the end, so that the server agrees that it is over. */
const afterMs = 300;
/** What a browser's timer can wait for. */
const longestMs = 2 ** 31 - 1;

/** Calls back before a question runs out, for who cannot see the clock; and looks again when it has. */
export function useExpiry(
  { pending, clockOffsetMs, refresh }: Pick<ChatRun, "pending" | "clockOffsetMs" | "refresh">,
  onWarn: (title: string, leftMs: number, urgent: boolean) => void,
): void {
  const warn = useRef(onWarn);
  warn.current = onWarn;
  useEffect(() => {
    const timers = pending.flatMap(({ title, ask }) => {
      const endsInMs = (ask?.expiresAt ?? Number.POSITIVE_INFINITY) - clockOffsetMs - Date.now();
      const later = (inMs: number, action: () => void) =>
        inMs > 0 && inMs <= longestMs ? [setTimeout(action, inMs)] : [];
      return [
        ...(ask?.kind === "browser" ? [] : warnings).flatMap(({ leftMs, urgent }) =>
          later(endsInMs - leftMs, () => warn.current(title, leftMs, urgent)),
        ),
        ...later(endsInMs + afterMs, () => void refresh()),
      ];
    });
    return () => timers.forEach(clearTimeout);
  }, [pending, clockOffsetMs, refresh]);
}
