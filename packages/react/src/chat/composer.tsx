"use client";

import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import type { ActionResult } from "toolrun";
import { Icon } from "../step/icon.tsx";
import { useStepContext } from "../step/step-context.ts";
import type { ChatRun } from "./chat-run.ts";

const twiceWithinMs = 1_000;

export interface ComposerProps {
  readonly run: ChatRun;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly placeholder?: string | undefined;
}

/** Where a person writes. Enter sends, Shift+Enter breaks the line, and Stop is at hand while the assistant works. */
export function Composer({ run, field, placeholder }: ComposerProps): ReactNode {
  const { strings } = useStepContext();
  const [text, setText] = useState("");
  const [refusal, setRefusal] = useState<string>();
  const lastEscape = useRef(0);
  const id = useId();
  const isActive = run.status === "running" || run.status === "waiting";
  const isHeld = run.status === "waiting" && run.pending.length > 0;
  const isEmpty = text.trim() === "";

  // For browsers without field-sizing: as tall as the text, within what the style sheet allows.
  useEffect(() => {
    const element = field.current;
    if (!element || (typeof CSS !== "undefined" && CSS.supports?.("field-sizing", "content"))) return;
    element.style.blockSize = "auto";
    if (text !== "") element.style.blockSize = `${element.scrollHeight + 2}px`;
  }, [text, field]);

  const send = async (options?: { readonly pending: "deny" }): Promise<void> => {
    if (isEmpty || !run.access.send) return;
    setText("");
    setRefusal(undefined);
    field.current?.focus();
    const result: ActionResult = await run.send(text, options);
    if (result.ok) return;
    setRefusal(`${strings.notSent} ${result.message}`);
    setText((now) => (now === "" ? text : now)); // nothing that was written is lost
  };
  const stop = (): void => {
    if (isActive && !run.stopping) void run.stop();
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key === "Escape" && isActive) {
      const now = Date.now();
      if (now - lastEscape.current < twiceWithinMs) stop();
      lastEscape.current = now;
    }
    // Enter while an input method composes a word belongs to the word.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat) void send();
  };

  if (!run.access.send) return null;
  return (
    <form
      className="tr-composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {refusal === undefined ? null : (
        <p role="alert" className="tr-error">
          <Icon name="ask" /> {refusal}
        </p>
      )}
      <div className="tr-compose">
        <label htmlFor={id} className="tr-sr-only">
          {strings.messageLabel}
        </label>
        <textarea
          id={id}
          ref={field}
          rows={1}
          value={text}
          placeholder={placeholder ?? strings.placeholder}
          enterKeyHint="send"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {isActive ? (
          <button type="button" className="tr-button tr-stop" aria-disabled={run.stopping || undefined} onClick={stop}>
            <Icon name="stop" /> {run.stopping ? strings.stopping : strings.stop}
          </button>
        ) : null}
        {isHeld || (isActive && isEmpty) ? null : (
          <button
            type="submit"
            className="tr-button tr-primary tr-send"
            aria-disabled={isEmpty || undefined}
            aria-label={strings.send}
          >
            <Icon name="up" />
          </button>
        )}
      </div>
      {isHeld && !isEmpty ? (
        <div className="tr-actions">
          <button type="submit" className="tr-button tr-strong">
            {strings.sendAfterDeciding}
          </button>
          <button type="button" className="tr-button" onClick={() => void send({ pending: "deny" })}>
            {strings.denyAllAndSend}
          </button>
        </div>
      ) : null}
    </form>
  );
}
