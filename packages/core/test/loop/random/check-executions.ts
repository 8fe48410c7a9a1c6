import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { LogFacts } from "./log-facts.ts";
import { lineOf } from "./log-facts.ts";
import { sameJson } from "./same-json.ts";
import type { Seen } from "./seen.ts";
import type { Fail } from "./violation.ts";

/** Each side effect: once, after its start, with what was approved. */
export function checkExecutions({ executions, events }: Seen, log: LogFacts, report: Fail): void {
  const done = new Set<string>();
  for (const execution of executions) {
    const { callId, attempt, key, input, answers, seq } = execution;
    const fail: Fail = (invariant, message) => report(invariant, `${message} (${callId}#${attempt})`);
    const name = `${callId}#${attempt}`;
    if (done.has(name)) fail("once", "it runs twice");
    done.add(name);
    if (execution.aborted) fail("refused", "it runs, and its signal is over");
    const call = log.calls.get(callId);
    const start = call?.starts.find((candidate) => candidate.attempt === attempt);
    if (!call || !start || start.seq > seq) {
      fail("once", "it runs before its start is in the log");
      continue;
    }
    if (start.key !== key) fail("approved", `it runs with the key ${key}, not ${start.key}`);
    const given = call.decisions.filter((event) => event.action === "answer" && event.seq <= seq);
    if (
      !sameJson(
        answers,
        given.map(({ value }) => value ?? null),
      )
    )
      fail("approved", "other answers");
    if (!sameJson(input, call.input)) fail("approved", `it runs with ${JSON.stringify(input)}`);
    const line = lineOf(call.run).map(({ started }) => started.runId);
    for (const event of events.slice(start.seq, seq)) {
      if (endsIt(event, callId, line)) fail("refused", `it runs after ${event.type}`);
    }
  }
}

/** After which of its events an attempt must not begin to run any more. */
const ENDS = ["call-settled", "call-interrupted", "attempt-failed"];

function endsIt(event: ThreadEvent, callId: string, line: readonly (string | undefined)[]): boolean {
  if (event.type === "run-resumed") return true;
  if (event.type === "run-ended") return line.includes(event.runId);
  return ENDS.includes(event.type) && "callId" in event && event.callId === callId;
}
