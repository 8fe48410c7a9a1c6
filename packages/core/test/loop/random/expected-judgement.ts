import { refusalsOf } from "./expected-limits.ts";
import type { RunFacts, TurnFacts } from "./log-facts.ts";
import type { StopPlan } from "./plan.ts";

/** What `stopWhen` and the gate say of a whole turn, worked out from the plan; undefined where nobody is asked. */
export function expectedJudgement(run: RunFacts, turn: TurnFacts): "pass" | "stop" | "again" | "failed" | undefined {
  const { stopWhen, gate } = run.plan;
  if ((stopWhen.length === 0 && !gate) || turn.starts.at(-1)?.toolsOff) return undefined;
  const text = turn.texts.get(turn.ended?.attempt ?? 0)?.text ?? "";
  for (const stop of stopWhen) {
    if (stop === "throws" || stop === "hangs") return "failed";
    if (says(stop, turn, text)) return "stop";
  }
  if (!gate || turn.calls.length > 0) return "pass";
  const said = gate.says[refusalsOf(run)] ?? "yes";
  if (said === "throws" || said === "hangs") return "failed";
  return said === "yes" ? "pass" : "again";
}

function says(stop: StopPlan, turn: TurnFacts, text: string): boolean {
  if (stop === "second") return turn.turn >= 2;
  if (stop === "calls") return turn.calls.length > 0;
  return stop === "text" && text !== "";
}
