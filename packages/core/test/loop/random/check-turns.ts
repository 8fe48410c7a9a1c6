import { canonicalJson } from "../../../src/protocol/digest.ts";
import { expectedTurn } from "./expected-turn.ts";
import type { EventOf, LogFacts, RunFacts, TurnFacts } from "./log-facts.ts";
import type { ModelCall } from "./place.ts";
import type { Seen } from "./seen.ts";
import type { Fail } from "./violation.ts";

/** A request and the start in the log that it belongs to. */
export interface Asked {
  readonly call: ModelCall;
  readonly run: RunFacts;
  readonly turn: TurnFacts;
  readonly start: EventOf<"turn-started">;
}

/** Finds the start of each request: the model is asked once for each, and never before it is in the log. */
export function linkRequests({ requests }: Seen, log: LogFacts, fail: Fail): readonly Asked[] {
  const starts = [...log.runs.values()]
    .flatMap((run) => run.turns.flatMap((turn) => turn.starts.map((start) => ({ run, turn, start }))))
    .sort((left, right) => left.start.seq - right.start.seq);
  const asked: Asked[] = [];
  for (const call of requests) {
    const own = starts.filter(({ run, start }) => {
      const driver = log.drivers.get(start.epoch ?? 0) ?? "";
      return run.plan === call.agent && start.seq <= call.seq && driver.startsWith(`${call.server}-`);
    });
    // A start may have no request: its server died, or the run was stopped while a hook took its time.
    const found = own.find((each) => isOpenAt(each, call.seq));
    // A server that stood still does not know yet that another one has taken over.
    const late = own.find(({ start }) => start.seq <= call.seq && isSupersededAt(log, start, call.seq));
    if (!found && !late) fail("once", `the model is asked, and no open start is in the log (at ${call.seq})`);
    if (found) asked.push({ call, ...found });
    const used = found ?? late;
    if (used) starts.splice(starts.indexOf(used), 1);
  }
  return asked;
}

function isOpenAt({ run, turn, start }: Omit<Asked, "call">, seq: number): boolean {
  const ends = [turn.ended, ...turn.failed].find((event) => event?.attempt === start.attempt);
  const next = turn.starts.find(({ attempt }) => attempt === start.attempt + 1);
  return [ends, next, run.ended].every((event) => event === undefined || event.seq > seq);
}

function isSupersededAt({ events }: LogFacts, { epoch = 0 }: EventOf<"turn-started">, seq: number): boolean {
  return events.slice(0, seq).some((event) => event.epoch !== undefined && event.epoch > epoch);
}

/** What the log holds of each answer is what the model said. */
export function checkTurns(asked: readonly Asked[], { drafts }: LogFacts, fail: Fail): void {
  for (const { call, turn, start } of asked) {
    const where = `turn ${start.turn}.${start.attempt} of ${start.runId}`;
    const expected = expectedTurn(call.answer, call.agent, start.toolsOff ?? false);
    const written = turn.texts.get(start.attempt) ?? { text: "", reasoning: "" };
    if (!expected.text.startsWith(written.text)) fail("heard", `${where} says "${written.text}"`);
    if (!expected.reasoning.startsWith(written.reasoning)) fail("heard", `${where} thinks "${written.reasoning}"`);
    const { ended } = turn;
    if (ended?.attempt !== start.attempt) {
      const failed = turn.failed.find(({ attempt }) => attempt === start.attempt);
      if (failed) checkFailure(where, call, failed, expected, fail);
      continue;
    }
    if (!expected.whole) fail("heard", `${where} ended, and the answer broke off`);
    if (written.text !== expected.text) fail("heard", `${where} says "${written.text}", not "${expected.text}"`);
    if (written.reasoning !== expected.reasoning) fail("heard", `${where} thinks "${written.reasoning}"`);
    const reason = expected.stray ? "dropped-calls" : expected.reason;
    if (ended.finishReason !== reason) fail("heard", `${where} ended with ${ended.finishReason}, not ${reason}`);
    if ((ended.usage?.inputTokens ?? null) !== expected.tokens)
      fail("heard", `${where} used ${ended.usage?.inputTokens}`);
    checkCalls(where, turn, expected.calls, fail);
    for (const [index, { ready }] of turn.calls.entries()) {
      const shown = drafts.get(ready.callId) ?? "";
      if (!expected.calls[index]?.draft.startsWith(shown)) fail("heard", `${where} shows "${shown}" of call ${index}`);
    }
  }
}

function checkFailure(
  where: string,
  { agent }: ModelCall,
  { error }: EventOf<"attempt-failed">,
  { whole, silenceMs }: ReturnType<typeof expectedTurn>,
  fail: Fail,
): void {
  const silent = silenceMs >= agent.modelSilenceMs;
  const { afterModel } = agent.hooks;
  const wanted = silent
    ? "model-timed-out"
    : whole && ["throws", "slow-throws", "hangs"].includes(afterModel)
      ? "hook-failed"
      : "model-failed";
  if (error.code !== wanted || (wanted === "model-failed" && whole)) {
    fail("heard", `${where}: ${error.code}, ${whole ? "and the model said all" : `not ${wanted}`}`);
  }
}

function checkCalls(
  where: string,
  { calls }: TurnFacts,
  expected: ReturnType<typeof expectedTurn>["calls"],
  fail: Fail,
): void {
  const got = calls.map(({ ready }) => `${ready.tool}(${ready.inputText ?? canonicalJson(ready.input)})`);
  const wanted = expected.map(({ name, input }) => `${name}(${input})`);
  const same =
    calls.length === expected.length &&
    calls.every(({ ready }, index) => {
      const call = expected[index];
      return call?.name === ready.tool && (ready.inputText ?? canonicalJson(ready.input)) === call.input;
    });
  if (!same) fail("heard", `${where} has the calls ${got.join(", ")}, not ${wanted.join(", ")}`);
}
