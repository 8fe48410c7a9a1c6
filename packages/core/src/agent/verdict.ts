import type { DecisionScope, Json } from "../protocol/values.ts";

/** How a person is asked. */
export interface AskOptions {
  /** May the person change the input? `true`, or the names of the fields that may change. Default true. */
  readonly editable?: boolean | readonly string[] | undefined;
  /** Why it asks, in words for the person. */
  readonly reason?: string | undefined;
  /** What an approval may cover. Default once and run; a destructive tool is always once. */
  readonly scopes?: readonly DecisionScope[] | undefined;
  /** The question closes after this time. Default: never. */
  readonly expiresInMs?: number | undefined;
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
