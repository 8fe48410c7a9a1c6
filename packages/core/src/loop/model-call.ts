import type { Agent } from "../agent/agent.ts";
import type { ModelMessage } from "../model/model.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { User } from "../protocol/typed.ts";
import type { Clock } from "./clock.ts";
import type { Stop } from "./context.ts";
import type { TurnPlan } from "./turn-plan.ts";

/** One model call, and what it needs. */
export interface CallModel {
  readonly runId: string;
  readonly threadId: string;
  readonly user: User;
  readonly turn: number;
  readonly attempt: number;
  readonly toolsOff: boolean;
  readonly plan: Pick<TurnPlan, "model" | "toolChoice" | "tries" | "isLastModel">;
  /** As it is in this turn. */
  readonly agent: Agent;
  /** Makes the history; the app's instructions are a part of it. */
  readonly prompt: () => readonly ModelMessage[];
  readonly stop: Stop;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly emit: (...drafts: readonly EventDraft[]) => void;
  readonly onError: (error: unknown) => void;
}
