import type { Agent, AgentTool } from "../agent/agent.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Call } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Clock } from "./clock.ts";
import type { Stop } from "./context.ts";

/** One attempt of a call, and what it needs. */
export interface RunCall {
  readonly runId: string;
  readonly threadId: string;
  readonly call: Call;
  readonly tool: AgentTool;
  readonly agent: Agent;
  readonly user: User;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly stop: Stop;
  /** False once the lease is over: asked again when a hook took its time before the tool. */
  readonly mayStart: () => boolean;
  /** What the person, or the agent above, asked for last. */
  readonly question: () => string;
  readonly clock: Clock;
  readonly emit: (draft: EventDraft) => void;
  readonly onError: (error: unknown) => void;
}

/** How an attempt ended, for the loop to record. */
export type Ending =
  | { readonly type: "returned"; readonly output: unknown }
  | { readonly type: "threw"; readonly error: unknown }
  | { readonly type: "timed-out" }
  | { readonly type: "stopped" }
  /** Stopped, or superseded, while a hook before the tool took its time. */
  | { readonly type: "not-started" }
  /** `ran`: the tool had done its work already. */
  | { readonly type: "hook-failed"; readonly error: unknown; readonly ran: boolean };
