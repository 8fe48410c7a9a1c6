import { NOT_RUN, NOT_RUN_BECAUSE } from "../model/call-result.ts";
import type { StepStatus } from "../protocol/thread.ts";
import type { Json, NotRunReason, StepError, Usage } from "../protocol/values.ts";

/** One tool call, as it was asked for and as it ended. */
export interface CallRecord {
  readonly callId: string;
  readonly name: string;
  /** The input that ran, or would have run. */
  readonly args: Json;
  /** What the tool returned; of a call that failed or was not run, why. Absent while nothing is known. */
  readonly output?: Json | undefined;
  /** True when it failed or was not run. A call that waits for a person is no error. */
  readonly isError: boolean;
  readonly status: StepStatus;
  /** From its first start to its end; 0 when it was not run. */
  readonly durationMs: number;
}

/** One answer of the model, and what became of the calls in it. */
export interface TurnRecord {
  /** 1-based number of the model call. */
  readonly turn: number;
  readonly text: string;
  readonly reasoning?: string | undefined;
  readonly calls: readonly CallRecord[];
  /** Tokens of this model call. */
  readonly usage?: Usage | undefined;
}

/** How a call ended, as far as its output is made of it. */
export interface Ending {
  readonly outcome: "succeeded" | "failed" | "not-run";
  readonly output?: Json | undefined;
  readonly error?: StepError | undefined;
  readonly reason?: NotRunReason | undefined;
  /** What a person or a rule said of it. */
  readonly words?: string | undefined;
}

/** The output of a call that ended, in one form whether it is read of events or of the thread. */
export function outputOf({ outcome, output, error, reason, words }: Ending): Json {
  if (outcome === "succeeded") return output ?? null;
  if (outcome === "failed") return error?.message ?? "The tool failed.";
  const because = NOT_RUN_BECAUSE[reason ?? "stopped"];
  return words ? `${NOT_RUN}: ${because}: ${words}` : `${NOT_RUN}: ${because}`;
}

/** All tokens of a model call or a run that were counted. */
export function tokensOf(usage: Usage | undefined): number {
  return (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}
