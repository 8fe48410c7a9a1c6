import type { Plan } from "./plan.ts";
import type { Recorder } from "./recorder.ts";

/** Everything that can be seen of a run from outside, when it is over. */
export interface Seen extends Omit<Recorder, "onAppended"> {
  readonly plan: Plan;
  readonly threadId: string;
  /** How long timers of the code under test were armed when no run was active any more. */
  readonly leftMs: number;
  /** Why the world was left before it came to rest. */
  readonly stuck: string | undefined;
}
