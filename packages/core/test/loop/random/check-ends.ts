import { isStop, isStoppedBelow } from "./check-turn-start.ts";
import { expectedJudgement } from "./expected-judgement.ts";
import { callCountOf, failuresOf, refusalsOf, repeatsEnd, repeatsOf, tokensOf } from "./expected-limits.ts";
import type { EventOf, LogFacts, RunFacts } from "./log-facts.ts";
import { callsOf, lineOf, rootOf } from "./log-facts.ts";
import type { Fail } from "./violation.ts";

/** Each run's end says what happened. */
export function checkEnds(log: LogFacts, report: Fail): void {
  for (const run of log.runs.values()) {
    const { ended } = run;
    if (!ended) continue;
    const fail: Fail = (invariant, message) =>
      report(invariant, `${message} (${ended.runId}, ${ended.outcome} ${ended.limit ?? ended.code ?? ""})`);
    if (!endsWithRoot(run, ended)) checkOutcome(run, ended, fail);
    checkText(run, ended, fail);
    checkUsage(run, ended, fail);
    checkJudged(run, fail);
  }
  checkUnread(log, report);
}

/** A sub-agent that is ended because the root ends says the same. */
function endsWithRoot(run: RunFacts, { outcome, limit }: EventOf<"run-ended">): boolean {
  const root = rootOf(run).ended;
  return (
    run.parent !== undefined &&
    run.parent.settled?.outcome !== "succeeded" &&
    root?.outcome === outcome &&
    root.limit === limit
  );
}

function checkOutcome(run: RunFacts, ended: EventOf<"run-ended">, fail: Fail): void {
  const last = run.turns.at(-1);
  switch (ended.outcome) {
    case "completed": {
      const cut = ended.code === "stop-when";
      if (cut !== (last?.judged?.verdict === "stop")) fail("ends", `the conditions say ${last?.judged?.verdict}`);
      if (!last?.ended || (last.calls.length > 0 && !cut)) fail("ends", "completed, and the model wanted more");
      if (run.limits.some(({ follows }) => follows === "answer" || follows === "stop"))
        fail("ends", "a limit was reached");
      if (isCutOff(run) && !cut) fail("ends", "completed, and the answer was cut off");
      return;
    }
    case "stopped":
      if (run.stops.length === 0 && !isStoppedBelow(run) && !callsOf(run).some((call) => isStop(run, call)))
        fail("ends", "nobody stopped it");
      return;
    case "failed":
      checkFailed(run, ended, fail);
      return;
    default:
      if (run.stops.length > 0) fail("ends", "limited, and somebody stopped it");
      if (
        !run.limits.some(({ limit, follows }) => limit === ended.limit && (follows === "answer" || follows === "stop"))
      )
        fail("ends", "limited, and no limit was reached");
      if (!isReached(run, ended)) fail("ends", "limited, and the limit is not reached");
  }
}

function checkFailed(run: RunFacts, { code }: EventOf<"run-ended">, fail: Fail): void {
  const last = run.turns.at(-1);
  const isCut = code === "request-too-short" || code === "model-failed";
  if (isCut && last?.open === true && last.cuts > 0) return;
  if (code === "hook-failed" && last?.judged?.verdict === "failed") return;
  if (last?.ended || last?.failed.at(-1)?.error.code !== code) fail("ends", "it failed for no reason");
}

/** The model's own limit of length ended the last answer. */
function isCutOff({ turns }: RunFacts): boolean {
  const last = turns.at(-1);
  return last?.ended?.finishReason === "length" && last.calls.length === 0;
}

function isReached(run: RunFacts, { limit }: EventOf<"run-ended">): boolean {
  const { limits, gate } = run.plan;
  const line = lineOf(run);
  switch (limit) {
    case "turns":
      return run.turns.length >= (run.started.turnLimit ?? limits.turns);
    case "calls":
      return line.some((each) => callCountOf(each) >= each.plan.limits.calls);
    case "tokens":
      if (isCutOff(run)) return true;
      return line.some((each) => tokensOf(each) >= (each.plan.limits.tokens ?? Number.POSITIVE_INFINITY));
    case "failures":
      return (
        run.turns.at(-1)?.starts[0]?.toolsOff === true ||
        failuresOf(run) >= (limits.failures ?? Number.POSITIVE_INFINITY)
      );
    case "repeats":
      return repeatsOf(run) >= repeatsEnd(run);
    case "completion":
      return gate !== null && refusalsOf(run) > gate.maxAttempts;
    default:
      return limit === "time";
  }
}

/** The answer is the text of the last turn alone, and only where that is an answer. */
function checkText(run: RunFacts, { text, outcome, code }: EventOf<"run-ended">, fail: Fail): void {
  const last = run.turns.at(-1);
  const written = last?.texts.get(last.starts.at(-1)?.attempt ?? 0)?.text ?? "";
  const asks = (last?.calls.length ?? 0) > 0 && code !== "stop-when";
  const wanted = asks || last?.ended?.finishReason === "dropped-calls" ? "" : written;
  if ((outcome === "completed" || text !== "") && text !== wanted)
    fail("ends", `it answers "${text}", not "${wanted}"`);
}

/** What a run used, its sub-agents that ended included. */
function checkUsage(run: RunFacts, { usage }: EventOf<"run-ended">, fail: Fail): void {
  const own = run.turns.flatMap(({ ended, failed }) =>
    [...failed, ended].flatMap((each) => each?.usage?.inputTokens ?? []),
  );
  const below = run.children.flatMap((child) => child.ended?.usage.inputTokens ?? []);
  const counts = [...own, ...below];
  const sum = counts.length > 0 ? counts.reduce((left, right) => left + right, 0) : undefined;
  if (usage.inputTokens !== sum) fail("ends", `it used ${usage.inputTokens} tokens, not ${sum}`);
}

/** Nothing follows from a whole turn before the app's conditions saw it. */
function checkJudged(run: RunFacts, fail: Fail): void {
  for (const turn of run.turns.slice(0, -1)) {
    const expected = expectedJudgement({ ...run, turns: run.turns.slice(0, run.turns.indexOf(turn)) }, turn);
    if (turn.judged?.verdict !== expected)
      fail("judged", `turn ${turn.turn}: ${turn.judged?.verdict}, not ${expected}`);
  }
}

/** Who ends a run with an unread message behind it starts the next one. */
function checkUnread(log: LogFacts, fail: Fail): void {
  const roots = [...log.runs.values()].filter((run) => run.started.depth === 0);
  const last = roots.at(-1);
  const outcome = last?.ended?.outcome;
  if (outcome === "limited" && last?.turns.length === 0) return; // the next one would end the same way, for ever
  if (outcome !== "completed" && outcome !== "limited") return;
  const reads = roots.flatMap((run) => run.turns.flatMap((turn) => turn.starts.map(({ seq }) => seq)));
  const lastRead = Math.max(0, ...reads);
  const unread = log.events.find((event) => event.type === "message-added" && event.seq > lastRead);
  if (unread) fail("ends", `message ${unread.seq} was never read`);
}
