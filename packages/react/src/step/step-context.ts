"use client";

import { type Context, createContext, type ReactNode, useContext } from "react";
import type { Actor, AnyStep, Grant, ThreadActions, ThreadSnapshot } from "toolrun";
import { en, type Strings } from "../strings.ts";

/** What the cards can do with a step; `useToolRun` returns an object that fits. */
export type StepActions = Pick<ThreadActions<AnyStep>, "approve" | "deny" | "answer" | "retry" | "skip" | "extend">;

/** Draws the result of a step; `null` leaves it to the default card. */
export type StepSlots = Readonly<Record<string, ((step: AnyStep) => ReactNode) | undefined>>;

/** What every card needs and none owns. */
export interface StepContextValue {
  readonly strings: Strings;
  /** Null for somebody who may read but not decide: cards without buttons. */
  readonly actions: StepActions | null;
  /** Id of the person at this screen, if known: "by you" instead of a name. */
  readonly me?: string | undefined;
  /** Server's clock minus this browser's. */
  readonly clockOffsetMs?: number | undefined;
  readonly slots?: StepSlots | undefined;
  /** Who does the browser tools that wait: this tab, or another one of this browser. */
  readonly browserSteps?: ThreadSnapshot["browserSteps"] | undefined;
  /** What is remembered: a step that ran by it says whose decision it was. */
  readonly grants?: readonly Grant[] | undefined;
  /** Called in the handler of a press: shows a remembered decision. */
  readonly onShowGrant?: ((grantId: string) => void) | undefined;
  /** Called in the handler of a decision: moves focus on, because the focused button is about to go away. */
  readonly onDecided?: ((step: AnyStep) => void) | undefined;
  /** A card that was focused went away without this person's doing: focus must not fall to the page. */
  readonly onFocusLost?: ((step: AnyStep) => void) | undefined;
  /** Told when a card has been on screen: only those can be approved together. */
  readonly onSeen?: ((id: string) => void) | undefined;
}

export const StepContext: Context<StepContextValue> = createContext<StepContextValue>({ strings: en, actions: null });

export function useStepContext(): StepContextValue {
  return useContext(StepContext);
}

/** Whose decision it was, in words: "you", a name, or null where nothing is known. */
export function whoDecided(
  decision: { readonly by?: Actor | undefined } | null | undefined,
  { me, strings }: Pick<StepContextValue, "me" | "strings">,
): string | null {
  const by = decision?.by;
  if (!by) return null;
  return by.id === me ? strings.you : (by.name ?? null);
}
