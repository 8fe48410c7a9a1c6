import fc from "fast-check";
import { arbitraryAnswer } from "./arbitrary-answer.ts";
import { arbitraryTool, verdict } from "./arbitrary-tool.ts";
import type {
  AgentPlan,
  AnswerPlan,
  GatePlan,
  HistoryPlan,
  HooksPlan,
  LimitsPlan,
  ResultsPlan,
  StopPlan,
} from "./plan.ts";
import { mostly, rarely } from "./rarely.ts";

const looks = { beforeModel: "look", afterModel: "look", beforeTool: "look", afterTool: "look" } as const;
const none = { beforeModel: "none", afterModel: "none", beforeTool: "none", afterTool: "none" } as const;

/** No hooks, hooks that only look, and rarely one that does more. */
const hooks = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<HooksPlan>(none, none, looks) },
  {
    weight: 1,
    arbitrary: fc.record<HooksPlan>({
      beforeModel: mostly<HooksPlan["beforeModel"]>(
        ["none", "note", "slow"],
        ["unpaired", "throws", "slow-throws", "hangs"],
      ),
      afterModel: mostly<HooksPlan["afterModel"]>(["none", "slow"], ["throws", "slow-throws", "hangs"]),
      beforeTool: mostly<HooksPlan["beforeTool"]>(["none", "slow"], ["instead", "throws", "slow-throws", "hangs"], 3),
      afterTool: mostly<HooksPlan["afterTool"]>(["none", "slow"], ["instead", "throws", "slow-throws", "hangs"], 3),
    }),
  },
);

const gate: fc.Arbitrary<GatePlan> = fc.record({
  says: fc.array(mostly(["no", "no", "later-no", "yes"], ["throws", "hangs"], 8), { maxLength: 4 }),
  maxAttempts: fc.constantFrom(2, 1),
});

const repeats = fc.constantFrom<LimitsPlan["repeats"]>(
  ...[null, { count: 3, follows: "note" as const }, { count: 2, follows: "note" as const }],
  ...[
    { count: 2, follows: "warn" as const },
    { count: 2, follows: "stop" as const },
  ],
);

const limits: fc.Arbitrary<LimitsPlan> = fc.record({
  turns: mostly([10, 5], [3, 2, 1], 3),
  calls: mostly([100], [5, 3, 1], 4),
  tokens: mostly([null], [250, 60, 1], 5),
  timeMs: mostly([300_000], [60_000, 3_000], 5),
  repeats,
  failures: mostly([null, 3], [1], 5),
  depth: fc.constantFrom(3, 2, 1),
});

const stopWhen: fc.Arbitrary<readonly StopPlan[]> = rarely<readonly StopPlan[]>(
  [],
  fc.array(mostly(["never", "later", "text", "calls"], ["second", "throws", "hangs"], 4), { maxLength: 2 }),
);

const results = fc.constantFrom<ResultsPlan>(
  ...(["short", "process", "process-throws", "extract", "extract-throws", "extract-hangs"] as const),
);

/** One answer after the other; some models say the same again and again. */
function answers(maxLength: number): fc.Arbitrary<readonly AnswerPlan[]> {
  const several = fc.tuple(arbitraryAnswer, mostly([1], [2, 3, 5], 3));
  return fc
    .array(several, { maxLength, size: "max" })
    .map((list) => list.flatMap(([answer, times]) => Array.from({ length: times }, () => answer)));
}

/** An agent, and agents below it to a depth of three; those have less to do. */
export function arbitraryAgent(depth: number): fc.Arbitrary<AgentPlan> {
  const below = depth < 3 ? arbitraryAgent(depth + 1) : undefined;
  return fc.record({
    answers: answers(depth === 0 ? 5 : 2),
    tools: fc.array(arbitraryTool(below, depth), { minLength: 1, maxLength: depth === 0 ? 4 : 2, size: "max" }),
    policies: rarely(
      [],
      fc.array(fc.array(fc.record({ tool: fc.constantFrom(null, 0, 1, 2, 3), verdict }), { maxLength: 2 }), {
        maxLength: 2,
      }),
      3,
    ),
    limits,
    onLimit: fc.constantFrom("answer", "answer", "stop"),
    onDenied: mostly(["continue"], ["stop"]),
    holdTurn: fc.boolean(),
    concurrency: fc.constantFrom(8, 2, 1),
    modelAttempts: mostly([3], [2, 1]),
    modelSilenceMs: mostly([60_000], [8_000], 4),
    modelRetry: mostly(["none"], ["never", "throws"], 8),
    stopWhen,
    gate: rarely<GatePlan | null>(null, gate),
    hooks,
    history: rarely<HistoryPlan>(
      "whole",
      fc.constantFrom("mask", "compact", "summary", "summary-throws", "summary-hangs"),
    ),
    results: rarely<ResultsPlan>("whole", results),
  });
}
