import fc from "fast-check";
import { CHEAP_VALUES, VALUE_NAMES } from "./hostile-values.ts";
import type {
  AgentPlan,
  AnswerSchemaName,
  BehaviourPlan,
  EndPlan,
  SchemaName,
  StepPlan,
  ToolPlan,
  VerdictPlan,
} from "./plan.ts";
import { mostly, rarely } from "./rarely.ts";

export const verdict: fc.Arbitrary<VerdictPlan> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom<VerdictPlan>("none", "allow", "later-allow", "slow-allow") },
  {
    weight: 6,
    arbitrary: fc.constantFrom<VerdictPlan>("ask", "ask-soon", "ask-fixed", "ask-note", "later-ask", "ask-key"),
  },
  { weight: 1, arbitrary: fc.constantFrom<VerdictPlan>("deny", "throw", "slow-throw", "garbage", "hang") },
  { weight: 2, arbitrary: fc.constantFrom<VerdictPlan>("modify", "modify-ask", "modify-bad") },
);

const schema = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom<SchemaName>("amount", "defaults", "any", "any") },
  { weight: 4, arbitrary: fc.constantFrom<SchemaName>("empty", "later", "grows") },
  { weight: 1, arbitrary: fc.constantFrom<SchemaName>("throws", "rejects", "hangs") },
);

const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("text", "number", "object", "list") },
  { weight: 4, arbitrary: fc.constantFrom(...CHEAP_VALUES) },
);
const anyValue = fc.oneof({ weight: 60, arbitrary: value }, { weight: 1, arbitrary: fc.constantFrom(...VALUE_NAMES) });

const step: fc.Arbitrary<StepPlan> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 50, 150, 1_000, 7_000, 70_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("progress" as const), value: fc.constantFrom(0.5, 2, Number.NaN) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("log" as const), text: fc.constantFrom("line", "\ud83d") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("partial" as const), value }) },
  { weight: 1, arbitrary: fc.constantFrom<StepPlan>({ do: "spam" }, { do: "mutate" }) },
);

const end: fc.Arbitrary<EndPlan> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant("return" as const), value: anyValue }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("throw" as const), value: fc.oneof(fc.constant("error"), value) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("definite" as const), retry: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant<EndPlan>({ type: "hang" }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("ask" as const),
      times: fc.constantFrom(1, 1, 2, 20),
      varies: fc.boolean(),
      schema: fc.constantFrom("none" as const, "none" as const, "text" as const, "amount" as const),
      url: fc.boolean(),
      expiresInMs: fc.constantFrom(null, null, 5_000),
    }),
  },
);

const behaviour: fc.Arbitrary<BehaviourPlan> = fc.record({
  form: fc.constantFrom("sync", "async", "async", "generator"),
  steps: fc.array(step, { maxLength: 4 }),
  end,
  obeys: fc.boolean(),
  late: fc.boolean(),
});

const seldom = rarely(false, fc.constant(true));

const common = {
  schema,
  approval: verdict,
  readOnly: fc.boolean(),
  destructive: seldom,
  summary: fc.constantFrom("none" as const, "text" as const, "throws" as const),
};
const answerSchema = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom<AnswerSchemaName>("text", "amount", "any") },
  { weight: 1, arbitrary: fc.constantFrom<AnswerSchemaName>("throws", "hangs") },
);

const serverTool: fc.Arbitrary<ToolPlan> = fc.record({
  ...common,
  kind: fc.constant("server" as const),
  idempotent: fc.boolean(),
  sequential: seldom,
  maxRetries: fc.constantFrom(0, 0, 1, 2),
  retry: mostly<"always" | "never" | "throws">(["always"], ["never", "throws"]),
  timeoutMs: fc.constantFrom(60_000, 60_000, 5_000, 100),
  toModel: fc.constantFrom("none", "none", "short", "throws"),
  behaviours: fc.array(behaviour, { minLength: 1, maxLength: 3 }),
});

const questionTool: fc.Arbitrary<ToolPlan> = fc.record({
  ...common,
  kind: fc.constant("question" as const),
  answer: answerSchema,
  expiresInMs: fc.constantFrom(null, 5_000),
  prompt: fc.constantFrom("none", "text", "throws"),
});

const browserTool: fc.Arbitrary<ToolPlan> = fc.record({
  ...common,
  kind: fc.constant("browser" as const),
  answer: answerSchema,
  timeoutMs: fc.constantFrom(600_000, 5_000),
});

/** A tool; `agents` are the plans that a sub-agent may have. */
export function arbitraryTool(agents: fc.Arbitrary<AgentPlan> | undefined, depth: number): fc.Arbitrary<ToolPlan> {
  const kinds = [
    { weight: 7, arbitrary: serverTool },
    { weight: 1, arbitrary: questionTool },
    { weight: 1, arbitrary: browserTool },
  ];
  if (!agents) return fc.oneof(...kinds);
  const agentTool = fc.record({ ...common, kind: fc.constant("agent" as const), agent: agents });
  return fc.oneof(...kinds, { weight: 5 + 5 * depth, arbitrary: agentTool });
}
