import { ToolRunError } from "../errors.ts";
import { wireToolName } from "../model/tool-name.ts";
import type { Agent, AgentTool, Tool } from "./agent.ts";
import { toolRulesOf } from "./make-rules.ts";
import { namedTool, specOf } from "./named-tool.ts";

/** More names than any model chooses among; each is sent with every request. */
const MAX_TOOLS = 1_000;

/**
 * The agent with dynamic tools beside its own. Its own win: what has the name of another tool, for us or for the
 * model, or is no tool, is left out and reported.
 */
export function withTools(
  agent: Agent,
  given: Readonly<Record<string, Tool>>,
  onError: (error: unknown) => void,
): Agent {
  const tools = new Map(agent.tools);
  const names = new Map(agent.wireNames);
  const added: AgentTool[] = [];
  for (const [name, tool] of Object.entries(given ?? {})) {
    try {
      const made = dynamicTool(name, tool, names);
      if (added.length >= MAX_TOOLS) throw dropped(name, `more than ${MAX_TOOLS} are too many`);
      names.set(wireToolName(name), name);
      tools.set(name, made);
      added.push(made);
    } catch (error) {
      onError(error);
    }
  }
  if (added.length === 0) return agent;
  const rules = added.map((made) => [made.name, fitting(toolRulesOf(made), agent)] as const);
  return {
    ...agent,
    tools,
    specs: [...agent.specs, ...added.map(specOf)],
    wireNames: names,
    history: keeping(agent, added),
    rules: { ...agent.rules, tools: { ...agent.rules.tools, ...Object.fromEntries(rules) } },
  };
}

function dynamicTool(name: string, tool: Tool, taken: ReadonlyMap<string, string>): AgentTool {
  const made = namedTool(name, tool);
  // A sub-agent's run must find its agent before anything is loaded.
  if (tool.agent) throw dropped(name, "an agent tool belongs into `tools`");
  const other = taken.get(wireToolName(name));
  if (other !== undefined) throw dropped(name, `${other} has that name`);
  return made;
}

function dropped(name: string, why: string): ToolRunError {
  return new ToolRunError("invalid-config", `The dynamic tool ${JSON.stringify(name)} was left out: ${why}.`);
}

function fitting(rules: ReturnType<typeof toolRulesOf>, { maxToolMs }: Agent): ReturnType<typeof toolRulesOf> {
  return maxToolMs === undefined ? rules : { ...rules, timeoutMs: Math.min(rules.timeoutMs, maxToolMs) };
}

function keeping({ history, dynamicTools }: Agent, added: readonly AgentTool[]): Agent["history"] {
  if (!history?.mask || !dynamicTools?.keepsResults) return history;
  const changing = added.filter(({ tool }) => !tool.readOnly).map(({ name }) => name);
  return { ...history, mask: { ...history.mask, keep: [...(history.mask.keep ?? []), ...changing] } };
}
