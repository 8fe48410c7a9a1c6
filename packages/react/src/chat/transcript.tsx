"use client";

import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { Icon } from "../step/icon.tsx";
import { useStepContext } from "../step/step-context.ts";
import type { ChatRun } from "./chat-run.ts";
import { Message } from "./message.tsx";
import { useFollow } from "./use-follow.ts";

export interface TranscriptProps {
  readonly run: ChatRun;
  /** Shown instead of messages while there are none. */
  readonly empty: ReactNode;
  readonly scroller: RefObject<HTMLElement | null>;
  /** Shown after the last message. */
  readonly children?: ReactNode;
}

/**
 * The conversation in a scroller of its own. Not a live region, though a log: streamed text would flood a screen reader;
 * the announcer speaks instead. Nothing that arrives by itself moves focus, or the place where somebody reads.
 */
export function Transcript({ run, empty, scroller: outer, children }: TranscriptProps): ReactNode {
  const { strings } = useStepContext();
  const { scroller, content, following, jump } = useFollow();
  const isActive = run.status === "running" || run.status === "waiting";
  const sent = run.messages.filter((message) => message.role === "user").length;
  const sentBefore = useRef(sent);
  // Sending is a gesture: the reader wants to see what becomes of it.
  useEffect(() => {
    if (sent > sentBefore.current) jump();
    sentBefore.current = sent;
  }, [sent, jump]);

  return (
    <div className="tr-transcript">
      <section
        ref={(element) => {
          scroller.current = element;
          outer.current = element;
        }}
        className="tr-scroller"
        role="log"
        aria-live="off"
        aria-label={strings.conversation}
        aria-busy={run.loading || undefined}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        tabIndex={0}
        data-tr-scroller=""
      >
        <div ref={content} className="tr-content">
          {run.loading ? <p className="tr-muted tr-loading">{strings.loading}</p> : null}
          {!run.loading && run.messages.length === 0 ? empty : null}
          {/* biome-ignore lint/a11y/noRedundantRoles: without list markers Safari would not say that it is a list. */}
          <ol className="tr-messages" role="list">
            {run.messages.map((message, index) => (
              <Message
                key={message.id}
                message={message}
                queued={run.queued.some((queued) => queued.id === message.id)}
                busy={isActive && message.role === "assistant" && index === run.messages.length - 1}
                isLastRun={message.runId === run.runId}
              />
            ))}
          </ol>
          <Activity run={run} />
          {children}
        </div>
      </section>
      {following ? null : (
        <button type="button" className="tr-button tr-jump" onClick={jump}>
          <Icon name="down" /> {strings.jumpToLatest}
        </button>
      )}
    </div>
  );
}

/** What the assistant is at, while nothing else on the screen says so. */
function Activity({ run }: { readonly run: ChatRun }): ReactNode {
  const { strings } = useStepContext();
  if (run.status !== "running") return null;
  if (run.stopping) return <p className="tr-activity">{strings.stopping}</p>;
  if (run.phase !== "thinking") return null;
  return (
    <p className="tr-activity">
      <span className="tr-dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      {strings.thinking}
    </p>
  );
}
