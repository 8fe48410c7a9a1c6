import type { DecisionScope, GrantTerms, Json } from "../protocol/values.ts";

/** How a person is asked. */
export interface AskOptions {
  /** May the person change the input? `true`, or the names of the fields that may change. Default true. */
  readonly editable?: boolean | readonly string[] | undefined;
  /** Why it asks, in words for the person. */
  readonly reason?: string | undefined;
  /** What an approval may cover. Default once and run; a destructive tool is always once. */
  readonly scopes?: readonly DecisionScope[] | undefined;
  /** What an approval with scope `run` or `thread` is worth. Default: the same tool with exactly the same input, any number of times. */
  readonly grant?: GrantOptions | undefined;
  /** The question closes after this time. Default: never. */
  readonly expiresInMs?: number | undefined;
  /** May the person ask for the same time again? False where it must end, as with a price that holds ten minutes. Default true. */
  readonly extendable?: boolean | undefined;
}

/** Which later calls an approval covers, how many, and for how long. */
export interface GrantOptions extends GrantTerms {
  /**
   * Calls of the tool for which its rule names the same key are covered, whatever else is in their input: the id of an
   * order, say. Default: exactly the same input. With a key, say in `label` what the person agrees to.
   */
  readonly key?: Json | undefined;
}

/**
 * What a policy says about a call. Nothing (`undefined`) is no opinion. Deny beats ask beats allow; with
 * no opinion anywhere a `readOnly` tool is allowed and every other asks.
 */
export type Verdict =
  | "allow"
  | "ask"
  | { readonly ask: AskOptions }
  | { readonly deny: string }
  | { readonly modify: Json; readonly ask?: AskOptions | undefined }
  | undefined;
