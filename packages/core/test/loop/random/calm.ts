import type {
  Act,
  AgentPlan,
  AgentToolPlan,
  AnswerPlan,
  BehaviourPlan,
  PartPlan,
  Plan,
  ServerToolPlan,
} from "./plan.ts";

/** The pieces of a plan in which nothing goes wrong, to be changed where a test wants it to. */
export const calmAgent: AgentPlan = {
  ...{ answers: [], tools: [], policies: [], onLimit: "answer", onDenied: "continue", holdTurn: false },
  ...{ concurrency: 8, modelAttempts: 3, modelSilenceMs: 60_000, modelRetry: "none", stopWhen: [], gate: null },
  limits: { turns: 10, calls: 100, tokens: null, timeMs: 300_000, repeats: null, failures: null, depth: 3 },
  hooks: { beforeModel: "none", afterModel: "none", beforeTool: "none", afterTool: "none" },
  ...{ history: "whole", results: "whole" },
};

const calmBehaviour: BehaviourPlan = {
  ...{ form: "async", steps: [], end: { type: "return", value: "text" }, obeys: true, late: false },
};

/** A tool that is allowed and returns a text, with other settings and behaviours. */
export function calmTool(
  settings: Partial<Omit<ServerToolPlan, "kind" | "behaviours">> = {},
  ...behaviours: readonly Partial<BehaviourPlan>[]
): ServerToolPlan {
  const all = behaviours.length > 0 ? behaviours : [{}];
  return {
    ...{ kind: "server", schema: "any", approval: "allow", readOnly: true, destructive: false, summary: "none" },
    ...{ idempotent: false, sequential: false, maxRetries: 0, retry: "always", timeoutMs: 60_000, toModel: "none" },
    ...settings,
    behaviours: all.map((behaviour) => ({ ...calmBehaviour, ...behaviour })),
  };
}

/** A sub-agent. */
export function calmChild(agent: Partial<AgentPlan>): AgentToolPlan {
  return {
    ...{ kind: "agent", schema: "any", approval: "none", readOnly: false, destructive: false, summary: "none" },
    agent: { ...calmAgent, ...agent },
  };
}

/** An answer that calls tools by their indexes, side by side. */
export function calls(...tools: readonly number[]): AnswerPlan {
  return answer(
    ...tools.map((tool, index): PartPlan => ({ type: "call", id: `c${index}`, tool, input: '{"amount":1}' })),
  );
}

/** An answer, with its end. */
export function answer(...parts: readonly PartPlan[]): AnswerPlan {
  return { parts: [...parts, { type: "end", reason: "stop", tokens: 7 }], together: 0, obeys: true };
}

export function calmPlan(
  agent: Partial<AgentPlan>,
  acts: readonly Act[] = [],
  latencies: readonly number[] = [0],
): Plan {
  return { agent: { ...calmAgent, ...agent }, server: { latencies, breath: 0, maxRequestMs: null }, acts };
}
