import { projectThread } from "../protocol/project.ts";
import { findCall } from "../protocol/read-thread.ts";
import type { AnyStep } from "../protocol/step.ts";
import { viewStep } from "../protocol/step.ts";
import type { Thread } from "../protocol/thread.ts";

/**
 * The real state of a call, for a refusal: as screens show it, with nothing of what stays on the server. Whom it is
 * for may decide, so links stay in it.
 */
export function shownStep(thread: Thread, callId: string): AnyStep | undefined {
  const shown = projectThread(thread);
  const found = findCall(shown, callId);
  return found && viewStep(shown, found.call);
}
