import type { LogFacts } from "./log-facts.ts";
import type { Answer } from "./person.ts";
import type { Seen } from "./seen.ts";
import type { Fail } from "./violation.ts";

/** Refusals that a person may get; anything else is a failure of the server. */
const REFUSALS = [
  ...["decided", "expired", "stopped", "not-waiting", "stale", "forbidden", "invalid-input", "bad-request"],
  ...["not-found", "tool-changed"],
];
const DECIDES = ["approve", "deny", "edit", "retry", "skip", "answer", "meddle"];

/** Who wrote was told what the log says, and for the same key the same again. */
export function checkPerson({ answers, open, plan }: Seen, log: LogFacts, report: Fail): void {
  const first = new Map<string, string>();
  // A rule or a schema that does not answer, or a server that stands still.
  const slow = JSON.stringify(plan).includes('"hang') || plan.acts.some((act) => act.do === "pause");
  for (const { act, key } of open) report("answered", `${act} ${key}: never answered`);
  for (const answer of answers) {
    const { key, act, outcome, seq } = answer;
    const fail: Fail = (invariant, message) => report(invariant, `${act} ${key}: ${message}`);
    const refused = REFUSALS.includes(outcome) || (slow && outcome === "unavailable");
    if (outcome !== "ok" && !refused) fail("answered", outcome);
    const before = first.get(key);
    first.set(key, outcome);
    if (before === "ok" && outcome !== "ok" && outcome !== "unavailable" && act !== "sweep")
      fail("answered", `${outcome}, after ok`);
    const mine = log.events.filter((event) => "key" in event && "bodyHash" in event && event.key === key);
    if (outcome === "ok" && mine.some((event) => event.seq > seq))
      fail("answered", "it is in the log after it was answered");
    const messages = mine.filter(({ type }) => type === "message-added").length;
    if (act === "send" && outcome === "ok" && messages !== 1) fail("answered", `${messages} messages are in the log`);
    if (DECIDES.includes(act)) checkDecision(answer, log, fail);
  }
}

function checkDecision({ outcome, key, about }: Answer, log: LogFacts, fail: Fail): void {
  const decisions = about.flatMap(({ id }) => log.calls.get(id)?.decisions ?? []);
  const own = decisions.filter((event) => event.key === key);
  const single = about.length === 1;
  if (own.length !== new Set(own.map(({ callId }) => callId)).size) fail("answered", "it counts as two decisions");
  if (outcome === "ok" && own.length !== about.length)
    fail("answered", `ok, and ${own.length} decisions are in the log`);
  if (outcome !== "ok" && outcome !== "unavailable" && own.length > 0 && single)
    fail("answered", `${outcome}, and it is in the log`);
  for (const { callId, digest } of own) {
    const seen = about.find(({ id }) => id === callId);
    if (seen?.digest !== digest) fail("approved", "what was decided is not what was seen");
  }
  if (!single) return;
  if (outcome === "decided" && decisions.length === 0) fail("answered", "decided, and nobody did");
  const expired = decisions.some(({ action }) => action === "expire");
  if (outcome === "expired" && !expired) fail("answered", "expired, and it is not");
}
