import type { Agent, Tool } from "../../../src/agent/agent.ts";
import type { Verdict } from "../../../src/agent/verdict.ts";
import { behave } from "./behaviour.ts";
import type { OutsideClock, Place } from "./place.ts";
import type { AgentPlan, ServerToolPlan, ToolPlan, VerdictPlan } from "./plan.ts";
import { speak } from "./planned-rules.ts";
import { ANSWER_SCHEMAS, INPUT_SCHEMAS } from "./schemas.ts";
import type { Subject } from "./subject-type.ts";

/** A tool that does what its plan says. */
export function plannedTool(plan: ToolPlan, place: Place, agentOf: (plan: AgentPlan) => Agent): Tool {
  const { subject, clock } = place;
  const { summary, readOnly } = plan;
  const common = {
    description: "planned",
    inputSchema: INPUT_SCHEMAS[plan.schema],
    destructive: plan.destructive && !readOnly,
    approval: approvalOf(plan.approval, clock),
    summary: summary === "none" ? undefined : () => said(summary, "in short"),
  };
  switch (plan.kind) {
    case "server":
      return serverTool(plan, { ...common, readOnly }, place);
    case "agent":
      return subject.agentTool({ ...common, agent: agentOf(plan.agent) });
    case "question": {
      const { answer, expiresInMs, prompt } = plan;
      const { description, inputSchema } = common;
      return subject.questionTool({
        ...{ description, inputSchema, summary: common.summary, answerSchema: ANSWER_SCHEMAS[answer] },
        expiresInMs: expiresInMs ?? undefined,
        prompt: prompt === "none" ? undefined : () => said(prompt, "Which one?"),
      });
    }
    case "browser":
      return subject.browserTool({
        ...common,
        ...{ readOnly, outputSchema: ANSWER_SCHEMAS[plan.answer], timeoutMs: plan.timeoutMs },
      });
    default:
      return plan satisfies never;
  }
}

type Common = Omit<Parameters<Subject["tool"]>[0], "execute">;

function serverTool(plan: ServerToolPlan, common: Common, place: Place): Tool {
  const { idempotent, sequential, maxRetries, timeoutMs, toModel, retry } = plan;
  return place.subject.tool({
    ...common,
    ...{ idempotent, sequential, maxRetries, timeoutMs },
    retry: { when: retry === "always" ? undefined : () => said(retry === "throws" ? "throws" : "", "") !== "" },
    toModel: toModel === "none" ? undefined : () => said(toModel, "for the model"),
    execute: (input, context) => {
      const behaviour = plan.behaviours[place.countOf(plan) % plan.behaviours.length];
      place.onExecute(JSON.parse(JSON.stringify(input)), context);
      return behaviour && behave(behaviour, input, context, place);
    },
  });
}

function said(how: string, text: string): string {
  if (how === "throws") throw new Error("planned: this rule throws");
  return text;
}

/** Opinions that need no function are the tool's `approval` themselves. */
const PLAIN: readonly VerdictPlan[] = [
  "none",
  "allow",
  "ask",
  "ask-soon",
  "ask-fixed",
  "ask-note",
  "ask-key",
  "deny",
  "modify",
];

function approvalOf(plan: VerdictPlan, clock: OutsideClock): Verdict | (() => Verdict) {
  const answer = (): Verdict => speak(plan, clock) as Verdict; // wrong answers are part of the plan
  return PLAIN.includes(plan) ? answer() : answer;
}
