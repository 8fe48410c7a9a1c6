import { expectedJudgement } from "./expected-judgement.ts";
import { callCountOf, failuresOf, refusalsOf, repeatsEnd, repeatsOf, tokensOf } from "./expected-limits.ts";
import type { CallFacts, EventOf, LogFacts, RunFacts, TurnFacts } from "./log-facts.ts";
import { callsOf, lineOf, rootOf, treeOf } from "./log-facts.ts";
import type { Fail } from "./violation.ts";

/** What must hold in the log at the moment a model call begins. */
export function checkTurnStart(log: LogFacts, run: RunFacts, event: EventOf<"turn-started">, fail: Fail): void {
  const last = run.turns.at(-1);
  const root = rootOf(run);
  if (root.stops.length > 0) fail("refused", "the model is asked after a stop");
  if (log.activeMs >= root.plan.limits.timeMs) fail("limits", `asks after ${log.activeMs} ms`);
  if (last?.turn === event.turn) checkNextAttempt(run, last, event, fail);
  else checkNextTurn(log, run, last, event, fail);
}

function checkNextAttempt({ plan }: RunFacts, turn: TurnFacts, event: EventOf<"turn-started">, fail: Fail): void {
  const attempts = turn.starts.length + 1;
  if (turn.ended) fail("heard", "a turn that ended is asked again");
  if (event.attempt !== attempts) fail("heard", `attempt ${event.attempt} is the ${attempts}th`);
  // An attempt that was cut off by the platform is none of the model's.
  if (attempts > plan.modelAttempts + turn.cuts + (turn.open ? 1 : 0)) fail("limits", `attempt ${attempts}`);
  const failed = turn.open ? undefined : turn.failed.at(-1);
  if (failed && failed.retryAt === undefined) fail("limits", "asks again after a final failure");
  if (failed && plan.modelRetry !== "none") fail("limits", "asks again, and it was not worth it");
  if (failed?.retryAt !== undefined && event.at < failed.retryAt) fail("limits", "asks again before its time");
  if (Boolean(event.toolsOff) !== Boolean(turn.starts[0]?.toolsOff)) fail("limits", "the tools come and go");
}

function checkNextTurn(
  log: LogFacts,
  run: RunFacts,
  last: TurnFacts | undefined,
  event: EventOf<"turn-started">,
  fail: Fail,
): void {
  const { plan, started } = run;
  const limit = started.turnLimit ?? plan.limits.turns;
  if (event.turn > limit) fail("limits", `turn ${event.turn} of ${limit}`);
  if (event.turn !== (last?.turn ?? 0) + 1 || event.attempt !== 1) fail("heard", `turn ${event.turn}.${event.attempt}`);
  if (last && !last.ended) fail("heard", "a turn starts before the one before it ended");
  if (last?.calls.some((call) => !call.settled)) fail("settles", "a turn starts beside open calls");
  if (run.turns.some((turn) => turn.starts[0]?.toolsOff)) fail("limits", "asks after the last answer");
  if (event.turn === limit && plan.onLimit === "answer" && !event.toolsOff) fail("limits", "the last turn has tools");
  const announced = run.limits.some(({ follows }) => follows === "answer");
  if (Boolean(event.toolsOff) !== announced)
    fail("limits", `tools ${event.toolsOff ? "off" : "on"}, and said otherwise`);
  if (callsOf(run).some((call) => isStop(run, call))) fail("refused", "the model is asked after a denial that stops");
  if (last && expectedJudgement(run, last) !== undefined && !["pass", "again"].includes(last.judged?.verdict ?? ""))
    fail("judged", "the model is asked after a turn that was not let through");
  checkUsedUp(log, run, event, fail);
}

function checkUsedUp(log: LogFacts, run: RunFacts, event: EventOf<"turn-started">, fail: Fail): void {
  const { limits, gate } = run.plan;
  for (const each of lineOf(run)) {
    const { tokens, calls } = each.plan.limits;
    if (tokens !== null && tokensOf(each) >= tokens) fail("limits", `asks after ${tokensOf(each)} tokens`);
    if (!event.toolsOff && callCountOf(each) >= calls)
      fail("limits", `asks with tools after ${callCountOf(each)} calls`);
  }
  if (run.started.depth > 0 && log.activeMs - run.activeFrom >= limits.timeMs)
    fail("limits", "a sub-agent asks too late");
  if (repeatsOf(run) >= repeatsEnd(run)) fail("limits", "it goes on in circles");
  if (!event.toolsOff && limits.failures !== null && failuresOf(run) >= limits.failures)
    fail("limits", "too many failures");
  const refused = run.turns.at(-1)?.judged?.verdict === "again";
  if (gate && refused && refusalsOf(run) > gate.maxAttempts) fail("limits", "the gate asks once more");
}

/** A denial after which the run goes no further. */
export function isStop({ plan }: RunFacts, { decisions }: CallFacts): boolean {
  // A message that denies what waits says that the run goes on.
  return decisions.some(({ action, stop }) => action === "deny" && (stop ?? plan.onDenied === "stop"));
}

/** True where somebody denied a call of any of its agents and meant the whole. */
export function isStoppedBelow(run: RunFacts): boolean {
  return treeOf(run).some((each) =>
    callsOf(each).some(({ decisions }) => decisions.some(({ action, stop }) => action === "deny" && stop === true)),
  );
}

/** The app's own conditions: once for each whole turn, before anything of it runs. */
export function checkTurnJudged(run: RunFacts, turn: TurnFacts, event: EventOf<"turn-judged">, fail: Fail): void {
  const expected = expectedJudgement(run, turn);
  if (turn.judged) fail("judged", "a turn is judged twice");
  if (!turn.ended || event.turn !== turn.turn) fail("judged", "a turn is judged before its end");
  if (turn.calls.some((call) => call.judged)) fail("judged", "a turn is judged after its calls");
  if (event.verdict !== expected) fail("judged", `${event.verdict}, not ${expected}`);
}
