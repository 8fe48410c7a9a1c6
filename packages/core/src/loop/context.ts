import type { Agent } from "../agent/define-agent.ts";
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
  /** Gets what must not reach a browser. */
  readonly onError: (error: unknown) => void;
}
