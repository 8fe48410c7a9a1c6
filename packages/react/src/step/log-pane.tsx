"use client";

import { type ReactNode, useEffect, useRef } from "react";
import { useStepContext } from "./step-context.ts";
import { VisibleText } from "./visible-text.tsx";

const maxLines = 2_000;
/** Colour and cursor codes of terminals: they mean nothing here and would hide text. */
const terminalCodes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, "g");

/** The lines a tool wrote. Follows its own end until the reader scrolls up. */
export function LogPane({ lines }: { readonly lines: readonly string[] }): ReactNode {
  const { strings } = useStepContext();
  const pane = useRef<HTMLElement>(null);
  const following = useRef(true);
  useEffect(() => {
    if (pane.current && following.current && lines.length > 0) pane.current.scrollTop = pane.current.scrollHeight;
  }, [lines]);
  if (lines.length === 0) return null;
  const earlier = Math.max(0, lines.length - maxLines);
  return (
    <section
      ref={pane}
      className="tr-log"
      aria-label={strings.log}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        following.current = scrollTop + clientHeight >= scrollHeight - 4;
      }}
    >
      {earlier > 0 ? <p className="tr-muted">{strings.earlierLines(earlier)}</p> : null}
      <pre dir="ltr">
        <VisibleText text={lines.slice(earlier).join("\n").replace(terminalCodes, "")} />
      </pre>
    </section>
  );
}
