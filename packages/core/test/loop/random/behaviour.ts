import type { ToolContext } from "../../../src/agent/tool-context.ts";
import { hostileValue } from "./hostile-values.ts";
import type { Place as ServerPlace } from "./place.ts";
import type { BehaviourPlan, EndPlan, StepPlan } from "./plan.ts";
import { ANSWER_SCHEMAS } from "./schemas.ts";
import { hang, pass } from "./waiting.ts";

type Place = Pick<ServerPlace, "subject" | "clock">;

/** What a tool does when it is executed. */
export function behave(plan: BehaviourPlan, input: unknown, context: ToolContext, place: Place): unknown {
  if (plan.late) place.clock.after(40, () => report({ do: "spam" }, input, context));
  if (plan.form === "generator") return generate(plan, input, context, place);
  if (plan.form === "async") return work(plan, input, context, place);
  for (const step of plan.steps) report(step, input, context);
  return plan.end.type === "hang" ? hang(plan.obeys ? context.signal : undefined) : finish(plan.end, context, place);
}

async function work(plan: BehaviourPlan, input: unknown, context: ToolContext, place: Place): Promise<unknown> {
  const heard = plan.obeys ? context.signal : undefined;
  for (const step of plan.steps) {
    if (step.do === "wait") await pass(place.clock, step.ms, heard);
    else report(step, input, context);
  }
  return plan.end.type === "hang" ? hang(heard) : finish(plan.end, context, place);
}

async function* generate(
  plan: BehaviourPlan,
  input: unknown,
  context: ToolContext,
  place: Place,
): AsyncGenerator<unknown> {
  const heard = plan.obeys ? context.signal : undefined;
  for (const step of plan.steps) {
    if (step.do === "wait") await pass(place.clock, step.ms, heard);
    else if (step.do === "partial") yield hostileValue(step.value);
    else report(step, input, context);
  }
  yield plan.end.type === "hang" ? await hang(heard) : finish(plan.end, context, place);
}

function report(step: StepPlan, input: unknown, context: ToolContext): void {
  switch (step.do) {
    case "progress":
      context.progress({ value: step.value, max: 1, label: step.value > 1 ? "x".repeat(300) : undefined });
      break;
    case "log":
      context.log(step.text);
      break;
    case "partial":
      context.partial(hostileValue(step.value));
      break;
    case "spam":
      for (let index = 0; index < 30; index++) context.log(`line ${index}`);
      context.progress({ value: 0.5 });
      break;
    case "mutate":
      // What was approved is not this tool's to change.
      if (typeof input === "object" && input !== null) Object.assign(input, { amount: 666 });
      break;
    default:
      break;
  }
}

function finish(end: Exclude<EndPlan, { type: "hang" }>, { answers }: ToolContext, { subject }: Place): unknown {
  switch (end.type) {
    case "definite":
      throw new subject.DefiniteFailure("planned: nothing happened", { retry: end.retry });
    case "throw":
      throw hostileValue(end.value);
    case "return":
      return hostileValue(end.value);
    default: {
      if (answers.length >= end.times) return { answers };
      return subject.ask({
        prompt: end.varies ? `Question ${answers.length}` : "Question",
        schema: end.schema === "none" ? undefined : ANSWER_SCHEMAS[end.schema],
        url: end.url ? "https://shop.test/connect" : undefined,
        expiresInMs: end.expiresInMs ?? undefined,
      });
    }
  }
}
