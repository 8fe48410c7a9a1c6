/** Who does the work of a tool: this server, another agent, the person, or the browser. */
export type ToolKind = "server" | "agent" | "question" | "browser";

/** What the loop may do to one tool's calls. Plain JSON. */
export interface ToolRules {
  readonly kind: ToolKind;
  readonly timeoutMs: number;
  readonly idempotent: boolean;
  readonly maxRetries: number;
  readonly sequential: boolean;
  /** Of a sub-agent. */
  readonly agent?: Rules | undefined;
}

/** Where a run ends at the latest, and when it is told that it goes in circles. */
export interface Limits {
  /** Model calls. @defaultValue 10, at most 250 */
  readonly turns?: number | undefined;
  /** Tool calls, those of sub-agents included. @defaultValue 100 */
  readonly calls?: number | undefined;
  /** Tokens read and written, those of sub-agents included. The run ends without a last answer. @defaultValue none */
  readonly tokens?: number | undefined;
  /** Active time in ms; waiting for a person never counts. @defaultValue 300,000 */
  readonly timeMs?: number | undefined;
  /**
   * The same calls with the same input, turn after turn. A call that a person approved starts the count anew.
   * `note` tells the model at the count and ends the run at twice as many; `warn` only writes it into the log; `stop`
   * ends the run before they run again. @defaultValue 3, note
   */
  readonly repeats?:
    | number
    | { readonly count: number; readonly follows?: "note" | "warn" | "stop" | undefined }
    | false
    | undefined;
  /** Failed calls in a row, after which the model answers without tools. @defaultValue 3 */
  readonly failures?:
    | number
    | {
        readonly count: number /** Tools whose failures do not count. */;
        readonly except?: readonly string[] | undefined;
      }
    | false
    | undefined;
  /** Agents below agents. The outermost agent's number counts. @defaultValue 3 */
  readonly depth?: number | undefined;
}

/** Limits as `nextAction` reads them; null where there is none. */
export interface RunLimits {
  readonly turns: number;
  readonly calls: number;
  readonly tokens: number | null;
  readonly timeMs: number;
  readonly repeats: { readonly count: number; readonly follows: "note" | "warn" | "stop" } | null;
  readonly failures: { readonly count: number; readonly except: readonly string[] } | null;
  readonly depth: number;
}

/** An agent's settings as `nextAction` reads them: plain JSON, no functions. */
export interface Rules {
  readonly limits: RunLimits;
  /** At a limit: one last answer without tools, or an end at once. */
  readonly onLimit: "answer" | "stop";
  /** After a person denied a call: the model goes on, or the run ends. */
  readonly onDenied: "continue" | "stop";
  /** Nothing of a turn runs before all of it is decided. */
  readonly holdTurn: boolean;
  /** Tools that run at the same time. */
  readonly concurrency: number;
  /** Tries of one model call with one model. */
  readonly modelAttempts: number;
  /** How many models one turn may try at most, one after the other. */
  readonly models: number;
  /** Longest a model call may take at all; what is started must fit into the request. */
  readonly modelTimeoutMs: number;
  /** Whole turns are shown to the app's own conditions: `stopWhen` and the gate. */
  readonly judgesTurns: boolean;
  /** How often the completion gate may ask for another answer; 0 without one. */
  readonly gateAttempts: number;
  readonly tools: Readonly<Record<string, ToolRules>>;
}

/** The rules of a tool, by its own name only: an unknown tool may be called `constructor`. */
export function toolRules(rules: Rules, name: string): ToolRules | undefined {
  return Object.hasOwn(rules.tools, name) ? rules.tools[name] : undefined;
}
