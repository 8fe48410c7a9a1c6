"use client";

import { type ReactNode, useMemo } from "react";
import type { AnyStep, ThreadSnapshot, ViewTurn } from "toolrun";
import { Icon } from "../step/icon.tsx";
import { StepContext, useStepContext } from "../step/step-context.ts";
import { stepLook } from "../step/step-look.ts";
import { useNow } from "../step/time.tsx";
import { VisibleText } from "../step/visible-text.tsx";
import type { Strings } from "../strings.ts";
import { allStretches, type Stretch, type TimeRow, timeOf, timeRows, toScale } from "./time-rows.ts";

/** What the timeline reads: `useToolRun` returns an object that fits. */
export interface TimelineRun extends Pick<ThreadSnapshot, "status" | "clockOffsetMs"> {
  readonly turns: readonly (Omit<ViewTurn, "steps"> & { readonly steps: readonly object[] })[];
}

export interface RunTimelineProps {
  readonly run: TimelineRun;
  /** Other words, or another language: see `en`. Inside `<ToolRunChat>` its words are used. */
  readonly strings?: Partial<Strings> | undefined;
  readonly className?: string | undefined;
}

/**
 * What the active or last run spent its time and tokens on: its model calls and steps in order, those of sub-agents
 * below theirs, each with a bar. A list first; the bars say nothing that the words do not. Needs an element of class `tr`
 * around it and `@toolrun/react/ui.css`.
 */
export function RunTimeline({ run, strings: own, className }: RunTimelineProps): ReactNode {
  const context = useStepContext();
  const value = useMemo(
    () => (own ? { ...context, strings: { ...context.strings, ...own } } : context),
    [context, own],
  );
  const { strings } = value;
  const isActive = run.status === "running" || run.status === "waiting";
  const now = useNow(isActive);
  const turns = run.turns as readonly ViewTurn[]; // steps of any tool: an app's types only narrow them
  const rows = timeRows(turns, now === null ? (turns.at(-1)?.startedAt ?? 0) : now + run.clockOffsetMs);
  const stretches = allStretches(rows);
  return (
    <StepContext.Provider value={value}>
      <section
        className={["tr-timeline", className].filter(Boolean).join(" ")}
        aria-label={strings.timeline}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and must be reachable by keyboard then.
        tabIndex={0}
      >
        {rows.length === 0 ? (
          <p className="tr-muted">{strings.noTimeline}</p>
        ) : (
          <>
            <p className="tr-muted tr-tabular">
              {[
                strings.inAll(strings.span(timeOf(stretches))),
                waitedWords(timeOf(stretches, "wait"), strings),
                tokenWords(turns, strings),
              ]
                .filter(Boolean)
                .join(" · ")}
            </p>
            <Rows rows={rows} place={toScale(stretches)} />
          </>
        )}
      </section>
    </StepContext.Provider>
  );
}

function Rows({ rows, place }: { readonly rows: readonly TimeRow[]; readonly place: Place }): ReactNode {
  if (rows.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noRedundantRoles: without list markers Safari would not say that it is a list.
    <ol role="list">
      {rows.map((row) => (
        <li key={row.type === "turn" ? `${row.turn.startedAt} ${row.turn.turn}` : row.step.id}>
          {row.type === "turn" ? <TurnLine row={row} turn={row.turn} /> : <StepLine row={row} step={row.step} />}
          <Bar stretches={row.stretches} place={place} />
          <Rows rows={row.children} place={place} />
        </li>
      ))}
    </ol>
  );
}

function TurnLine({ row, turn }: { readonly row: TimeRow; readonly turn: ViewTurn }): ReactNode {
  const { strings } = useStepContext();
  const isFailed = turn.status === "failed";
  return (
    <p className="tr-time-line">
      <span className="tr-step-title">{strings.round(turn.turn)}</span>
      <Facts
        facts={[
          isFailed ? strings.failed : turn.status === "open" ? strings.working : undefined,
          turn.attempt > 1 ? strings.attempt(turn.attempt) : undefined,
          strings.span(timeOf(row.stretches)),
          tokenWords([turn], strings),
        ]}
      />
    </p>
  );
}

function StepLine({ row, step }: { readonly row: TimeRow; readonly step: AnyStep }): ReactNode {
  const { strings } = useStepContext();
  const look = stepLook(step, strings);
  const work = timeOf(row.stretches, "work");
  return (
    <p className="tr-time-line" data-tone={look.tone}>
      <span>
        <Icon name={look.icon} /> <VisibleText text={step.title} />{" "}
        {step.summary ? (
          <span className="tr-step-summary">
            <VisibleText text={step.summary} />
          </span>
        ) : null}
      </span>
      <Facts
        facts={[
          look.word,
          step.attempt > 1 ? strings.attempt(step.attempt) : undefined,
          step.startedAt === undefined ? undefined : strings.span(work),
          waitedWords(timeOf(row.stretches, "wait"), strings),
        ]}
      />
    </p>
  );
}

function Facts({ facts }: { readonly facts: readonly (string | undefined)[] }): ReactNode {
  return <span className="tr-muted tr-tabular">{facts.filter(Boolean).join(" · ")}</span>;
}

type Place = (at: number) => number;

/** Rectangles, not styles: a strict policy refuses styles in server-rendered markup. */
function Bar({ stretches, place }: { readonly stretches: readonly Stretch[]; readonly place: Place }): ReactNode {
  return (
    <svg className="tr-time-bar" viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {stretches.map(({ kind, from, to }) => (
        <rect
          key={`${kind} ${from}`}
          data-kind={kind}
          x={Math.min(place(from) * 1000, 994)}
          width={Math.max((place(to) - place(from)) * 1000, 6)}
          height={6}
        />
      ))}
    </svg>
  );
}

function waitedWords(ms: number, strings: Strings): string | undefined {
  return ms < 100 ? undefined : strings.waited(strings.span(ms));
}

function tokenWords(turns: readonly ViewTurn[], strings: Strings): string | undefined {
  const sum = (name: "inputTokens" | "outputTokens"): number =>
    turns.reduce((total, { usage }) => total + (usage?.[name] ?? 0), 0);
  const [input, output] = [sum("inputTokens"), sum("outputTokens")];
  return input + output === 0 ? undefined : strings.tokens(input, output);
}
