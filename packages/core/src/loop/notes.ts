import type { Rules } from "../agent/rules.ts";
import type { LimitName } from "../protocol/values.ts";
import type { Action } from "./action.ts";
import { lastWhole } from "./limits.ts";

const LAST: Partial<Readonly<Record<LimitName, string>>> = {
  failures:
    "The last tool calls all failed. No more tools can be used in this run. Explain what went wrong in plain words, and ask the person how to go on.",
};
const LAST_ANSWER =
  "No more tools can be used in this run. Answer now from the results you have, and say plainly what is missing.";

/** What the model is told with its next turn. In the log, so that a replay says the same. */
export function noteFor(action: Action & { type: "call-model" }, rules: Rules | undefined): string | undefined {
  const { run, last, repeated } = action;
  if (last) return LAST[last] ?? LAST_ANSWER;
  const notes: string[] = [];
  const whole = lastWhole(run);
  if (repeated !== undefined && rules?.limits.repeats?.follows === "note" && whole) {
    const names = [...new Set(whole.calls.map(({ tool }) => tool))].join(" and ");
    notes.push(
      `You have called ${names} ${repeated} times in a row with the same arguments. The result will not change: use it, or try something else.`,
    );
  }
  if (whole?.judged?.verdict === "again") {
    notes.push(`Your answer is not complete yet: ${whole.judged.reason ?? "look at the task again."}`);
  }
  return notes.length > 0 ? notes.join(" ") : undefined;
}
