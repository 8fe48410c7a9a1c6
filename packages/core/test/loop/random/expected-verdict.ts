import type { AgentPlan, VerdictPlan } from "./plan.ts";
import { verdictOf } from "./planned-agent.ts";
import { TOOL_NAMES } from "./planned-model.ts";

const NO: readonly VerdictPlan[] = ["deny", "throw", "slow-throw", "garbage", "hang"];
const ASKS: readonly VerdictPlan[] = ["ask", "ask-soon", "ask-fixed", "ask-note", "ask-key", "later-ask", "modify-ask"];

/** What policies and tool together say about every call of a tool, worked out from the plan alone. */
export function expectedVerdict(
  agent: AgentPlan,
  name: string,
): { readonly never: VerdictPlan | undefined; readonly asks: boolean; readonly keyed: boolean } {
  const plan = agent.tools[TOOL_NAMES.indexOf(name)];
  const own = plan && plan.kind !== "question" ? plan.approval : "none";
  const opinions = [...agent.policies.map((policy) => verdictOf(policy, agent, name)), own];
  const never = opinions.find((opinion) => NO.includes(opinion));
  // The first that asks says how.
  const keyed = opinions.find((opinion) => ASKS.includes(opinion)) === "ask-key";
  if (plan?.kind === "question") return { never, asks: false, keyed }; // it is the asking itself
  const silent = opinions.every((opinion) => opinion === "none");
  const free = plan?.kind === "agent" || (plan?.readOnly ?? false);
  return { never, asks: opinions.some((opinion) => ASKS.includes(opinion)) || (silent && !free), keyed };
}
