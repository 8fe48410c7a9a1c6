import type { Agent } from "../agent/agent.ts";
import { parentOf } from "../protocol/read-thread.ts";
import type { Run, Thread } from "../protocol/thread.ts";

/** The agent that does a run: the outermost one, or the one its parent's call names. Undefined when that tool is gone. */
export function agentFor(thread: Thread, run: Run, root: Agent): Agent | undefined {
  if (run.depth === 0) return root;
  const parent = parentOf(thread, run);
  const above = parent && agentFor(thread, parent.run, root);
  return parent && above?.tools.get(parent.call.tool)?.tool.agent;
}
