import { digestCall } from "../../../src/protocol/digest.ts";
import { checkGrant, deniedBefore } from "./check-grant.ts";
import { expectedVerdict } from "./expected-verdict.ts";
import type { CallFacts, EventOf, LogFacts } from "./log-facts.ts";
import { callsOf, hasBegun, lineOf, rootOf, treeOf } from "./log-facts.ts";
import type { Fail } from "./violation.ts";

/** What must hold in the log at the moment a tool or a sub-agent starts. */
export function checkCallStart(log: LogFacts, call: CallFacts, event: EventOf<"call-started">, fail: Fail): void {
  const attempt = call.starts.length + 1;
  if (event.attempt !== attempt) fail("once", `attempt ${event.attempt} is the ${attempt}th`);
  if (event.key !== `${event.callId}.${call.failures}`) fail("approved", `key ${event.key} after ${call.failures}`);
  if (event.digest !== call.digest) fail("approved", "its digest is not the approved one");
  if (call.plan?.kind === "question" || call.plan?.kind === "browser")
    fail("refused", "the server starts what is not its own");
  checkAgain(call, event, fail);
  checkCallBegin(log, call, fail);
}

/** What must hold before anything of a call happens: its tool, its sub-agent, or the question that it is. */
export function checkCallBegin(log: LogFacts, call: CallFacts, fail: Fail): void {
  const { plan, run } = call;
  if (!plan) {
    fail("refused", "an unknown tool starts");
    return;
  }
  if (call.refused !== undefined) fail("refused", `it starts after ${call.refused}`);
  if (rootOf(run).stops.length > 0) fail("refused", "it starts after a stop");
  if (call.ask) fail("refused", "it starts while somebody is asked");
  const { tool, toolHash, salt } = call.ready;
  if (digestCall({ tool, toolHash, salt, input: call.input }) !== call.digest)
    fail("approved", "its digest is of other input");
  checkAllowed(log, call, fail);
  checkRoom(log, call, fail);
}

function checkAllowed(log: LogFacts, call: CallFacts, fail: Fail): void {
  const { judged, run } = call;
  if (!judged) {
    fail("refused", "it starts before it was judged");
    return;
  }
  const expected = expectedVerdict(run.plan, call.ready.tool);
  if (expected.never) fail("refused", `it starts, and ${expected.never} says no`);
  if (call.decisions.some(({ action }) => action === "approve")) return;
  if (judged.verdict === "ask") {
    fail("refused", "it starts, and nobody approved");
    return;
  }
  if (judged.by === "grant") {
    checkGrant(log, call, judged.grantId ?? "", judged, fail);
    return;
  }
  if (expected.asks) fail("refused", "it starts, and nobody was asked");
  if (deniedBefore(log, call, judged.seq)) fail("refused", "its tool was denied before, and nobody was asked");
}

function checkAgain(call: CallFacts, event: EventOf<"call-started">, fail: Fail): void {
  const { plan, decisions } = call;
  if (plan?.kind !== "server") {
    if (call.starts.length > 0 || call.child) fail("once", "a sub-agent starts twice");
    return;
  }
  const attempt = call.starts.length + 1;
  const wanted = decisions.filter(({ action }) => action === "retry" || action === "answer").length;
  if (attempt > 1 + plan.maxRetries + wanted) fail("limits", `attempt ${attempt}, ${plan.maxRetries} retries`);
  if (call.retryAt !== undefined && event.at < call.retryAt) fail("limits", "it is tried again before its time");
  const last = decisions.at(-1)?.action;
  const said = call.retryAt !== undefined || last === "retry" || last === "answer";
  if (attempt > 1 && !said && !plan.idempotent) fail("once", "it starts again and nobody said so");
  if (call.retryAt !== undefined && plan.retry !== "always") fail("limits", "it is tried again, and was not worth it");
}

function checkRoom(log: LogFacts, call: CallFacts, fail: Fail): void {
  const { run, plan } = call;
  for (const each of lineOf(run)) {
    const begun = treeOf(each)
      .flatMap(callsOf)
      .filter((other) => hasBegun(other) || other === call).length;
    if (begun > each.plan.limits.calls) fail("limits", `${begun} calls of ${each.plan.limits.calls}`);
  }
  if (log.activeMs >= rootOf(run).plan.limits.timeMs) fail("limits", `starts after ${log.activeMs} ms`);
  const busy = callsOf(run).filter((other) => other.running && other !== call);
  const begins = plan?.kind === "server" || plan?.kind === "agent";
  if (begins && busy.length >= run.plan.concurrency) fail("limits", `${busy.length + 1} at once`);
  const alone = [plan, ...busy.map((other) => other.plan)].some((each) => each?.kind === "server" && each.sequential);
  if (begins && alone && busy.length > 0) fail("limits", "one that runs alone does not");
  const held = call.turn.calls.some(({ ask }) => ask && ask.kind !== "interrupted");
  if (begins && run.plan.holdTurn && held && call.starts.length === 0)
    fail("refused", "it starts, and the turn is held");
}
