import { ToolRunError } from "../errors.ts";
import type { ModelInput } from "../model/ai-sdk.ts";
import { toModel } from "../model/ai-sdk.ts";
import type { Model, ToolSpec } from "../model/model.ts";
import { canonicalJson, hashText } from "../protocol/digest.ts";
import type { TypedAgent, TypedTool, User } from "../protocol/typed.ts";
import type { Policy } from "./policy.ts";
import type { Limits, Rules } from "./rules.ts";
import type { Tool } from "./tool.ts";

/** What a developer declares. */
export interface AgentOptions<Tools extends Readonly<Record<string, Tool>>> {
  /** Any AI SDK language model as it is, or an own object with `stream(request, signal)`. */
  readonly model: ModelInput;
  /** What the assistant is for; a function gets the user. */
  readonly instructions?: string | ((context: { readonly user: User }) => string) | undefined;
  /** A record: the key is the tool's name. */
  readonly tools?: Tools | undefined;
  /** Decides over all tools, together with each tool's own `approval`. */
  readonly policy?: Policy<Tools> | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** @defaultValue "answer" */
  readonly onLimit?: "answer" | "stop" | undefined;
  /** @defaultValue "continue" */
  readonly onDenied?: "continue" | "stop" | undefined;
  /** @defaultValue false */
  readonly holdTurn?: boolean | undefined;
  /** @defaultValue 8 */
  readonly concurrency?: number | undefined;
  /** Tries of one model call. @defaultValue 3 */
  readonly modelAttempts?: number | undefined;
  /** Silence allowed before and between parts of an answer. @defaultValue 60,000 */
  readonly modelSilenceMs?: number | undefined;
  /** @defaultValue "assistant" */
  readonly name?: string | undefined;
  /** Kept with each run; a hash of the tools by default. */
  readonly version?: string | undefined;
}

/** An agent as the loop uses it. Made by `defineAgent`. */
export interface Agent<Tools extends Readonly<Record<string, Tool>> = Readonly<Record<string, Tool>>>
  extends TypedAgent<Readonly<Record<string, TypedTool>>> {
  readonly "~tools"?: Tools | undefined;
  readonly name: string;
  readonly version: string;
  readonly model: Model;
  readonly modelId: string;
  readonly modelSilenceMs: number;
  readonly instructions: AgentOptions<Tools>["instructions"];
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly specs: readonly ToolSpec[];
  readonly policy: Policy | undefined;
  readonly rules: Rules;
}

/** A tool in an agent: under its name, with the hash of its definition. */
export interface AgentTool {
  readonly name: string;
  /** Name, input schema, readOnly and destructive; a new title or description changes nothing. */
  readonly hash: string;
  readonly tool: Tool;
}

const MAX_TURNS = 250;
const NAME = /^[A-Za-z_$][\w$-]{0,63}$/;

/**
 * Model, instructions, tools, policy and limits.
 * @throws `invalid-config` naming the setting, its value and the fix.
 */
export function defineAgent<const Tools extends Readonly<Record<string, Tool>> = Record<never, Tool>>(
  options: AgentOptions<Tools>,
): Agent<Tools> {
  const tools = new Map(Object.entries(options.tools ?? {}).map(([name, tool]) => [name, agentTool(name, tool)]));
  const model = toModel(options.model);
  return {
    name: options.name ?? "assistant",
    version: options.version ?? hashText([...tools.values()].map((tool) => tool.hash).join()).slice(0, 12),
    model,
    modelId: model.id ?? "model",
    modelSilenceMs: positive("modelSilenceMs", options.modelSilenceMs ?? 60_000),
    instructions: options.instructions,
    tools,
    specs: [...tools.values()].map(({ name, tool }) => ({
      name,
      description: tool.description,
      inputSchema: tool.inputJsonSchema,
    })),
    policy: options.policy as Policy | undefined, // called with calls of exactly these tools
    rules: rulesOf(options, tools),
  };
}

function agentTool(name: string, tool: Tool): AgentTool {
  if (tool?.kind !== "server") {
    throw new ToolRunError("invalid-config", `tools.${name} is not a tool: make it with tool({ … }).`);
  }
  if (!NAME.test(name)) {
    throw new ToolRunError(
      "invalid-config",
      `"${name}" cannot be a tool's name: use up to 64 letters, digits, _ and -, beginning with a letter.`,
    );
  }
  const { inputJsonSchema, readOnly, destructive } = tool;
  return { name, tool, hash: hashText(canonicalJson([name, inputJsonSchema, readOnly, destructive])) };
}

function rulesOf(
  options: Omit<AgentOptions<Record<never, Tool>>, "tools" | "policy">,
  tools: ReadonlyMap<string, AgentTool>,
): Rules {
  const limits = options.limits ?? {};
  const rules = [...tools.values()].map(({ name, tool }) => {
    const { timeoutMs, idempotent, maxRetries, sequential } = tool;
    return [name, { timeoutMs, idempotent, maxRetries, sequential }] as const;
  });
  return {
    limits: {
      turns: Math.min(whole("limits.turns", limits.turns ?? 10), MAX_TURNS),
      calls: whole("limits.calls", limits.calls ?? 100),
      timeMs: positive("limits.timeMs", limits.timeMs ?? 300_000),
    },
    onLimit: options.onLimit ?? "answer",
    onDenied: options.onDenied ?? "continue",
    holdTurn: options.holdTurn ?? false,
    concurrency: whole("concurrency", options.concurrency ?? 8),
    modelAttempts: whole("modelAttempts", options.modelAttempts ?? 3),
    modelTimeoutMs: positive("modelSilenceMs", options.modelSilenceMs ?? 60_000),
    tools: Object.fromEntries(rules),
  };
}

function whole(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new ToolRunError("invalid-config", `${name} must be a whole number of at least 1; it is ${value}.`);
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new ToolRunError("invalid-config", `${name} must be greater than 0; it is ${value}.`);
}
