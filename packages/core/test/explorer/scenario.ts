import type { Tool } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import type { Json } from "../../src/protocol/values.ts";

/** One write of one person. Sent again with the same key until there is a definite answer. */
export interface Post {
  readonly act: "send" | "approve" | "edit" | "deny" | "answer" | "retry" | "skip" | "extend" | "revoke" | "stop";
  readonly key: string;
  /** Servers it goes to, in order: the next one when a server died or could not say. */
  readonly to: readonly string[];
  /** One post about every step that waits, instead of the first. */
  readonly all?: boolean | undefined;
  /** Which of the steps that wait, where it is one. Default: the first. */
  readonly which?: "last" | undefined;
  /** What an edit makes of the input. Default: `EDITED`. */
  readonly input?: Json | undefined;
  /** How far the decision reaches. */
  readonly scope?: "run" | "thread" | undefined;
  /** When the person presses. Default: as soon as the writes before it are answered. */
  readonly when?: ((thread: Thread) => boolean) | undefined;
}

/** What a tool of a scenario does. */
export interface ScenarioTool {
  readonly readOnly?: boolean | undefined;
  readonly idempotent?: boolean | undefined;
  readonly expiresInMs?: number | undefined;
  /** Its rule denies the input `FORBIDDEN`. */
  readonly denies?: boolean | undefined;
  /** Attempts that fail. */
  readonly fails?: readonly number[] | undefined;
  /** They say that nothing happened. */
  readonly definite?: boolean | undefined;
  /** Never ends unless it is aborted. */
  readonly silent?: boolean | undefined;
  /** Asks a person before it does anything. */
  readonly asks?: boolean | undefined;
  /** Is itself a question to a person. */
  readonly question?: boolean | undefined;
  /** Is a sub-agent that calls these tools. */
  readonly agent?: readonly string[] | undefined;
}

export interface Scenario {
  readonly name: string;
  /** At most so many schedules of each bound in `npm test`; all that fit in the long run. */
  readonly most?: number | undefined;
  readonly servers: readonly string[];
  /** False: posts only append, whoever follows drives. */
  readonly drivesPosts?: boolean | undefined;
  readonly tools?: Readonly<Record<string, ScenarioTool>> | undefined;
  /** The tools the model calls in the first turn, "pay 2" with another input; in the second it answers. */
  readonly calls?: readonly string[] | undefined;
  /** The model calls them again after each message of a person. */
  readonly again?: boolean | undefined;
  /** Each list is one person, who sends one write after the other. */
  readonly people: readonly (readonly Post[])[];
  /** Clocks of servers that are wrong, in ms. */
  readonly wallAhead?: Readonly<Record<string, number>> | undefined;
  /** How often somebody looks at the thread over HTTP before the faults end. */
  readonly follows?: number | undefined;
  readonly agent?: Partial<AgentOptions<Record<string, Tool>>> | undefined;
}

/** The input every scripted call has. */
export const INPUT: Json = { amount: 1 };
/** What a person answers. */
export const ANSWER: Json = { amount: 3 };
/** What a person makes of it. */
export const EDITED: Json = { amount: 2 };
/** What the rule of a tool that denies says no to. */
export const FORBIDDEN: Json = { amount: 666 };
