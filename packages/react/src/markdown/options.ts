import { type Context, createContext, type ReactNode } from "react";

/** A block of code in a text. */
export interface MarkdownCode {
  readonly code: string;
  /** What stands behind the fence: `ts`. Empty where nothing does. */
  readonly language: string;
}

export interface MarkdownOptions {
  /**
   * Hosts whose pictures load at once, each as it stands in an address: `images.example`, `localhost:3000`. A picture of
   * any other host loads when somebody presses Load: its address can carry out what the conversation holds.
   *
   * @defaultValue none
   */
  readonly imageHosts?: readonly string[] | undefined;
  /** Draws a block of code, with colours for example; `null` leaves it to the default. */
  readonly renderCode?: ((code: MarkdownCode) => ReactNode) | undefined;
}

/** Beside the blocks, not among their properties: a block is parsed again when its text changes, and for nothing else. */
export const OptionsContext: Context<MarkdownOptions> = createContext<MarkdownOptions>({});
