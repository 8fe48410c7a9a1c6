import type { EventDraft } from "../protocol/event.ts";
import { effectSoFar } from "../protocol/read-thread.ts";
import type { DecisionBody } from "../protocol/request-schema.ts";
import type { Call, Run } from "../protocol/thread.ts";
import { recorded } from "./recorded.ts";
import type { Writer } from "./writer.ts";

/** A refusal and its settlement, in one batch: the tool is NOT run. */
export function denyEvents(
  run: Run,
  call: Call,
  writer: Writer,
  about: {
    readonly via: "browser" | "code";
    readonly reason?: string | undefined;
    readonly stop?: boolean | undefined;
    readonly scope?: DecisionBody["scope"];
    readonly grantId?: string | undefined;
  },
): readonly EventDraft[] {
  const { via, reason, stop, scope, grantId } = about;
  const decision = { action: "deny", reason, stop, scope } as const;
  const interrupted = call.ask?.kind === "interrupted";
  return [
    { ...recorded(run, call, writer, decision, via), grantId },
    {
      type: "call-settled",
      runId: run.runId,
      callId: call.callId,
      outcome: "not-run",
      reason: interrupted ? "skipped" : "denied",
      effect: effectSoFar(call),
    },
  ];
}
