import type { Agent, Tool } from "../agent/agent.ts";
import { ToolRunError } from "../errors.ts";
import { agentFor } from "../loop/agent-for.ts";
import type { Call, Run, Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Engine } from "./engine.ts";

/**
 * The tool of a call, as its run's agent has it today.
 * @throws `tool-changed` when a deploy took it away or made another of it.
 */
export async function toolOf(
  engine: Engine,
  thread: Thread,
  run: Run,
  call: Call,
): Promise<{ readonly agent: Agent; readonly tool: Tool }> {
  const agent = agentFor(thread, run, await engine.agentFor(userOf(thread)));
  const known = agent?.tools.get(call.tool);
  if (!agent || !known || known.hash !== call.toolHash) {
    throw new ToolRunError("tool-changed", "The tool is not the one that was shown; ask the assistant again.");
  }
  return { agent, tool: known.tool };
}

/** Whom the active run acts for. */
export function userOf(thread: Thread): User {
  return rootOf(thread)?.user as User; // written by us when the run began
}
