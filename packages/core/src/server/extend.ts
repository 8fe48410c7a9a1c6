import { ToolRunError } from "../errors.ts";
import type { EventDraft } from "../protocol/event.ts";
import { actorOf } from "../protocol/seal-event.ts";
import type { Ask, Call, Run } from "../protocol/thread.ts";
import type { Writer } from "./writer.ts";

/**
 * Gives a question its time again, counted from now.
 * @throws `not-waiting` for one that has no end, or must end when it does.
 */
export function extendEvents(
  run: Run,
  call: Call,
  { digest, expiresAt, extendMs }: Ask,
  { user, key, bodyHash }: Writer,
  { via, now, step }: { readonly via: "browser" | "code"; readonly now: number; readonly step: unknown },
): readonly EventDraft[] {
  if (expiresAt === undefined)
    throw new ToolRunError("not-waiting", "This question has all the time it needs.", { step });
  if (extendMs === undefined)
    throw new ToolRunError("not-waiting", "The time of this question cannot be extended.", { step });
  return [
    {
      type: "decision-extended",
      ...{ runId: run.runId, callId: call.callId, digest, by: actorOf(user), via, key, bodyHash },
      expiresAt: Math.max(now + extendMs, expiresAt + 1), // two at once both add to it
    },
  ];
}
