import { ToolRunError } from "../errors.ts";
import type { ToolSpec } from "../model/model.ts";
import { wireToolName } from "../model/tool-name.ts";
import { canonicalJson, hashText } from "../protocol/digest.ts";
import type { AgentTool, Tool } from "./agent.ts";

const KINDS: readonly unknown[] = ["server", "agent", "question", "browser"];
const MAX_NAME_CHARS = 200;

/**
 * A tool under its name in an agent.
 * @throws `invalid-config` for what is no tool, or has no name.
 */
export function namedTool(name: string, tool: Tool): AgentTool {
  if (typeof tool?.execute !== "function" || !KINDS.includes(tool.kind)) {
    throw new ToolRunError(
      "invalid-config",
      `tools.${name} is not a tool: make it with tool, agentTool, questionTool or browserTool.`,
    );
  }
  if (name === "" || name.length > MAX_NAME_CHARS) {
    throw new ToolRunError("invalid-config", `A tool's name must have 1 to ${MAX_NAME_CHARS} characters: "${name}".`);
  }
  const { inputJsonSchema, readOnly, destructive } = tool;
  return { name, tool, hash: hashText(canonicalJson([name, inputJsonSchema, readOnly, destructive])) };
}

/** The tool as the model sees it. */
export function specOf({ name, tool }: AgentTool): ToolSpec {
  return { name: wireToolName(name), description: tool.description, inputSchema: tool.inputJsonSchema };
}
