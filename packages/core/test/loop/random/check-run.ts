import { checkClean } from "./check-clean.ts";
import { checkEnds } from "./check-ends.ts";
import { checkExecutions } from "./check-executions.ts";
import { checkLog } from "./check-log.ts";
import { checkPerson } from "./check-person.ts";
import { checkRequests } from "./check-requests.ts";
import { checkState } from "./check-state.ts";
import { checkTurns, linkRequests } from "./check-turns.ts";
import type { LogFacts } from "./log-facts.ts";
import type { Seen } from "./seen.ts";
import type { Fail, Violation } from "./violation.ts";

/** Every invariant over everything that was seen of a run. */
export function checkRun(seen: Seen): { readonly violations: readonly Violation[]; readonly log: LogFacts } {
  const violations: Violation[] = [];
  const fail: Fail = (invariant, message) => {
    violations.push({ invariant, message });
  };
  checkClean(seen, fail);
  const log = checkLog(seen, fail);
  const asked = linkRequests(seen, log, fail);
  checkTurns(asked, log, fail);
  checkRequests(asked, log, fail);
  checkExecutions(seen, log, fail);
  checkEnds(log, fail);
  checkState(seen, fail);
  checkPerson(seen, log, fail);
  return { violations, log };
}
