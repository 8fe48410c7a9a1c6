import type { Issue } from "../errors.ts";

/** Any plain JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Token counts of one model call, or of several added up. */
export interface Usage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
}

/** Who did something: the id and, where the app gives one, the name of a user. */
export interface Actor {
  readonly id: string;
  readonly name?: string | undefined;
}

/** A part of a message that a person sends. */
export type MessagePart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string; readonly name?: string | undefined };

/** An opaque provider block: replayed complete to the same origin, or not at all. */
export interface OpaqueBlock {
  readonly origin: string;
  readonly data: Json;
}

/** An error inside a run, in words that may be shown to a person. */
export interface StepError {
  readonly code:
    | "invalid-input"
    | "unknown-tool"
    | "tool-error"
    | "timed-out"
    | "stopped"
    | "failed"
    | "interrupted"
    | "unresolved";
  readonly message: string;
  readonly issues?: readonly Issue[] | undefined;
}

export type RunOutcome = "completed" | "limited" | "stopped" | "failed";
export type LimitName =
  | "turns"
  | "calls"
  | "tokens"
  | "time"
  | "repeats"
  | "failures"
  | "depth"
  | "completion"
  | "log-size";
/** What comes after a limit: one last answer without tools, the end, words to the model, or nothing. */
export type LimitFollows = "answer" | "stop" | "note" | "warn";
/** What the app's own conditions say of a turn: go on, end here, answer again, or they failed. */
export type TurnVerdict = "pass" | "stop" | "again" | "failed";
export type NotRunReason = "denied" | "expired" | "stopped" | "skipped" | "blocked";
export type AskKind = "approval" | "question" | "link" | "browser" | "interrupted";
export type DecisionAction = "approve" | "deny" | "answer" | "retry" | "skip";
export type DecisionScope = "once" | "run" | "thread";
export type VerdictName = "allow" | "ask" | "deny" | "modify";
/** `denied`: a person denied this tool before in the run, so it asks whatever the rules say. */
export type VerdictBy = "policy" | "tool" | "grant" | "denied" | "default";

/** What an approval for more than once is worth. */
export interface GrantTerms {
  /** What it covers, in words for the person. Default: the same tool with exactly the same input. */
  readonly label?: string | undefined;
  /** How many later calls it allows. Default: any number. */
  readonly uses?: number | undefined;
  /** How long it lasts, in ms. Default: until its run ends, or for good. */
  readonly forMs?: number | undefined;
}

/** That a person denied the same tool before in this run. */
export interface EarlierDenial {
  readonly by?: Actor | undefined;
  readonly at: number;
  readonly reason?: string | undefined;
}
export type ResumeReason = "decision" | "takeover" | "hand-over" | "continue";

/** What identifies a write, so that the same request sent again gets the same answer. */
export interface WriteKey {
  /** Chosen by the writer, unique per user and thread. */
  readonly key: string;
  /** Hash of the request's body: the same key with another body is refused. */
  readonly bodyHash: string;
}
