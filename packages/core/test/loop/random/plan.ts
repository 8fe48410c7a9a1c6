import type { DecisionScope, Json } from "../../../src/protocol/values.ts";

/** Everything that happens in one random run, as plain data: it prints, shrinks and can be pasted into a test. */
export interface Plan {
  readonly agent: AgentPlan;
  readonly server: ServerPlan;
  readonly acts: readonly Act[];
}

/** An agent: its settings, its tools, and what its model answers, one answer for each request. */
export interface AgentPlan {
  readonly answers: readonly AnswerPlan[];
  readonly tools: readonly ToolPlan[];
  readonly policies: readonly PolicyPlan[];
  readonly limits: LimitsPlan;
  readonly onLimit: "answer" | "stop";
  readonly onDenied: "continue" | "stop";
  readonly holdTurn: boolean;
  readonly concurrency: number;
  readonly modelAttempts: number;
  readonly modelSilenceMs: number;
  readonly modelRetry: "none" | "never" | "throws";
  readonly stopWhen: readonly StopPlan[];
  readonly gate: GatePlan | null;
  readonly hooks: HooksPlan;
  readonly history: HistoryPlan;
  readonly results: ResultsPlan;
}

/** A policy: what it says about a tool, by its index; null is every tool. The first that fits speaks. */
export type PolicyPlan = readonly { readonly tool: number | null; readonly verdict: VerdictPlan }[];

export interface LimitsPlan {
  readonly turns: number;
  readonly calls: number;
  readonly tokens: number | null;
  readonly timeMs: number;
  readonly repeats: { readonly count: number; readonly follows: "note" | "warn" | "stop" } | null;
  readonly failures: number | null;
  readonly depth: number;
}

/** A stop condition: when it says stop, or how it breaks. */
export type StopPlan = "never" | "second" | "calls" | "text" | "later" | "throws" | "hangs";

/** What the completion gate says to one final answer after the other; true in the end. */
export interface GatePlan {
  readonly says: readonly ("yes" | "no" | "later-no" | "throws" | "hangs")[];
  readonly maxAttempts: number;
}

/** How the history is shortened; with a summary, how that is made. */
export type HistoryPlan = "whole" | "mask" | "compact" | "summary" | "summary-throws" | "summary-hangs";

/** What the agent makes of results for the model. */
export type ResultsPlan =
  | "whole"
  | "short"
  | "process"
  | "process-throws"
  | "extract"
  | "extract-throws"
  | "extract-hangs";

export interface HooksPlan {
  readonly beforeModel: "none" | "look" | "note" | "unpaired" | "throws" | "slow" | "slow-throws" | "hangs";
  readonly afterModel: "none" | "look" | "throws" | "slow" | "slow-throws" | "hangs";
  readonly beforeTool: "none" | "look" | "instead" | "throws" | "slow" | "slow-throws" | "hangs";
  readonly afterTool: "none" | "look" | "instead" | "throws" | "slow" | "slow-throws" | "hangs";
}

/** One answer of a model. */
export interface AnswerPlan {
  readonly parts: readonly PartPlan[];
  /** How many parts come in one array; 0: each by itself. */
  readonly together: number;
  /** False: it does not listen to its signal. */
  readonly obeys: boolean;
}

export type PartPlan =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "source" }
  | { readonly type: "opaque" }
  | { readonly type: "unknown" }
  | { readonly type: "call-start"; readonly id: string; readonly tool: ToolName }
  | { readonly type: "call-input"; readonly id: string; readonly text: string }
  | { readonly type: "call"; readonly id: string; readonly tool: ToolName; readonly input: string }
  | { readonly type: "end"; readonly reason: string; readonly tokens: number | null }
  | { readonly type: "wait"; readonly ms: number }
  /** Says nothing more, for ever. */
  | { readonly type: "hang" }
  /** Ends the stream here. */
  | { readonly type: "cut" }
  | { readonly type: "fail"; readonly how: ModelFailure };

/** The index of a declared tool, or a name as it is. */
export type ToolName = number | string;

export type ModelFailure = "again" | "never" | "later" | "error" | "hostile";

export type VerdictPlan =
  | "none"
  | "allow"
  | "later-allow"
  | "slow-allow"
  | "ask"
  | "ask-soon"
  | "ask-fixed"
  | "ask-note"
  /** Approved for more than once it covers all of the tool's calls: two of them, for a while. */
  | "ask-key"
  | "later-ask"
  | "deny"
  | "throw"
  | "slow-throw"
  | "garbage"
  | "hang"
  | "modify"
  | "modify-ask"
  | "modify-bad";

export type SchemaName = "amount" | "defaults" | "empty" | "any" | "later" | "throws" | "rejects" | "hangs" | "grows";

export type ToolPlan = ServerToolPlan | AgentToolPlan | QuestionToolPlan | BrowserToolPlan;

interface CommonToolPlan {
  readonly schema: SchemaName;
  readonly approval: VerdictPlan;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly summary: "none" | "text" | "throws";
}

export interface ServerToolPlan extends CommonToolPlan {
  readonly kind: "server";
  readonly idempotent: boolean;
  readonly sequential: boolean;
  readonly maxRetries: number;
  readonly retry: "always" | "never" | "throws";
  readonly timeoutMs: number;
  readonly toModel: "none" | "short" | "throws";
  /** What it does at each execution, in turn. */
  readonly behaviours: readonly BehaviourPlan[];
}

export interface AgentToolPlan extends CommonToolPlan {
  readonly kind: "agent";
  readonly agent: AgentPlan;
}

export interface QuestionToolPlan extends CommonToolPlan {
  readonly kind: "question";
  readonly answer: AnswerSchemaName;
  readonly expiresInMs: number | null;
  readonly prompt: "none" | "text" | "throws";
}

export interface BrowserToolPlan extends CommonToolPlan {
  readonly kind: "browser";
  readonly answer: AnswerSchemaName;
  readonly timeoutMs: number;
}

export type AnswerSchemaName = "text" | "amount" | "any" | "throws" | "hangs";

export interface BehaviourPlan {
  readonly form: "sync" | "async" | "generator";
  readonly steps: readonly StepPlan[];
  readonly end: EndPlan;
  /** False: it does not listen to its signal. */
  readonly obeys: boolean;
  /** Reports again after its end. */
  readonly late: boolean;
}

export type StepPlan =
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "progress"; readonly value: number }
  | { readonly do: "log"; readonly text: string }
  | { readonly do: "partial"; readonly value: string }
  | { readonly do: "spam" }
  | { readonly do: "mutate" };

export type EndPlan =
  | { readonly type: "return"; readonly value: string }
  | { readonly type: "throw"; readonly value: string }
  | { readonly type: "definite"; readonly retry: boolean }
  /** Asks a person until it has this many answers, and then returns them. */
  | {
      readonly type: "ask";
      readonly times: number;
      /** False: always the same question. */
      readonly varies: boolean;
      readonly schema: "none" | "text" | "amount";
      readonly url: boolean;
      readonly expiresInMs: number | null;
    }
  | { readonly type: "hang" };

/** The server around the loop. */
export interface ServerPlan {
  /** What the store's calls take, before and after they are applied, again and again. */
  readonly latencies: readonly number[];
  /** Microtasks that a breath of the loop lasts. */
  readonly breath: number;
  readonly maxRequestMs: number | null;
}

/** What a person does, `after` the act before it. */
export type Act = { readonly after: number } & Deed;

export type Deed =
  | {
      readonly do: "approve";
      readonly pick: number;
      readonly scope: DecisionScope | null;
      readonly all: boolean;
    }
  | {
      readonly do: "deny";
      readonly pick: number;
      readonly stop: boolean | null;
      readonly reason: string | null;
      readonly scope: DecisionScope | null;
    }
  | { readonly do: "extend"; readonly pick: number }
  | { readonly do: "edit"; readonly pick: number; readonly input: Json }
  | { readonly do: "retry" | "skip"; readonly pick: number }
  | { readonly do: "answer"; readonly pick: number; readonly value: Json; readonly error: boolean }
  /** Decides about any step there is, with any digest. */
  | {
      readonly do: "meddle";
      readonly pick: number;
      readonly how: "approve" | "deny" | "answer" | "retry";
      readonly digest: "own" | "other";
    }
  | { readonly do: "send"; readonly text: string; readonly deny: boolean; readonly when: When }
  | { readonly do: "stop"; readonly when: When }
  | { readonly do: "continue"; readonly turns: number | null }
  | { readonly do: "revoke"; readonly pick: number }
  | { readonly do: "rename" }
  | { readonly do: "sweep" }
  /** Sends an earlier write again: the same bytes. */
  | { readonly do: "again"; readonly pick: number }
  /** The server dies, and another one starts. */
  | { readonly do: "crash"; readonly when: When }
  /** The server stands still for so long, and another one starts: the first goes on later, as if nothing had been. */
  | { readonly do: "pause"; readonly when: When; readonly ms: number };

/** When a person, or bad luck, strikes: at once, or as soon as a tool runs or a model answers. */
export type When = "now" | "running" | "writing";
