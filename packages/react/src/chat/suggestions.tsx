"use client";

import type { ReactNode } from "react";
import { useStepContext } from "../step/step-context.ts";

export interface SuggestionsProps {
  readonly suggestions: readonly string[];
  readonly onPick: (text: string) => void;
}

/** An empty conversation: what the assistant is for, and a first thing to press. */
export function Suggestions({ suggestions, onPick }: SuggestionsProps): ReactNode {
  const { strings } = useStepContext();
  return (
    <div className="tr-welcome">
      <h2>{strings.emptyTitle}</h2>
      <p className="tr-muted">{strings.emptyText}</p>
      {suggestions.length > 0 ? (
        // biome-ignore lint/a11y/noRedundantRoles: without list markers Safari would not say that it is a list.
        <ul className="tr-suggestions" role="list">
          {suggestions.map((text, index) => (
            <li key={text}>
              <button
                type="button"
                className="tr-suggestion"
                data-first={index === 0 || undefined}
                onClick={() => onPick(text)}
              >
                {text}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
