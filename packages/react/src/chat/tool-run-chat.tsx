"use client";

import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { AnyStep, RegisteredAgent, Step, ToolName } from "toolrun";
import { type UseToolRun, type UseToolRunOptions, useToolRun } from "../hooks/use-tool-run.ts";
import { StepContext, type StepContextValue, type StepSlots } from "../step/step-context.ts";
import { en, type Strings } from "../strings.ts";
import { Announcer } from "./announcer.tsx";
import type { ChatRun } from "./chat-run.ts";
import { Composer } from "./composer.tsx";
import { hasFinePointer, headingAfter, nextHeading } from "./focus.ts";
import { GrantsBar, showGrant } from "./grants-bar.tsx";
import { type RenderText, TextContext } from "./model-text.tsx";
import { PendingBar } from "./pending-bar.tsx";
import { RunBanner } from "./run-banner.tsx";
import { Suggestions } from "./suggestions.tsx";
import { Transcript } from "./transcript.tsx";
import { useDocumentTitle } from "./use-document-title.ts";

/** Draws the result of a tool's steps; `null` leaves a step to the default card. */
export type StepRenderers<Agent = RegisteredAgent> =
  string extends ToolName<Agent>
    ? { readonly [name: string]: ((step: AnyStep) => ReactNode) | undefined }
    : { readonly [Name in ToolName<Agent>]?: ((step: Extract<Step<Agent>, { tool: Name }>) => ReactNode) | undefined };

export interface ToolRunChatProps<Agent = RegisteredAgent>
  extends Pick<UseToolRunOptions<NoInfer<Agent>>, "endpoint" | "threadId" | "initial" | "tools"> {
  /** What a person can press instead of writing, while the conversation is empty. */
  readonly suggestions?: readonly string[] | undefined;
  /** The heading of the chat. */
  readonly title?: ReactNode;
  readonly placeholder?: string | undefined;
  readonly steps?: StepRenderers<NoInfer<Agent>> | undefined;
  /**
   * Draws what the model writes, as Markdown for example; `null` leaves it to the plain text that is the default. May be
   * loaded on demand (`lazy`): until then, and where it throws, the text is plain.
   */
  readonly renderText?: RenderText | undefined;
  /** Other words, or another language: see `en`. */
  readonly strings?: Partial<Strings> | undefined;
  /** The person at this screen, so that decisions read "by you". */
  readonly user?: { readonly id: string } | undefined;
  /** The app's own `useToolRun()`, where more than the chat needs it. */
  readonly run?: UseToolRun<NoInfer<Agent>> | undefined;
  readonly className?: string | undefined;
  /** Shown after the last message, inside the transcript. */
  readonly children?: ReactNode;
}

/**
 * The whole chat: conversation, live steps, decisions and composer. Needs `@toolrun/react/ui.css` once. Steps are those
 * of the registered agent, or of another: `<ToolRunChat<typeof agent> … />`.
 */
export function ToolRunChat<Agent = RegisteredAgent>(props: ToolRunChatProps<Agent>): ReactNode {
  const { run, ...rest } = props;
  return run ? <Chat<Agent> {...rest} run={run} /> : <Connected<Agent> {...rest} />;
}

function Connected<Agent>(props: Omit<ToolRunChatProps<Agent>, "run">): ReactNode {
  const { endpoint, initial, tools } = props;
  // Absent and undefined differ: without a threadId the hook keeps the one this tab had open.
  const given = "threadId" in props ? { threadId: props.threadId } : {};
  const run = useToolRun<Agent>({ endpoint, initial, tools, ...given });
  return <Chat<Agent> {...props} run={run} />;
}

function Chat<Agent>(props: ToolRunChatProps<Agent> & { readonly run: UseToolRun<Agent> }): ReactNode {
  const run = props.run as unknown as ChatRun; // the same object: cards read steps of any tool, types of the app's only narrow
  const strings = useMemo(() => ({ ...en, ...props.strings }), [props.strings]);
  const root = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const bar = useRef<HTMLDetailsElement>(null);
  const me = useMe(run, props.user?.id);
  useDocumentTitle(run, strings);

  const { approve, deny, answer, retry, skip, extend, browserSteps, clockOffsetMs, grants } = run;
  const canDecide = run.access.decide;
  const [leave] = useState(() => (step?: AnyStep): void => {
    const heading = step && headingAfter(scroller.current, step.id);
    const target = heading ?? (hasFinePointer() ? field.current : null) ?? scroller.current;
    target?.focus({ preventScroll: target === scroller.current });
  });
  const context = useMemo((): StepContextValue => {
    return {
      strings,
      me,
      clockOffsetMs,
      browserSteps,
      actions: canDecide ? { approve, deny, answer, retry, skip, extend } : null,
      grants,
      onShowGrant: (grantId) => showGrant(bar.current, grantId),
      slots: props.steps as StepSlots | undefined, // a slot is only ever given steps of the tool it is named after
      onDecided: leave,
      onFocusLost: leave,
    };
  }, [
    strings,
    me,
    clockOffsetMs,
    browserSteps,
    canDecide,
    grants,
    leave,
    approve,
    deny,
    answer,
    retry,
    skip,
    extend,
    props.steps,
  ]);

  const review = (back: boolean): void => {
    const heading = nextHeading(scroller.current, back);
    heading?.closest("[data-step]")?.scrollIntoView({ block: "nearest" });
    heading?.focus({ preventScroll: true });
  };
  const latest = useRef(review);
  latest.current = review;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== "F8" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (!root.current?.querySelector("[data-step-heading]")) return;
      event.preventDefault();
      latest.current(event.shiftKey);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  const suggestions = (
    <Suggestions
      suggestions={props.suggestions ?? []}
      onPick={(text) => {
        field.current?.focus({ preventScroll: true });
        void run.send(text);
      }}
    />
  );
  return (
    <StepContext.Provider value={context}>
      <div
        ref={root}
        className={["tr tr-chat", props.className].filter(Boolean).join(" ")}
        data-status={run.status}
        data-phase={run.phase}
      >
        {props.title ? <header className="tr-header">{props.title}</header> : null}
        <GrantsBar run={run} bar={bar} onFocusLost={() => leave()} />
        <TextContext.Provider value={props.renderText}>
          <Transcript run={run} scroller={scroller} empty={suggestions}>
            {props.children}
          </Transcript>
        </TextContext.Provider>
        <div className="tr-foot">
          <RunBanner run={run} />
          <PendingBar run={run} scroller={scroller} onReview={() => review(false)} />
          <Composer run={run} field={field} placeholder={props.placeholder} />
        </div>
        <Announcer run={run} />
      </div>
    </StepContext.Provider>
  );
}

/** Who sits here: what the app says, else whoever's decision this tab was seen to send. */
function useMe(run: ChatRun, given: string | undefined): string | undefined {
  const [learned, setLearned] = useState<string>();
  const sent = useRef(new Set<string>());
  useEffect(() => {
    for (const step of run.pending) if (step.sending) sent.current.add(step.id);
    if (given !== undefined || sent.current.size === 0) return;
    const by = run.steps.find((step) => step.decision?.via === "browser" && sent.current.has(step.id))?.decision?.by;
    if (by) setLearned(by.id);
  }, [run.steps, run.pending, given]);
  return given ?? learned;
}
