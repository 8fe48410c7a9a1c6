import type { CallFacts, RunFacts, TurnFacts } from "./log-facts.ts";
import { callsOf, treeOf } from "./log-facts.ts";
import { sameJson } from "./same-json.ts";

/** Tokens of a run and of all it asked for, by the ends of their turns. */
export function tokensOf(run: RunFacts): number {
  const ends = treeOf(run).flatMap(({ turns }) =>
    turns.flatMap(({ ended, failed }) => [...failed, ended].flatMap((each) => each?.usage ?? [])),
  );
  return ends.reduce((sum, { inputTokens = 0, outputTokens = 0 }) => sum + inputTokens + outputTokens, 0);
}

/** Calls of a run and of all it asked for. */
export function callCountOf(run: RunFacts): number {
  return treeOf(run).reduce((sum, each) => sum + callsOf(each).length, 0);
}

/** How many whole turns in a row, up to the last, asked for the same; a turn with an approval is none of them. */
export function repeatsOf({ turns }: RunFacts): number {
  const whole = turns.filter(({ ended }) => ended);
  const last = whole.at(-1);
  if (!last || last.calls.length === 0) return 0;
  const others = whole.toReversed();
  const end = others.findIndex((turn) => turn.calls.some(isApproved) || !sameJson(wanted(turn), wanted(last)));
  return end < 0 ? others.length : end;
}

function isApproved({ decisions }: CallFacts): boolean {
  return decisions.some(({ action }) => action === "approve");
}

function wanted({ calls }: TurnFacts): unknown {
  return calls.map(({ ready }) => [ready.tool, ready.input]);
}

/** Failed calls in the turns up to the last whole one that had failures and no success. */
export function failuresOf({ turns }: RunFacts): number {
  let count = 0;
  for (const turn of turns.filter(({ ended }) => ended).toReversed()) {
    const outcomes = turn.calls.map(({ settled }) => settled?.outcome);
    const failed = outcomes.filter((outcome) => outcome === "failed").length;
    if (failed === 0 || outcomes.includes("succeeded")) break;
    count += failed;
  }
  return count;
}

/** Where a repetition ends the run. */
export function repeatsEnd({ plan }: RunFacts): number {
  const { repeats } = plan.limits;
  if (!repeats || repeats.follows === "warn") return Number.POSITIVE_INFINITY;
  return repeats.follows === "stop" ? repeats.count : 2 * repeats.count;
}

/** How often the gate asked for another answer. */
export function refusalsOf({ turns }: RunFacts): number {
  return turns.filter(({ judged }) => judged?.verdict === "again").length;
}
