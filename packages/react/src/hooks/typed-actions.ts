import type { ActionResult, Answer, ApproveOptions, DenyOptions, RegisteredAgent, Step, ThreadActions } from "toolrun";

/** A step that is known not to wait cannot be decided. */
type Decidable<Given extends { readonly status: string }> = Given &
  ("waiting" extends Given["status"] ? unknown : never);

/** The actions of a thread, typed by its agent's tools. */
export interface TypedActions<Agent = RegisteredAgent>
  extends Omit<ThreadActions, "approve" | "deny" | "answer" | "retry" | "skip" | "extend"> {
  /** Approves what is on screen; with `input` the person's version of it, typed where the step is narrowed. */
  approve<Given extends Step<Agent>>(
    step: Decidable<Given>,
    options?: ApproveOptions<Exclude<Given["input"], null>>,
  ): Promise<ActionResult>;
  approve<Given extends Step<Agent>>(
    steps: readonly Decidable<Given>[],
    options?: Pick<ApproveOptions, "scope">,
  ): Promise<ActionResult>;
  /** `reason` is told to the model; with `stop` the run ends as well. */
  deny<Given extends Step<Agent>>(step: Decidable<Given>, reason?: string | DenyOptions): Promise<ActionResult>;
  deny<Given extends Step<Agent>>(
    steps: readonly Decidable<Given>[],
    reason?: string | DenyOptions,
  ): Promise<ActionResult>;
  /** Answers a question, a link or a browser tool. */
  answer<Given extends Step<Agent>>(step: Decidable<Given>, answer: Answer): Promise<ActionResult>;
  /** Runs an interrupted step again. */
  retry<Given extends Step<Agent>>(step: Decidable<Given>): Promise<ActionResult>;
  /** Goes on without an interrupted step. */
  skip<Given extends Step<Agent>>(step: Decidable<Given>): Promise<ActionResult>;
  /** "Keep waiting": gives a question that runs out its time again. */
  extend<Given extends Step<Agent>>(step: Decidable<Given>): Promise<ActionResult>;
}
