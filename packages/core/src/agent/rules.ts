/** What the loop may do to one tool's calls. Plain JSON. */
export interface ToolRules {
  readonly timeoutMs: number;
  readonly idempotent: boolean;
  readonly maxRetries: number;
  readonly sequential: boolean;
}

/** Where a run ends at the latest. */
export interface Limits {
  /** Model calls. @defaultValue 10 */
  readonly turns: number;
  /** Tool calls. @defaultValue 100 */
  readonly calls: number;
  /** Active time in ms; waiting for a person never counts. @defaultValue 300,000 */
  readonly timeMs: number;
}

/** An agent's settings as `nextAction` reads them: plain JSON, no functions. */
export interface Rules {
  readonly limits: Limits;
  /** At a limit: one last answer without tools, or an end at once. */
  readonly onLimit: "answer" | "stop";
  /** After a person denied a call: the model goes on, or the run ends. */
  readonly onDenied: "continue" | "stop";
  /** Nothing of a turn runs before all of it is decided. */
  readonly holdTurn: boolean;
  /** Tools that run at the same time. */
  readonly concurrency: number;
  /** Tries of one model call. */
  readonly modelAttempts: number;
  /** Longest a model call may take at all; what is started must fit into the request. */
  readonly modelTimeoutMs: number;
  readonly tools: Readonly<Record<string, ToolRules>>;
}
