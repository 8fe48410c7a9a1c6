import type { Agent } from "../agent/agent.ts";
import type { Clock } from "../loop/clock.ts";
import type { ThreadEvent } from "../protocol/event.ts";
import { deepFreeze } from "../protocol/freeze.ts";
import type { Thread } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { ThreadView } from "../protocol/view-thread.ts";
import type { ThreadStore } from "../store/thread-store.ts";
import type { RecentBatches } from "./recent-batches.ts";

/** What a user wants to do with a thread. */
export type AccessAction = "read" | "send" | "decide" | "remove";

/** The question `authorize` answers. */
export interface AccessRequest {
  readonly user: User;
  readonly action: AccessAction;
  readonly thread: ThreadView;
  /** Id of the user who began it. */
  readonly owner: string;
}

/** Everything the server's files share: one per `createToolRun`. */
export interface Engine {
  readonly store: ThreadStore;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly agentFor: (user: User) => Agent | Promise<Agent>;
  readonly authorize: (request: AccessRequest) => boolean | Promise<boolean>;
  readonly leaseMs: number;
  /** Infinity without a limit. */
  readonly maxRequestMs: number;
  /** True where the process outlives its requests. */
  readonly livesOn: boolean;
  /** True where work goes on after a response: then a POST drives. */
  readonly drivesPosts: boolean;
  /** Keeps a request's work alive after its response. */
  readonly background: (work: Promise<void>) => void;
  readonly wake:
    | ((threadId: string, options: { readonly dueAt?: number | undefined }) => void | Promise<void>)
    | undefined;
  readonly onEvent: ((event: ThreadEvent, thread: ThreadView) => void) | undefined;
  /** Reports an error and returns the reference under which it is found. */
  readonly report: (error: unknown) => string;
  /** Drivers of this process, by thread: calling one makes it look into the log. */
  readonly drivers: Map<string, () => void>;
  /** Threads in which writes of this process are about to start a run, by user. */
  readonly starting: Map<string, readonly string[]>;
  readonly recent: RecentBatches;
  readonly maxActiveRuns: number;
}

/**
 * When a request that began at a monotonic time has to have handed over: a tenth of its time is kept for that. What
 * is taken up late in a request has only the rest of it.
 */
export function budgetEnd({ maxRequestMs }: Engine, startedAt: number): number {
  return startedAt + maxRequestMs * 0.9;
}

/** Tells observers; none of them can break or block a run. */
export function notify(
  engine: Engine,
  events: readonly ThreadEvent[],
  thread: Thread,
  view: (thread: Thread) => ThreadView,
): void {
  if (!engine.onEvent) return;
  for (const event of events) {
    try {
      Promise.resolve(engine.onEvent(deepFreeze(event), deepFreeze(view(thread))) as unknown).catch(engine.report);
    } catch (error) {
      engine.report(error);
    }
  }
}
