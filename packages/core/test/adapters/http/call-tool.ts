import type { Tool } from "../../../src/agent/agent.ts";
import type { ToolContext } from "../../../src/agent/tool-context.ts";

/** Runs a tool as the loop does, with an input that fits its schema. */
export async function callTool(tool: Tool, input: unknown, more: Partial<ToolContext> = {}): Promise<unknown> {
  const context: ToolContext = {
    signal: new AbortController().signal,
    callId: "c1",
    threadId: "t1",
    idempotencyKey: "c1.0",
    attempt: 1,
    user: { id: "mia" },
    answer: undefined,
    answers: [],
    progress: () => undefined,
    log: () => undefined,
    partial: () => undefined,
    ...more,
  } as ToolContext;
  return tool.execute(input, context);
}

/** The error that a call ends with. */
export async function failureOf(tool: Tool, input: unknown, more: Partial<ToolContext> = {}): Promise<Error> {
  try {
    await callTool(tool, input, more);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("The call did not fail.");
}
