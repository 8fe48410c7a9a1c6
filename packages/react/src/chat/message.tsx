"use client";

import { memo, type NamedExoticComponent, type ReactNode, useId } from "react";
import type { AnyStep, ViewMessage, ViewPart } from "toolrun";
import { SafeLink } from "../step/safe-link.tsx";
import { StepBatch } from "../step/step-batch.tsx";
import { StepCard } from "../step/step-card.tsx";
import { useStepContext } from "../step/step-context.ts";
import { ModelText } from "./model-text.tsx";
import { RunNotice } from "./run-notice.tsx";
import { Text } from "./text.tsx";

export interface MessageProps {
  readonly message: ViewMessage;
  /** Waits until the open decisions are made. */
  readonly queued: boolean;
  readonly busy: boolean;
  /** The end of the last run is shown by the banner, with what one can do about it. */
  readonly isLastRun: boolean;
}

/** One message: what a person said, or everything the assistant said and did about it. */
export const Message: NamedExoticComponent<MessageProps> = memo(function Message(props: MessageProps) {
  const { strings } = useStepContext();
  const { message, queued, busy, isLastRun } = props;
  const id = useId();
  const isUser = message.role === "user";
  return (
    <li className="tr-message" data-role={message.role} data-queued={queued || undefined}>
      <article aria-labelledby={id} aria-busy={busy || undefined}>
        <h2 id={id} className="tr-sr-only">
          {isUser ? strings.youSaid : strings.assistantSaid}
        </h2>
        {group(message.parts).map((item, index, items) =>
          Array.isArray(item) ? (
            <StepBatch key={item[0]?.id ?? index} steps={item} />
          ) : (
            <Part
              // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end.
              key={index}
              part={item}
              isUser={isUser}
              streaming={busy && index === items.length - 1}
              hideNotice={isLastRun}
            />
          ),
        )}
        {queued ? <p className="tr-muted tr-queued">{strings.queuedMessage}</p> : null}
      </article>
    </li>
  );
});

interface PartProps {
  readonly part: ViewPart;
  readonly isUser: boolean;
  readonly streaming: boolean;
  readonly hideNotice: boolean;
}

function Part({ part, isUser, streaming, hideNotice }: PartProps): ReactNode {
  const { strings } = useStepContext();
  switch (part.type) {
    case "text":
      return isUser ? <Text text={part.text} /> : <ModelText text={part.text} streaming={streaming} />;
    case "reasoning":
      return (
        <details className="tr-fold tr-reasoning">
          <summary>{strings.reasoning}</summary>
          <ModelText text={part.text} streaming={streaming} />
        </details>
      );
    case "step":
      return <StepCard step={part.step} />;
    case "file":
      return (
        <p className="tr-file">
          {strings.attachment}:{" "}
          <SafeLink address={part.url} title={("name" in part ? part.name : undefined) ?? part.mediaType} />
        </p>
      );
    case "source":
      return (
        <p className="tr-file">
          {strings.source}: <SafeLink address={part.url} title={part.title} />
        </p>
      );
    case "notice":
      return hideNotice ? null : <RunNotice notice={part} />;
    default:
      return part satisfies never;
  }
}

/** Steps that follow each other belong together: they are one answer of the model, and are decided side by side. */
function group(parts: readonly ViewPart[]): readonly (ViewPart | AnyStep[])[] {
  const items: (ViewPart | AnyStep[])[] = [];
  for (const part of parts) {
    const last = items.at(-1);
    if (part.type !== "step") items.push(part);
    else if (Array.isArray(last)) last.push(part.step);
    else items.push([part.step]);
  }
  return items;
}
