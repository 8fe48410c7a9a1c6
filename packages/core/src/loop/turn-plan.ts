import type { Agent } from "../agent/agent.ts";
import type { NamedModel } from "../agent/models.ts";
import type { ToolChoice } from "../model/model.ts";

/** What one model call goes out with. Only what others must know of it is in the log. */
export interface TurnPlan {
  readonly model: NamedModel;
  /** The agent as it is in this turn: with the tools that may be called, and no others. */
  readonly agent: Agent;
  readonly toolChoice: ToolChoice | undefined;
  /** Which of the model's own attempts this is, from 1. */
  readonly tries: number;
  /** True when no model is left behind this one. */
  readonly isLastModel: boolean;
  /** Names of the tools that may be called, where some are hidden. */
  readonly offered: readonly string[] | undefined;
}
