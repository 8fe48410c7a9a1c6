import type { Json } from "../protocol/values.ts";

/** A final answer, as the completion gate sees it. */
export interface GateContext {
  readonly text: string;
  /** Every call of the run so far, with what came of it. */
  readonly calls: readonly {
    readonly tool: string;
    readonly input: Json;
    readonly status: "succeeded" | "failed" | "not-run";
    readonly output?: Json | undefined;
  }[];
  /** How often it asked for another answer already. */
  readonly attempts: number;
}

/**
 * Looks at what the model gives as its final answer. True accepts it; a text says what is missing, and the model
 * answers again. Refused more than `maxAttempts` times, the run ends limited (`completion`).
 */
export interface Gate {
  readonly check: (context: GateContext) => true | string | Promise<true | string>;
  readonly maxAttempts: number;
}
