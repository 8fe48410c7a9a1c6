import type { Agent } from "../agent/agent.ts";
import type { User } from "../protocol/typed.ts";
import type { Clock } from "./clock.ts";
import type { EventQueue } from "./event-queue.ts";

/** What everything in one drive of a run shares. */
export interface LoopContext {
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
  /** True when the log has no room for more. */
  readonly isFull: () => boolean;
  /** Gets what must not reach a browser. */
  readonly onError: (error: unknown) => void;
}

/**
 * How an effect hears that it is to end: on stop, or because another driver took over. Not a signal, which costs
 * more than a small tool's whole call; those who hand one on make it.
 */
export interface Stop {
  /** Set when the effect is to end. */
  reason: DOMException | undefined;
  listener: (() => void) | undefined;
}
