import type { HistoryOptions } from "../../../src/model/shape-history.ts";
import type { ResultOptions } from "../../../src/model/shape-result.ts";
import { hostileValue } from "./hostile-values.ts";
import type { HistoryPlan, ResultsPlan } from "./plan.ts";
import { hang } from "./waiting.ts";

function breaks(): never {
  throw new Error("planned: this rule throws");
}

/** A history that is shortened at nearly every request. */
export function plannedHistory(plan: HistoryPlan): HistoryOptions | undefined {
  if (plan === "whole") return undefined;
  if (plan === "mask") return { mask: { olderThanTurns: 1, atLeastTokens: 1 } };
  const summarise = (): string | Promise<string> => {
    if (plan === "summary-throws") breaks();
    return plan === "summary-hangs" ? hang() : Promise.resolve("planned: in short");
  };
  return { compact: { maxTokens: 40, keepTokens: 10, summarise: plan === "compact" ? undefined : summarise } };
}

/** What an agent makes of results; not all of it is JSON. */
export function plannedResults(plan: ResultsPlan): ResultOptions | undefined {
  switch (plan) {
    case "whole":
      return undefined;
    case "short":
      return { maxChars: 100 };
    case "process":
      return { process: () => hostileValue("proto") as never }; // whatever an app makes
    case "process-throws":
      return { process: breaks };
    case "extract":
      return { extract: async () => "planned: what matters", extractAboveTokens: 0 };
    case "extract-throws":
      return { extract: breaks, extractAboveTokens: 0 };
    case "extract-hangs":
      return { extract: () => hang(), extractAboveTokens: 0 };
    default:
      return plan satisfies never;
  }
}
