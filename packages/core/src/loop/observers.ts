import type { Json } from "../protocol/values.ts";
import type { TurnRecord } from "./call-record.ts";

/** One tool call that is over. */
export interface StepRecord {
  /** 0-based number of the model call that asked for it; -1 where another server made it, and it was not seen. */
  readonly iteration: number;
  readonly toolName: string;
  /** The input as JSON text. */
  readonly toolArguments: string;
  /** What it returned; why, where it failed or was not run. */
  readonly toolResult: Json;
  /** When it was over, in ms since the epoch. */
  readonly timestamp: number;
  readonly isError: boolean;
  readonly durationMs: number;
  readonly callId: string;
  /** The sub-agent's run it belongs to; absent for the run itself. */
  readonly runId?: string | undefined;
}

/** A figure: of each model attempt, of each call, and last of the run. */
export type Metric =
  | {
      readonly type: "llm";
      readonly runId: string;
      readonly model: string;
      readonly status: "ok" | "error" | "stopped";
      readonly ms: number;
      readonly tokens: number;
    }
  | {
      readonly type: "tool";
      readonly runId: string;
      readonly tool: string;
      readonly isError: boolean;
      readonly ms: number;
      /** It asked a person, and is not over. */
      readonly pending?: true | undefined;
    }
  | {
      readonly type: "run";
      readonly runId: string;
      readonly turns: number;
      readonly toolCalls: number;
      readonly totalTokens: number;
      readonly ms: number;
      /** The code of a run that failed. */
      readonly error?: string | undefined;
    };

/** A milestone of a run. */
export interface ActionRecord {
  readonly runId: string;
  readonly action: "start" | "calling-model" | "first-chunk" | "calling-tools" | "finished";
  /** In ms since the epoch; never before the one before it. */
  readonly timestamp: number;
}

/** Those who watch runs. Nothing they do reaches a run: what they throw goes to `onError`. */
export interface Observers {
  /** Once for each call, in the order in which they were over. */
  readonly onStep?: ((step: StepRecord) => void) | undefined;
  /** Text as it comes, also that of attempts which fail later. */
  readonly onText?:
    | ((text: string, at: { readonly runId: string; readonly turn: number; readonly attempt: number }) => void)
    | undefined;
  /** Once for each whole turn, when its calls are over. */
  readonly onTurn?: ((turn: TurnRecord, at: { readonly runId: string }) => void) | undefined;
  readonly onMetric?: ((metric: Metric) => void) | undefined;
  readonly onAction?: ((action: ActionRecord) => void) | undefined;
  /** @defaultValue console.error */
  readonly onError?: ((error: unknown) => void) | undefined;
}
