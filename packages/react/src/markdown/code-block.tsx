"use client";

import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { useStepContext } from "../step/step-context.ts";
import { type MarkdownCode, OptionsContext } from "./options.ts";

const copiedMs = 2_000;

/** Code with a button that copies it; the app may draw the code itself. */
export function CodeBlock({ code, language }: MarkdownCode): ReactNode {
  const { strings } = useStepContext();
  const { renderCode } = useContext(OptionsContext);
  const [copied, setCopied] = useState(false);
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(code);
      setCopied(true);
    } catch {
      // Not allowed, or not there without https: then it is selected, one key from being copied.
      if (shown.current) getSelection()?.selectAllChildren(shown.current);
    }
  };
  return (
    <div className="tr-code" dir="ltr">
      <div className="tr-code-head">
        <span>{language}</span>
        <button type="button" className="tr-link" onClick={() => void copy()}>
          {copied ? strings.copied : strings.copy}
        </button>
      </div>
      <div ref={shown}>
        {renderCode?.({ code, language }) ?? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
          <pre tabIndex={0}>
            <code>{code}</code>
          </pre>
        )}
      </div>
    </div>
  );
}
