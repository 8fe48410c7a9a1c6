import type { ToolContext } from "../../../src/agent/tool-context.ts";
import type { Clock } from "../../../src/loop/clock.ts";
import type { ModelRequest } from "../../../src/model/model.ts";
import type { Json } from "../../../src/protocol/values.ts";
import type { AgentPlan, AnswerPlan, ToolPlan } from "./plan.ts";
import type { Subject } from "./subject-type.ts";

/** One request a model got. */
export interface ModelCall {
  readonly agent: AgentPlan;
  readonly request: ModelRequest;
  /** What it answers, whether or not anybody listens to the end. */
  readonly answer: AnswerPlan;
  /** Its signal was over before it began. */
  readonly aborted: boolean;
  /** Events in the log when it was asked. */
  readonly seq: number;
  readonly server: string;
}

/** One call of a tool's `execute`: a side effect. */
export interface Execution {
  readonly callId: string;
  readonly attempt: number;
  readonly key: string;
  /** As it was handed over, before the tool could change it. */
  readonly input: Json;
  readonly answers: readonly Json[];
  readonly aborted: boolean;
  readonly seq: number;
  readonly server: string;
}

/** Time of the server that models, tools and rules work on. */
export type OutsideClock = Pick<Clock, "after">;

/** Where the agent of a plan works: one server of the world. */
export interface Place {
  readonly subject: Subject;
  readonly clock: OutsideClock;
  /** How often a model or a tool was asked before, on any server. */
  countOf(plan: AgentPlan | ToolPlan): number;
  onRequest(call: Omit<ModelCall, "seq" | "server">): void;
  onExecute(input: Json, context: ToolContext): void;
}
