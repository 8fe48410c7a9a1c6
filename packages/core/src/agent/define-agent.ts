import type { ModelError } from "../model/model.ts";
import type { HistoryOptions } from "../model/shape-history.ts";
import { checkHistoryOptions } from "../model/shape-history.ts";
import type { ResultOptions } from "../model/shape-result.ts";
import { checkResultOptions } from "../model/shape-result.ts";
import { wireNames } from "../model/tool-name.ts";
import { hashText } from "../protocol/digest.ts";
import type { User } from "../protocol/typed.ts";
import type { Agent, AgentTool, DynamicTools, Tool } from "./agent.ts";
import type { Hooks } from "./hooks.ts";
import type { AgentSettings } from "./make-rules.ts";
import { makeRules, positive } from "./make-rules.ts";
import type { ModelList } from "./models.ts";
import { MAX_MODELS, toModels } from "./models.ts";
import { namedTool, specOf } from "./named-tool.ts";
import type { Policy } from "./policy.ts";
import type { PrepareTurn } from "./prepare-turn.ts";

/** What a developer declares. */
export interface AgentOptions<Tools extends Readonly<Record<string, Tool>>> extends AgentSettings {
  /**
   * Any AI SDK language model as it is, or an own object with `stream(request, signal)`. Of a list the first is asked;
   * when its attempts failed and another could help, the next, with attempts of its own. A run stays with it.
   */
  readonly model: ModelList;
  /** What the assistant is for; a function gets the user. */
  readonly instructions?: string | ((context: { readonly user: User }) => string) | undefined;
  /** A record: the key is the tool's name. */
  readonly tools?: Tools | undefined;
  /** More tools, known only when a turn begins, such as those of an MCP server. */
  readonly dynamicTools?: DynamicTools | undefined;
  /** Decides over all tools, together with each tool's own `approval`. Of several, each may deny. */
  readonly policy?: Policy<Tools> | readonly Policy<Tools>[] | undefined;
  readonly hooks?: Hooks | undefined;
  /** Model, tools, tool choice and instructions of one turn. */
  readonly prepareTurn?: PrepareTurn | undefined;
  /** How a long history is made to fit. @defaultValue it goes out whole */
  readonly history?: HistoryOptions | undefined;
  /** What the model reads of results. What a person sees stays the output. */
  readonly results?: ResultOptions | undefined;
  /** False for a model failure that is not worth another attempt. @defaultValue what the failure says of itself */
  readonly modelRetry?: ((error: ModelError) => boolean) | undefined;
  /** @defaultValue "assistant" */
  readonly name?: string | undefined;
  /** Kept with each run; a hash of the tools by default. */
  readonly version?: string | undefined;
}

/**
 * Model, instructions, tools, policy and limits.
 * @throws `invalid-config` naming the setting, its value and the fix.
 */
export function defineAgent<const Tools extends Readonly<Record<string, Tool>> = Record<never, Tool>>(
  options: AgentOptions<Tools>,
): Agent<Tools> {
  const tools = new Map(Object.entries(options.tools ?? {}).map(([name, tool]) => [name, namedTool(name, tool)]));
  const models = toModels(options.model);
  checkHistoryOptions(options.history ?? {});
  checkResultOptions(options.results ?? {});
  return {
    name: options.name ?? "assistant",
    version: options.version ?? hashText([...tools.values()].map((tool) => tool.hash).join()).slice(0, 12),
    models,
    modelSilenceMs: positive("modelSilenceMs", options.modelSilenceMs ?? 60_000),
    instructions: options.instructions,
    tools,
    specs: [...tools.values()].map(specOf),
    dynamicTools: options.dynamicTools && { load: options.dynamicTools, keepsResults: keepsResults(options.history) },
    policies: listOf(options.policy) as readonly Policy[], // called with calls of exactly these tools
    stopWhen: listOf(options.stopWhen),
    gate: options.gate,
    hooks: options.hooks ?? {},
    prepareTurn: options.prepareTurn,
    history: historyOf(options.history, tools),
    results: options.results ?? {},
    wireNames: wireNames(tools.keys()),
    modelRetry: options.modelRetry,
    rules: makeRules(options, tools, options.prepareTurn ? MAX_MODELS : models.length),
  };
}

/** A placeholder says that the tool can be called again: by default none stands for what a tool changed. */
function historyOf(
  history: HistoryOptions | undefined,
  tools: ReadonlyMap<string, AgentTool>,
): HistoryOptions | undefined {
  if (!history?.mask || !keepsResults(history)) return history;
  const keep = [...tools.values()].filter(({ tool }) => !tool.readOnly).map(({ name }) => name);
  return { ...history, mask: { ...history.mask, keep } };
}

function keepsResults(history: HistoryOptions | undefined): boolean {
  return history?.mask !== undefined && history.mask.keep === undefined;
}

function listOf<Item>(value: Item | readonly Item[] | undefined): readonly Item[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as Item]; // not a list
}
