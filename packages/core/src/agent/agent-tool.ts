import { ToolRunError } from "../errors.ts";
import type { TypedTool } from "../protocol/typed.ts";
import type { Agent, Tool } from "./agent.ts";
import type { SchemaOutput, StandardSchema } from "./schema.ts";
import { textInput } from "./text-input.ts";
import type { CommonOptions } from "./tool.ts";
import { commonOf } from "./tool.ts";

const TASK: StandardSchema<{ readonly prompt: string }> = textInput(
  "prompt",
  "The task, with everything the agent needs to know.",
);

/** What a developer writes for a tool that another agent does. */
export interface AgentToolOptions<Schema extends StandardSchema>
  extends Omit<CommonOptions<Schema>, "inputSchema" | "readOnly"> {
  readonly agent: Agent;
  /** What the agent is told: the `prompt` of the input, else all of it. @defaultValue `{ prompt: string }` */
  readonly inputSchema?: Schema | undefined;
}

/**
 * Another agent as a tool: it works in a run of its own, in the same log, and gives back its last words. It is
 * allowed without asking, because its own tools ask for themselves; what it waits for stands in the same list. Its
 * failure is a failed call, never the end of the run that asked it.
 */
export function agentTool<Schema extends StandardSchema = StandardSchema<{ readonly prompt: string }>>(
  options: AgentToolOptions<Schema>,
): Tool & TypedTool<{ input: SchemaOutput<Schema>; output: string }> {
  const { agent, inputSchema = TASK as unknown as Schema, ...common } = options; // the default of Schema
  if (!(agent?.tools instanceof Map)) {
    throw new ToolRunError("invalid-config", "agentTool needs an agent: agentTool({ agent: defineAgent({ … }), … }).");
  }
  const made: Tool = { ...commonOf("agent", { ...common, inputSchema }), agent };
  return made as Tool & TypedTool<{ input: SchemaOutput<Schema>; output: string }>; // "~types" is a phantom
}
