import type { ThreadEvent } from "./event.ts";
import { threadWith } from "./one-shape.ts";
import { pathOf } from "./read-thread.ts";
import type { Thread } from "./thread.ts";

/** Remembers an approval that covers more than its own call. */
export function withGrant(thread: Thread, event: ThreadEvent & { type: "decision-recorded" }): Thread {
  if (event.action !== "approve" || (event.scope !== "run" && event.scope !== "thread")) return thread;
  const run = thread.active.find((candidate) => candidate.runId === event.runId);
  const call = run?.turn?.calls.find((candidate) => candidate.callId === event.callId);
  if (!run || !call) return thread;
  const { scope, by, at } = event;
  const grant = {
    grantId: `g-${event.callId}`,
    tool: call.tool,
    toolHash: call.toolHash,
    input: call.input,
    scope,
    path: pathOf(thread, run),
    runId: thread.active[0]?.runId, // a sub-agent may come and go; the run is the person's
    by,
    at,
  };
  return threadWith(thread, { grants: [...thread.grants, grant] });
}
