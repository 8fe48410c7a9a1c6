import type { StoredEvent } from "../../src/store/thread-store.ts";
import type { AppliedAppend } from "./faulty-store.ts";
import type { LogChecker } from "./log-checker.ts";
import { FORBIDDEN } from "./scenario.ts";
import type { Execution } from "./server-process.ts";
import type { Violation } from "./violation.ts";

/** What a world knows of side effects. */
interface Effects {
  readonly log: LogChecker;
  readonly executions: readonly Execution[];
  readonly violations: Violation[];
  readonly spent: { readonly skewed: boolean };
}

/** I2 at the moment of a side effect: what the log says then. */
export function checkExecution({ log, executions, violations, spent }: Effects, execution: Execution): void {
  const { callId, attempt, key, input } = execution;
  const fail = (message: string): void => {
    violations.push({ invariant: "I2", message: `${message} (${callId}#${attempt} on ${execution.server})` });
  };
  if (executions.some((other) => other.callId === callId && other.attempt === attempt)) fail("executed twice");
  const at = log.events.findIndex(
    (event) => event.type === "call-started" && event.callId === callId && event.attempt === attempt,
  );
  const started = log.events[at];
  if (started?.type !== "call-started") {
    fail("executed before its start is in the log");
    return;
  }
  if (started.key !== key) fail(`executed with key ${key}; the log says ${started.key}`);
  const call = log.calls.get(callId);
  if (input === JSON.stringify(FORBIDDEN)) fail("executed with what the tool's rule denies");
  if (call?.input !== input) fail(`executed with ${input}; approved is ${call?.input}`);
  // A store whose clock runs away by more than the margin is the pause no server can close: the key closes it.
  if (spent.skewed) return;
  for (const event of log.events.slice(at + 1)) {
    const gone =
      event.type === "run-resumed" ||
      (event.type === "run-ended" && call !== undefined && log.isBelow(call.runId, event.runId)) ||
      ((event.type === "call-interrupted" || event.type === "call-settled") && event.callId === callId);
    if (gone) fail(`executed after ${event.type} (event ${event.seq})`);
  }
}

/** A10: a write of a person gives way to control events only, never to streaming text. */
export function checkPosterConflict({ position, append, result }: AppliedAppend, violations: Violation[]): void {
  if (result.status !== "conflict" || append.lease) return;
  const byDriver = append.events.some(({ data }) => /"epoch":/.test(data));
  const late = append.events.some(({ data }) => /"late":true/.test(data));
  if (byDriver || late) return;
  const after = "at" in position ? position.at : position.atControl;
  const news: readonly StoredEvent[] = result.events.filter(({ seq }) => seq > after);
  if (news.some(({ control }) => control)) return;
  violations.push({ invariant: "A10", message: "a decision gave way to streaming text" });
}
