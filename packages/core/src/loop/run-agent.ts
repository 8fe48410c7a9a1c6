import type { Agent } from "../agent/agent.ts";
import { ToolRunError } from "../errors.ts";
import type { ThreadEvent } from "../protocol/event.ts";
import type { RunResult } from "./run-result.ts";
import type { RunInput, RunOptions } from "./run-session.ts";
import { createRunSession } from "./run-session.ts";

export interface RunAgentOptions extends RunOptions {
  /** A run whose time is over is a result with the work so far, or an error. @defaultValue "result" */
  readonly timeoutMode?: "result" | "throw" | undefined;
}

/**
 * Runs an agent to its end in this process: for jobs, scripts and tests. Same loop and rules as behind
 * `createToolRun`, without a store, so nobody can decide: a run that needs a person is a result with `pending`.
 * @throws `bad-request` for an empty input; the model's failure (`model-failed`, `model-timed-out`), `tools-failed` or `internal` where
 * the run failed before the model said anything; `unavailable` for a run whose time is over, with `timeoutMode: "throw"`.
 */
export async function runAgent(agent: Agent, input: RunInput, options: RunAgentOptions = {}): Promise<RunResult> {
  const session = createRunSession(agent, input, options);
  await session.drive();
  session.close();
  const result = session.result();
  if (result.status === "error" && session.host.events.every(isBeforeContent)) throw session.failure();
  if (result.stopReason === "timeout" && options.timeoutMode === "throw") {
    throw new ToolRunError("unavailable", `The run took longer than ${agent.rules.limits.timeMs} ms.`);
  }
  return result;
}

const CONTENT: readonly ThreadEvent["type"][] = ["text-added", "part-added", "call-proposed", "turn-ended"];

function isBeforeContent({ type }: ThreadEvent): boolean {
  return !CONTENT.includes(type);
}
