import type { Agent, Tool } from "../../../src/agent/agent.ts";
import type { Policy } from "../../../src/agent/policy.ts";
import type { Verdict } from "../../../src/agent/verdict.ts";
import type { Place } from "./place.ts";
import type { AgentPlan, PolicyPlan, VerdictPlan } from "./plan.ts";
import { plannedModel, TOOL_NAMES } from "./planned-model.ts";
import { plannedGate, plannedHooks, plannedStop, speak } from "./planned-rules.ts";
import { plannedHistory, plannedResults } from "./planned-shapes.ts";
import { plannedTool } from "./planned-tool.ts";

/** The agent of a plan, over the code under test. */
export function plannedAgent(plan: AgentPlan, place: Place): Agent {
  const agentOf = (child: AgentPlan): Agent => plannedAgent(child, place);
  const tools: Record<string, Tool> = {};
  for (const [index, toolPlan] of plan.tools.entries()) {
    const name = TOOL_NAMES[index];
    if (name !== undefined) tools[name] = plannedTool(toolPlan, place, agentOf);
  }
  const { limits, modelRetry, stopWhen, gate } = plan;
  const { onLimit, onDenied, holdTurn, concurrency, modelAttempts, modelSilenceMs } = plan;
  return place.subject.defineAgent({
    model: plannedModel(plan, place),
    instructions: "Be brief.",
    tools,
    policy: plan.policies.map(
      (policy): Policy =>
        ({ tool }) =>
          speak(verdictOf(policy, plan, tool), place.clock) as Verdict,
    ), // wrong ones are part of the plan
    limits: {
      ...{ turns: limits.turns, calls: limits.calls, timeMs: limits.timeMs, depth: limits.depth },
      ...{ tokens: limits.tokens ?? undefined, repeats: limits.repeats ?? false, failures: limits.failures ?? false },
    },
    ...{ onLimit, onDenied, holdTurn, concurrency, modelAttempts, modelSilenceMs },
    modelRetry: modelRetry === "none" ? undefined : () => refuse(modelRetry === "throws"),
    stopWhen: stopWhen.length > 0 ? stopWhen.map(plannedStop) : undefined,
    gate: gate ? plannedGate(gate) : undefined,
    hooks: plannedHooks(plan.hooks, place.clock),
    history: plannedHistory(plan.history),
    results: plannedResults(plan.results),
  });
}

function refuse(throws: boolean): false {
  if (throws) throw new Error("planned: this rule throws");
  return false;
}

/** What a policy says about a tool. */
export function verdictOf(policy: PolicyPlan, { tools }: AgentPlan, name: string): VerdictPlan {
  const fits = policy.find(({ tool }) => tool === null || TOOL_NAMES[tool % Math.max(1, tools.length)] === name);
  return fits?.verdict ?? "none";
}
