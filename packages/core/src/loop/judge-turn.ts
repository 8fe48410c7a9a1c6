import type { Agent } from "../agent/agent.ts";
import type { StopContext } from "../agent/stop-when.ts";
import { saysStop } from "../agent/stop-when.ts";
import { copyJson, wellFormed } from "../protocol/copy-json.ts";
import type { EventDraft } from "../protocol/event.ts";
import { textOf } from "../protocol/read-thread.ts";
import type { Call, Run, Turn } from "../protocol/thread.ts";
import { turnsOf } from "../protocol/thread.ts";
import type { TurnVerdict } from "../protocol/values.ts";
import type { LoopContext } from "./context.ts";
import { inTime, RULE_MS } from "./in-time.ts";
import { gateRefusals } from "./limits.ts";

interface Verdict {
  readonly verdict: TurnVerdict;
  readonly reason?: string | undefined;
}

const LATE = Symbol("late");

/**
 * Asks `stopWhen`, and for a final answer the completion gate. What they say is in the log before anything follows
 * from it, so that a resumed run never asks them again. One that fails, or thinks too long, fails the run.
 */
export async function judgeTurn(
  run: Run,
  turn: Turn,
  agent: Agent | undefined,
  { clock, onError }: LoopContext,
): Promise<EventDraft> {
  let verdict: Verdict = { verdict: "failed" };
  try {
    const said = agent ? await inTime(clock, conditionsOf(agent, run, turn), RULE_MS, LATE) : LATE;
    if (said === LATE) onError(new Error("stopWhen or the completion gate did not answer in time."));
    else verdict = said;
  } catch (error) {
    onError(error);
  }
  const reason = verdict.reason === undefined ? undefined : wellFormed(verdict.reason.slice(0, 2_000));
  return {
    type: "turn-judged",
    runId: run.runId,
    turn: turn.turn,
    verdict: verdict.verdict,
    reason,
  };
}

async function conditionsOf(agent: Agent, run: Run, turn: Turn): Promise<Verdict> {
  const before = run.turns.at(-1)?.calls ?? [];
  const context = (): StopContext => ({
    turn: turn.turn,
    text: textOf(turn),
    calls: turn.calls.map(({ tool, input }) => ({ tool, input: copyJson(input) })),
    usage: { ...run.usage },
    callCount: run.callCount - turn.calls.length,
    lastResults: before.map((call) => copyJson(call.output ?? call.error?.message ?? call.reason ?? null)),
    lastTools: before.map(({ tool }) => tool),
  });
  for (const condition of agent.stopWhen) {
    const said = await condition(context());
    if (saysStop(said)) {
      return { verdict: "stop", reason: typeof said === "string" ? said : undefined };
    }
  }
  if (!agent.gate || turn.calls.length > 0) return { verdict: "pass" };
  const said = await agent.gate.check({
    text: textOf(turn),
    calls: turnsOf(run).flatMap((each) => each.calls.map(gateCall)),
    attempts: gateRefusals(run),
  });
  if (said === true) return { verdict: "pass" };
  if (typeof said === "string" && said !== "") return { verdict: "again", reason: said };
  throw new TypeError("The gate returned neither true nor what is missing.");
}

function gateCall({ tool, input, status, output }: Call): {
  tool: string;
  input: Call["input"];
  status: "succeeded" | "failed" | "not-run";
  output?: Call["output"];
} {
  const settled = status === "succeeded" || status === "failed" ? status : "not-run";
  return { tool, input: copyJson(input), status: settled, output: output === undefined ? undefined : copyJson(output) };
}
