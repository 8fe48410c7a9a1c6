import { conversationStates } from "./conversation-states.ts";
import { decisionStates } from "./decision-states.ts";
import type { LabRun } from "./run-of.ts";
import { stepStates } from "./step-states.ts";
import { textStates } from "./text-states.ts";

/** Every state one can look at, by the name in the address. */
export const states: Readonly<Record<string, () => LabRun>> = {
  ...conversationStates,
  ...decisionStates,
  ...stepStates,
  ...textStates,
};
