"use client";

import { type ReactNode, type RefObject, useRef } from "react";
import { useStepContext } from "../step/step-context.ts";
import { useFocusLost } from "../step/use-focus-lost.ts";
import { GrantsList, type GrantsRun, useLiveGrants } from "./grants-list.tsx";

export interface GrantsBarProps {
  readonly run: GrantsRun;
  readonly bar: RefObject<HTMLDetailsElement | null>;
  /** The last decision was taken back, and the bar went with it. */
  readonly onFocusLost: () => void;
}

/** One line that opens: what is remembered. Not there while nothing is. */
export function GrantsBar(props: GrantsBarProps): ReactNode {
  return useLiveGrants(props.run).length === 0 ? null : <Bar {...props} />;
}

function Bar({ run, bar, onFocusLost }: GrantsBarProps): ReactNode {
  const { strings } = useStepContext();
  const own = useRef<HTMLDetailsElement>(null);
  useFocusLost(own, onFocusLost);
  return (
    <details
      ref={(element) => {
        own.current = element;
        bar.current = element;
      }}
      className="tr-fold tr-grants"
    >
      <summary>{strings.grants(useLiveGrants(run).length)}</summary>
      <GrantsList run={run} />
    </details>
  );
}

/** Opens the list at one grant, in the handler of a person's press. */
export function showGrant(bar: HTMLDetailsElement | null, grantId: string): void {
  if (!bar) return;
  bar.open = true;
  const lines = [...bar.querySelectorAll<HTMLElement>("[data-grant]")];
  lines.find((line) => line.dataset.grant === grantId)?.focus();
}
