import type { Tool } from "../../src/agent/agent.ts";
import { ask } from "../../src/agent/ask.ts";
import type { ToolContext } from "../../src/agent/tool-context.ts";
import type { ScriptedTurn } from "../../src/testing/scripted-model.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import type { AgentRun, AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun } from "../loop/agent-run.ts";
import { failing, recorder } from "./play.ts";

/** Where a person connects a bank account. */
export const BANK_URL = "https://bank.test/connect";

/** A tool that needs a bank account to be connected first. */
export function balance(more: object = {}): { readonly tool: Tool; readonly attempts: readonly unknown[] } {
  const attempts: unknown[] = [];
  const made = recorder("", {
    execute: (_input: unknown, { answer }: ToolContext) => {
      attempts.push(answer);
      return answer === undefined ? ask({ prompt: "Connect your bank.", url: BANK_URL }) : { balance: 12 };
    },
    ...more,
  });
  return { tool: made.tool, attempts };
}

/** A run that needs it. */
export function banking(
  options: Partial<AgentRunOptions> = {},
  more: object = {},
): { readonly run: AgentRun; readonly attempts: readonly unknown[] } {
  const { tool, attempts } = balance(more);
  const run = agentRun({ script: [call("balance", {}), say("Done.")], tools: { balance: tool }, ...options });
  return { run, attempts };
}

/** `bad` and `minor` fail, `good` and `tiny` work, `closed` is denied by a rule; each turn is a list of them. */
export function turns(script: readonly string[], options: Partial<AgentRunOptions> = {}): AgentRun {
  const asked: ScriptedTurn[] = script.map((names, n) => calls(...names.split(" ").map((name) => call(name, { n }))));
  return agentRun({
    script: [...asked, say("Sorry.")],
    tools: {
      bad: failing("no").tool,
      minor: failing("no").tool,
      good: recorder().tool,
      tiny: recorder().tool,
      closed: recorder().tool,
    },
    policy: ({ tool }) => (tool === "closed" ? { deny: "closed" } : undefined),
    ...options,
  });
}
