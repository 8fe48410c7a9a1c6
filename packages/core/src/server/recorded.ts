import type { EventDraft } from "../protocol/event.ts";
import type { DecisionBody } from "../protocol/request-schema.ts";
import { actorOf } from "../protocol/seal-event.ts";
import type { Call, Run } from "../protocol/thread.ts";
import type { Writer } from "./writer.ts";

/** The event a decision becomes. */
export function recorded(
  run: Run,
  call: Call,
  { user, key, bodyHash }: Writer,
  decision: Pick<DecisionBody, "action" | "reason" | "scope" | "value" | "error" | "stop">,
  via: "browser" | "code",
): EventDraft & { type: "decision-recorded" } {
  const { action, reason, scope, value, error, stop } = decision;
  return {
    type: "decision-recorded",
    runId: run.runId,
    callId: call.callId,
    digest: call.ask?.digest ?? call.digest,
    by: actorOf(user),
    ...{ action, via, reason, scope, value, error, stop, key, bodyHash },
  };
}
