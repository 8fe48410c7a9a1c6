import type { Model, ModelPart } from "../../../src/model/model.ts";
import { wireToolName } from "../../../src/model/tool-name.ts";
import type { Place } from "./place.ts";
import type { AgentPlan, AnswerPlan, ModelFailure, PartPlan, ToolName } from "./plan.ts";
import type { Subject } from "./subject-type.ts";
import { hang, pass } from "./waiting.ts";

/** What a model says when its plan is over: it ends every run. */
export const LAST_WORDS = "All done.";

const LAST_ANSWER: AnswerPlan = {
  parts: [
    { type: "text", text: LAST_WORDS },
    { type: "end", reason: "stop", tokens: null },
  ],
  together: 0,
  obeys: true,
};

/** A model that answers as its plan says. */
export function plannedModel(agent: AgentPlan, place: Place): Model {
  const { clock } = place;
  return {
    id: "planned",
    async *stream(request, signal) {
      const answer = agent.answers[place.countOf(agent)] ?? LAST_ANSWER;
      place.onRequest({ agent, request, answer, aborted: signal.aborted });
      const heard = answer.obeys ? signal : undefined;
      let held: ModelPart[] = [];
      for (const part of answer.parts) {
        if (part.type === "hang" || part.type === "wait" || part.type === "fail" || part.type === "cut") {
          if (held.length > 0) yield held;
          held = [];
        }
        if (part.type === "hang") await hang(heard);
        else if (part.type === "wait") await pass(clock, part.ms, heard);
        else if (part.type === "fail") throw failureOf(part.how, place.subject);
        else if (part.type === "cut") return;
        else if (answer.together === 0) yield toPart(part, agent);
        else if (held.push(toPart(part, agent)) >= answer.together) {
          yield held;
          held = [];
        }
      }
      if (held.length > 0) yield held;
    },
  };
}

type Said = Exclude<PartPlan, { type: "hang" | "wait" | "fail" | "cut" }>;

function toPart(part: Said, agent: AgentPlan): ModelPart {
  switch (part.type) {
    case "source":
      return { type: "source", url: "https://shop.test/source" };
    case "opaque":
      return { type: "opaque", block: { origin: "planned", data: { sealed: true } } };
    case "unknown":
      return { type: "hologram" } as unknown as ModelPart; // of a newer provider
    case "call-start":
      return { type: "call-start", id: part.id, name: spoken(part.tool, agent) };
    case "call":
      return { type: "call", id: part.id, name: spoken(part.tool, agent), input: part.input };
    case "end":
      return {
        type: "end",
        reason: part.reason,
        usage: part.tokens === null ? undefined : { inputTokens: part.tokens, outputTokens: 1 },
      };
    default:
      return part;
  }
}

/** Names a model may know a tool by; the last two are what a careless lookup finds on every object. */
export const TOOL_NAMES: readonly string[] = ["refund", "send mail", "$x", "toString", "constructor"];

export function nameOf(tool: ToolName, { tools }: Pick<AgentPlan, "tools">): string {
  if (typeof tool === "string") return tool;
  return TOOL_NAMES[tools.length > 0 ? tool % tools.length : tool % TOOL_NAMES.length] ?? "ghost";
}

/** A model knows a tool by its name on the wire; what it makes up is as it is. */
function spoken(tool: ToolName, agent: AgentPlan): string {
  const name = nameOf(tool, agent);
  return typeof tool === "string" ? name : wireToolName(name);
}

function failureOf(how: ModelFailure, { ModelError }: Subject): unknown {
  switch (how) {
    case "again":
      return new ModelError("planned: overloaded", { retryable: true, status: 529 });
    case "never":
      return new ModelError("planned: bad request", { retryable: false, status: 400 });
    case "later":
      return new ModelError("planned: slow down", { retryable: true, status: 429, retryAfterMs: 7_000 });
    case "error":
      return new Error("planned: a bug of the model's code");
    default:
      return undefined;
  }
}
