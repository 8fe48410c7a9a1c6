import type { User } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { AskPerson } from "./ask.ts";

/** What `execute` gets beside its input. */
export interface ToolContext {
  /** Aborts on stop, on the tool's timeout and when another server took over. Pass it on. */
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly threadId: string;
  /** The same for every try of the same effect: give it to the service you call. */
  readonly idempotencyKey: string;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly user: User;
  /** What a person answered to the `ask(…)` this tool returned last; undefined before it asked. */
  readonly answer: Json | undefined;
  /** All answers so far, the first one first. */
  readonly answers: readonly Json[];
  /**
   * What a person answered to this very question, told by its prompt and schema; undefined before it was asked. For a
   * tool that asks several: `const to = answerTo(WHERE); if (to === undefined) return ask(WHERE);`
   */
  answerTo(question: AskPerson): Json | undefined;
  /** Shows how far it is; at most ten times a second reach the log. */
  progress(progress: {
    readonly value?: number | undefined;
    readonly max?: number | undefined;
    readonly label?: string | undefined;
  }): void;
  /** Adds a line to the step's log. */
  log(line: string): void;
  /** Replaces the partial result shown while it runs. */
  partial(value: unknown): void;
}
