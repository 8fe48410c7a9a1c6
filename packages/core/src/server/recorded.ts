import type { EventDraft } from "../protocol/event.ts";
import type { DecisionBody } from "../protocol/request-schema.ts";
import { actorOf } from "../protocol/seal-event.ts";
import type { Call, Run } from "../protocol/thread.ts";
import type { DecisionAction } from "../protocol/values.ts";
import type { Writer } from "./writer.ts";

/** A decision of a request, once it is known to decide something. */
export type Taken = DecisionBody & { readonly action: DecisionAction };

/** The event a decision becomes. */
export function recorded(
  run: Run,
  call: Call,
  { user, key, bodyHash }: Writer,
  decision: Pick<Taken, "action" | "reason" | "scope" | "value" | "error" | "stop">,
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
