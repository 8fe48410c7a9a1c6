import type { ModelError, ToolSpec } from "../model/model.ts";
import type { HistoryOptions } from "../model/shape-history.ts";
import type { ResultOptions } from "../model/shape-result.ts";
import type { TypedAgent, TypedTool, User } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { ToolAnnotations } from "./annotations.ts";
import type { Gate } from "./gate.ts";
import type { Hooks } from "./hooks.ts";
import type { NamedModel } from "./models.ts";
import type { Policy, PolicyContext } from "./policy.ts";
import type { PrepareTurn } from "./prepare-turn.ts";
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
  /** The first is asked, each other after those before it. Never empty. */
  readonly models: readonly NamedModel[];
  readonly modelSilenceMs: number;
  readonly instructions: string | ((context: { readonly user: User }) => string) | undefined;
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly specs: readonly ToolSpec[];
  /** Tools that are known only when a turn begins. Stays the same object, so that it names the agent they are for. */
  readonly dynamicTools?: DynamicSource | undefined;
  /** No tool may take longer: what fits into a request. @defaultValue no limit */
  readonly maxToolMs?: number | undefined;
  readonly policies: readonly Policy[];
  readonly stopWhen: readonly StopWhen[];
  readonly gate: Gate | undefined;
  readonly hooks: Hooks;
  readonly prepareTurn: PrepareTurn | undefined;
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

/** Whom tools are loaded for, and when that is no longer worth it. */
export interface DynamicToolsContext {
  readonly user: User;
  readonly threadId: string;
  readonly runId: string;
  /** Aborts on a stop and when it takes too long. */
  readonly signal: AbortSignal;
}

/**
 * Gives an agent tools that are not known when it is declared, such as `({ user }) => mcpTools(clientOf(user))`. Asked
 * when a turn begins, once for all tries of its model call, and again where a run goes on after a pause. Has 10 s. When
 * it fails, so does the attempt (`tools-failed`), which is tried again as a failed model call is. A tool whose
 * definition changed while its call waited is not run; the model may call the new one, which asks again.
 */
export type DynamicTools = (
  context: DynamicToolsContext,
) => Readonly<Record<string, Tool>> | Promise<Readonly<Record<string, Tool>>>;

/** Where an agent's dynamic tools come from. */
export interface DynamicSource {
  readonly load: DynamicTools;
  /** Results of those that change something are never masked, unless the app says which are. */
  readonly keepsResults: boolean;
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
