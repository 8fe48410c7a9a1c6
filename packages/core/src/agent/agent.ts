import type { Model, ModelError, ToolSpec } from "../model/model.ts";
import type { HistoryOptions } from "../model/shape-history.ts";
import type { ResultOptions } from "../model/shape-result.ts";
import type { TypedAgent, TypedTool, User } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { ToolAnnotations } from "./annotations.ts";
import type { Gate } from "./gate.ts";
import type { Hooks } from "./hooks.ts";
import type { Policy, PolicyContext } from "./policy.ts";
import type { Rules, ToolKind } from "./rules.ts";
import type { StandardSchema } from "./schema.ts";
import type { StopWhen } from "./stop-when.ts";
import type { ToolContext } from "./tool-context.ts";
import type { Verdict } from "./verdict.ts";

/** An agent as the loop uses it. Made by `defineAgent`. */
export interface Agent<Tools extends Readonly<Record<string, Tool>> = Readonly<Record<string, Tool>>>
  extends TypedAgent<Readonly<Record<string, TypedTool>>> {
  readonly "~tools"?: Tools | undefined;
  readonly name: string;
  readonly version: string;
  readonly model: Model;
  readonly modelId: string;
  readonly modelSilenceMs: number;
  readonly instructions: string | ((context: { readonly user: User }) => string) | undefined;
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly specs: readonly ToolSpec[];
  readonly policies: readonly Policy[];
  readonly stopWhen: readonly StopWhen[];
  readonly gate: Gate | undefined;
  readonly hooks: Hooks;
  readonly history: HistoryOptions | undefined;
  readonly results: ResultOptions;
  /** Its tools by the names the model calls them by. */
  readonly wireNames: ReadonlyMap<string, string>;
  readonly modelRetry: ((error: ModelError) => boolean) | undefined;
  readonly rules: Rules;
}

/** A tool in an agent: under its name, with the hash of its definition. */
export interface AgentTool {
  readonly name: string;
  /** Name, input schema, readOnly and destructive; a new title or description changes nothing. */
  readonly hash: string;
  readonly tool: Tool;
}

/** A tool with its types forgotten, as the loop uses it. Made by `tool`, `agentTool`, `questionTool`, `browserTool`. */
export interface Tool extends TypedTool {
  readonly kind: ToolKind;
  readonly title: string | undefined;
  readonly description: string;
  readonly inputSchema: StandardSchema;
  readonly inputJsonSchema: Json;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly annotations: ToolAnnotations | undefined;
  readonly approval: Verdict | ((input: unknown, context: PolicyContext) => Verdict | Promise<Verdict>);
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  /** True where the developer chose `timeoutMs`: a request too short for it is a mistake in the settings. */
  readonly ownTimeout: boolean;
  readonly maxRetries: number;
  readonly retry: RetryRules;
  readonly sequential: boolean;
  readonly summary: ((input: unknown) => string) | undefined;
  readonly toModel: ((output: unknown) => Json) | undefined;
  /** Of a server tool; of another kind it is never called. */
  readonly execute: (input: unknown, context: ToolContext) => unknown;
  /** Of an agent tool. */
  readonly agent?: Agent | undefined;
  /** Of a question tool or a browser tool. */
  readonly answer?: AnswerRules | undefined;
}

/** What a question tool or a browser tool waits for. */
export interface AnswerRules {
  readonly kind: "question" | "browser";
  readonly schema: StandardSchema;
  readonly jsonSchema: Json;
  /** The question, made of the model's input. */
  readonly prompt: ((input: unknown) => string) | undefined;
  readonly expiresInMs: number | undefined;
}

/** RetryOptions with their defaults. */
export interface RetryRules {
  readonly delayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  readonly jitter: number;
  readonly when: (error: unknown, attempt: number) => boolean;
}
