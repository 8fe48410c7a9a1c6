import type { EventDraft } from "../protocol/event.ts";
import { findGrant, liveGrants } from "../protocol/grant.ts";
import { pathOf } from "../protocol/read-thread.ts";
import type { DecisionBody } from "../protocol/request-schema.ts";
import type { Call, Run, Thread } from "../protocol/thread.ts";
import { openAsk } from "../protocol/thread.ts";
import { denyEvents } from "./deny.ts";
import { recorded } from "./recorded.ts";
import type { Writer } from "./writer.ts";

/**
 * A decision that is remembered covers the steps that wait already, too: nobody is asked again what was just said for
 * all of them. Only what its own rule lets people remember, and never what the same post decides by itself.
 */
export function coveredSteps(
  thread: Thread,
  decidedId: string,
  decisions: readonly DecisionBody[],
  writer: Writer,
  via: "browser" | "code",
  now: number,
): readonly EventDraft[] {
  const grant = thread.grants.find(({ grantId }) => grantId === `g-${decidedId}`);
  if (!grant) return [];
  const { grantId, verdict, scope, reason, uses = Number.POSITIVE_INFINITY } = grant;
  const covers = (run: Run, call: Call): boolean => {
    const ask = openAsk(call);
    if (ask?.kind !== "approval" || (ask.expiresAt ?? Number.POSITIVE_INFINITY) <= now) return false;
    if (verdict === "allow" && !ask.scopes?.includes(scope)) return false;
    if (decisions.some(({ callId }) => callId === call.callId)) return false;
    const { tool, toolHash, input } = call;
    const live = liveGrants([grant], pathOf(thread, run), now);
    return findGrant(live, verdict, { tool, toolHash, input, key: ask.grantKey }) !== undefined;
  };
  const covered = thread.active.flatMap((run) =>
    (run.turn?.calls ?? []).filter((call) => covers(run, call)).map((call) => ({ run, call })),
  );
  return covered
    .slice(0, uses)
    .flatMap(({ run, call }) =>
      verdict === "allow"
        ? [{ ...recorded(run, call, writer, { action: "approve" }, via), grantId }]
        : denyEvents(run, call, writer, { via, reason, grantId }),
    );
}
