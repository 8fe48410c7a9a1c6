"use client";

import { type Context, createContext, type ReactNode, Suspense, useContext } from "react";
import { SlotBoundary } from "../step/step-slot.tsx";
import { Text } from "./text.tsx";

/** A text of the model. */
export interface TextToDraw {
  readonly text: string;
  /** More of it is coming. */
  readonly streaming: boolean;
}

/** Draws a text of the model; `null` leaves it to the default. */
export type RenderText = (part: TextToDraw) => ReactNode;

export const TextContext: Context<RenderText | undefined> = createContext<RenderText | undefined>(undefined);

/** What the model writes, as the app draws it; plain where it does not, cannot, or has not loaded what it needs. */
export function ModelText(part: TextToDraw): ReactNode {
  const render = useContext(TextContext);
  const plain = <Text text={part.text} />;
  if (!render) return plain;
  return (
    <SlotBoundary fallback={plain}>
      <Suspense fallback={plain}>
        <Drawn part={part} render={render} plain={plain} />
      </Suspense>
    </SlotBoundary>
  );
}

function Drawn(props: {
  readonly part: TextToDraw;
  readonly render: RenderText;
  readonly plain: ReactNode;
}): ReactNode {
  return props.render(props.part) ?? props.plain;
}
