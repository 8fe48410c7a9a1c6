import type { Call, Run, Turn } from "../protocol/thread.ts";
import type { LimitName, RunOutcome } from "../protocol/values.ts";

/** What the asking driver knows that the log does not. */
export interface Me {
  /** The epoch this driver opened; null when it owns nothing. */
  readonly epoch: number | null;
  /** What this driver is doing right now: `callKey` and `turnKey`. */
  readonly inFlight: ReadonlySet<string>;
  /** What is left of the request, Infinity without a limit. */
  readonly budgetLeftMs: number;
  /** The signals of what is in flight were aborted already. */
  readonly aborting: boolean;
  /** The log has no room for more. */
  readonly full?: boolean | undefined;
}

/** What happens next. Those with a `run` act on that run. */
export type Action =
  | { readonly type: "rest" }
  | { readonly type: "refuse" }
  | { readonly type: "stop" }
  | { readonly type: "attach" }
  | { readonly type: "claim" }
  | { readonly type: "start-run" }
  | { readonly type: "abort" }
  | { readonly type: "await"; readonly until: number | null }
  | {
      readonly type: "end";
      readonly run: Run;
      readonly outcome: RunOutcome;
      readonly limit?: LimitName | undefined;
      readonly code?: string | undefined;
    }
  | { readonly type: "expire"; readonly run: Run; readonly calls: readonly Call[] }
  | { readonly type: "interrupt"; readonly run: Run; readonly calls: readonly Call[] }
  /** The app's own conditions look at a whole turn, before anything of it runs. */
  | { readonly type: "judge-turn"; readonly run: Run; readonly turn: Turn }
  | { readonly type: "judge"; readonly run: Run; readonly calls: readonly Call[] }
  | { readonly type: "start"; readonly run: Run; readonly calls: readonly Call[] }
  | {
      readonly type: "call-model";
      readonly run: Run;
      readonly turn: number;
      readonly attempt: number;
      /** The limit that makes this the last, tool-less answer. */
      readonly last?: LimitName | undefined;
      /** How often the same calls came; there where the model, or the log, is to hear of it. */
      readonly repeated?: number | undefined;
    }
  | { readonly type: "hand-over"; readonly dueAt?: number | undefined }
  | { readonly type: "sleep"; readonly until: number }
  | { readonly type: "wait"; readonly calls: readonly Call[]; readonly dueAt?: number | undefined };

/** Names one attempt of a call in `Me.inFlight`. */
export function callKey(callId: string, attempt: number): string {
  return `call ${callId}#${attempt}`;
}

/** Names one attempt of a turn in `Me.inFlight`. */
export function turnKey(runId: string, turn: number, attempt: number): string {
  return `turn ${runId}.${turn}#${attempt}`;
}
