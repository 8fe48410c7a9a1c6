import type { ToolChoice } from "../model/model.ts";
import type { View } from "../protocol/typed.ts";
import type { HookContext } from "./hooks.ts";
import type { ModelList } from "./models.ts";

/** What a turn would be without `prepareTurn`. */
export interface TurnContext extends HookContext {
  /** 1 for the first try of this turn. */
  readonly attempt: number;
  /** The whole thread as the server knows it; it cannot be changed. */
  readonly thread: View;
  /** The name of the model that is next. */
  readonly model: string;
  /** Names of the tools it may be offered; none in the last answer of a limit. */
  readonly tools: readonly string[];
  readonly instructions: string | undefined;
}

/** What is different in one turn; what is left out stays as it is. */
export interface TurnChanges {
  /** Another model, or a list with its own fallbacks. Each has `modelAttempts` attempts. */
  readonly model?: ModelList | undefined;
  /** The tools to offer, by name. A call of another one is refused like that of a tool there is not. */
  readonly tools?: readonly string[] | undefined;
  /** @defaultValue "auto" */
  readonly toolChoice?: ToolChoice | undefined;
  /** In place of the agent's; an empty text is none. */
  readonly instructions?: string | undefined;
}

/**
 * Sets up one turn: model, tools, tool choice, instructions. Asked before every model call, another try after a
 * failure or a restart included, and has 10 s. What it hides cannot be called in that turn, whatever policies allow;
 * what it shows still asks as ever. One that throws, or names a tool there is not, ends the run as failed
 * (`hook-failed`), with the reason in `onError`.
 */
export type PrepareTurn = (
  turn: TurnContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: one that changes nothing returns nothing
) => TurnChanges | undefined | void | Promise<TurnChanges | undefined | void>;
