import { expectedVerdict } from "./expected-verdict.ts";
import type { CallFacts, EventOf, LogFacts } from "./log-facts.ts";
import { rootOf } from "./log-facts.ts";
import { KEYED } from "./planned-rules.ts";
import { sameJson } from "./same-json.ts";
import type { Fail } from "./violation.ts";

/** A person said no to the same tool of the same agent in this run, between two places of the log. */
export function deniedBefore({ calls }: LogFacts, call: CallFacts, before: number, after = 0): boolean {
  return [...calls.values()].some(({ denied, ready, run }) => {
    const sameTool = ready.tool === call.ready.tool && run.plan === call.run.plan && rootOf(run) === rootOf(call.run);
    return sameTool && denied !== undefined && denied.seq < before && denied.seq > after;
  });
}

/**
 * A grant covers the same tool with the same input, or with the key of the tool's rule, as often and as long as that
 * says, until it is revoked, its run is over or the tool is denied.
 */
export function checkGrant(
  log: LogFacts,
  call: CallFacts,
  grantId: string,
  use: EventOf<"call-judged"> | EventOf<"decision-recorded">,
  fail: Fail,
): void {
  const granted = log.calls.get(grantId.replace(/^g-/, ""));
  const decision = granted?.decisions.find(
    ({ action, scope }) => (action === "approve" || action === "deny") && scope && scope !== "once",
  );
  if (!granted || !decision) {
    fail("refused", "its grant is none");
    return;
  }
  const revoked = log.events.find((event) => event.type === "grant-revoked" && event.grantId === grantId);
  if (revoked && revoked.seq < use.seq) fail("refused", "its grant was revoked");
  if (granted.ready.tool !== call.ready.tool) fail("refused", "its grant is of another tool");
  if (granted.run.plan !== call.run.plan) fail("refused", "its grant is of another agent's tool");
  if (granted.ready.toolHash !== call.ready.toolHash) fail("refused", "its grant is of another definition");
  if (decision.scope === "run" && rootOf(granted.run) !== rootOf(call.run))
    fail("refused", "its grant is of another run");
  const { keyed } = expectedVerdict(call.run.plan, call.ready.tool);
  if (!keyed && !sameJson(granted.input, call.input)) fail("refused", "its grant is of another input");
  if (decision.action === "deny") return;
  if (deniedBefore(log, call, use.seq, decision.seq)) fail("refused", "its tool was denied after the grant");
  if (!keyed) return;
  if (use.at >= decision.at + KEYED.forMs) fail("refused", "its grant is over");
  const uses = log.events.filter((event) => event.seq <= use.seq && "grantId" in event && event.grantId === grantId);
  if (uses.filter(({ type }) => type !== "grant-revoked").length > KEYED.uses) fail("refused", "its grant is used up");
}
