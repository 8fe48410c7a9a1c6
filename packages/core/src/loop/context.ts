import type { Agent } from "../agent/agent.ts";
import type { User } from "../protocol/typed.ts";
import type { Action } from "./action.ts";
import type { Clock } from "./clock.ts";
import type { EventQueue } from "./event-queue.ts";
import type { TurnPlan } from "./turn-plan.ts";

/** What everything in one drive of a run shares. */
export interface LoopContext {
  /** The outermost agent, with the tools it has now. */
  readonly agent: Agent;
  /** Whom the run acts for. */
  readonly user: User;
  /** This driver's ownership number in the log. */
  readonly epoch: number;
  readonly driverId: string;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly queue: EventQueue;
  /** Monotonic time at which the request must be over; Infinity without a limit. */
  readonly budgetEndsAt: number;
  /** Turns that are set up and not begun yet, by `turnKey`. */
  readonly plans: Map<string, TurnPlan>;
  /** True when the dynamic tools for an attempt of a model call could not be loaded. */
  readonly toolsFailed: (action: Action & { readonly type: "call-model" }, agent: Agent) => boolean;
  /** True when the log has no room for more. */
  readonly isFull: () => boolean;
  /** Gets what must not reach a browser. */
  readonly onError: (error: unknown) => void;
}

/** What a host gives: the rest is the loop's own. */
export type DriveContext = Omit<LoopContext, "plans" | "toolsFailed">;

/**
 * How an effect hears that it is to end: on stop, or because another driver took over. Not a signal, which costs
 * more than a small tool's whole call; those who hand one on make it.
 */
export interface Stop {
  /** Set when the effect is to end. */
  reason: DOMException | undefined;
  listener: (() => void) | undefined;
}
