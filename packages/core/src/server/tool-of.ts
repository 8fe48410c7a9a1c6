import type { Agent, Tool } from "../agent/agent.ts";
import { withTools } from "../agent/dynamic-tools.ts";
import { ToolRunError } from "../errors.ts";
import { agentFor } from "../loop/agent-for.ts";
import { RULE_MS } from "../loop/in-time.ts";
import { loadOnce } from "../loop/loaded-tools.ts";
import type { Call, Run, Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Engine } from "./engine.ts";

/**
 * The tool of a call, as its run's agent has it today.
 * @throws `tool-changed` when a deploy, or the server of a dynamic tool, took it away or made another of it.
 * @throws `unavailable` when dynamic tools cannot be loaded now.
 */
export async function toolOf(
  engine: Engine,
  thread: Thread,
  run: Run,
  call: Call,
): Promise<{ readonly agent: Agent; readonly tool: Tool }> {
  const own = agentFor(thread, run, await engine.agentFor(userOf(thread)));
  const agent = own?.dynamicTools && !own.tools.has(call.tool) ? await loaded(engine, thread, run, own) : own;
  const known = agent?.tools.get(call.tool);
  if (!agent || !known || known.hash !== call.toolHash) {
    throw new ToolRunError("tool-changed", "The tool is not the one that was shown; ask the assistant again.");
  }
  return { agent, tool: known.tool };
}

async function loaded(engine: Engine, thread: Thread, run: Run, agent: Agent): Promise<Agent> {
  const { dynamicTools, maxToolMs = RULE_MS } = agent;
  if (!dynamicTools) return agent;
  const about = { user: userOf(thread), threadId: thread.id, runId: run.runId };
  const ms = Math.min(RULE_MS, maxToolMs);
  const { clock } = engine;
  try {
    const given = await loadOnce(dynamicTools, about, { clock, ms, signal: new AbortController().signal });
    return withTools(agent, given, engine.report);
  } catch (cause) {
    const reference = engine.report(cause);
    throw new ToolRunError("unavailable", "The tool could not be looked up; try again.", { cause, reference });
  }
}

/** Whom the active run acts for. */
export function userOf(thread: Thread): User {
  return rootOf(thread)?.user as User; // written by us when the run began
}
