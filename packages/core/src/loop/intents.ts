import { checkInput } from "../agent/check-call.ts";
import type { Judgement } from "../agent/judge-call.ts";
import { judgeCall } from "../agent/judge-call.ts";
import { wellFormed } from "../protocol/copy-json.ts";
import { digestCall } from "../protocol/digest.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Call, Run, Thread, Turn } from "../protocol/thread.ts";
import { isSettled, turnsOf } from "../protocol/thread.ts";
import type { LimitName, RunOutcome } from "../protocol/values.ts";
import type { LoopContext } from "./context.ts";
import { inTime, RULE_MS } from "./in-time.ts";
import type { Action } from "./next-action.ts";
import { callKey, hasUnread, turnKey } from "./next-action.ts";

/** The events an action puts into the log, and what they set in motion once they are there. */
export interface Intents {
  readonly drafts: readonly EventDraft[];
  /** Keys of effects the drafts start. */
  readonly starts: readonly string[];
}

const NONE: Intents = { drafts: [], starts: [] };

/** Turns an action into events; asynchronous only where a policy or a schema is. */
export function intentsOf(action: Action, thread: Thread, options: LoopContext): Intents | Promise<Intents> {
  switch (action.type) {
    case "judge":
      return judge(action.run, action.calls, thread, options);
    case "start":
      return start(action.run, action.calls, options);
    case "call-model":
      return startTurn(action, options);
    case "expire":
      return only(action.calls.flatMap((call) => expireEvents(action.run, call)));
    case "interrupt":
      return only(
        action.calls.map(({ callId, attempt }) => ({
          type: "call-interrupted",
          runId: action.run.runId,
          callId,
          attempt,
        })),
      );
    case "wait": {
      const root = thread.active[0];
      return only([
        { type: "run-waiting", runId: root?.runId, for: action.calls.map((call) => call.callId), dueAt: action.dueAt },
      ]);
    }
    case "hand-over":
      return only([{ type: "run-handed-over", runId: thread.active[0]?.runId, why: "budget", dueAt: action.dueAt }]);
    case "end":
      return only(endEvents(action, thread, options));
    default:
      return NONE;
  }
}

function only(drafts: readonly EventDraft[]): Intents {
  return { drafts, starts: [] };
}

function start(run: Run, calls: readonly Call[], { agent }: LoopContext): Intents {
  const same = calls.filter((call) => agent.tools.get(call.tool)?.hash === call.toolHash);
  // A deploy between approval and start: what was shown is not what would run.
  if (same.length < calls.length)
    return only(calls.filter((call) => !same.includes(call)).map((call) => gone(run, call)));
  return {
    drafts: calls.map((call) => ({
      type: "call-started",
      runId: run.runId,
      callId: call.callId,
      attempt: call.attempt + 1,
      digest: call.digest,
      // Grows only after a recorded definite failure: the same effect keeps its key.
      key: `${call.callId}.${call.failures}`,
    })),
    starts: calls.map((call) => callKey(call.callId, call.attempt + 1)),
  };
}

const LATE_RULE: Judgement = {
  verdict: "deny",
  by: "policy",
  reason: "The rule for this tool did not answer in time, so it was not run.",
  failure: new Error("A policy or approval did not answer in time."),
};

const GONE = "This tool is no longer available as it was.";

function gone(run: Run, { callId, attempt }: Call): EventDraft {
  const settled = { type: "call-settled", runId: run.runId, callId } as const;
  if (attempt === 0) return { ...settled, outcome: "not-run", reason: "blocked", effect: "none" };
  return { ...settled, attempt, outcome: "failed", error: { code: "interrupted", message: GONE }, effect: "unknown" };
}

const LAST_ANSWER =
  "No more tools can be used in this run. Answer now from the results you have, and say plainly what is missing.";

function startTurn(action: Action & { type: "call-model" }, { agent }: LoopContext): Intents {
  const { run, turn, attempt, last } = action;
  const started: EventDraft = {
    type: "turn-started",
    runId: run.runId,
    turn,
    attempt,
    model: agent.modelId,
    toolsOff: last ? true : undefined,
    note: last ? LAST_ANSWER : undefined,
  };
  const announced = run.limits.some((reached) => reached.limit === last);
  const reached: EventDraft[] =
    last && !announced
      ? [{ type: "limit-reached", runId: run.runId, limit: last, count: countOf(last, run, turn), follows: "answer" }]
      : [];
  return { drafts: [...reached, started], starts: [turnKey(run.runId, turn, attempt)] };
}

function countOf(limit: LimitName, run: Run, turn: number): number {
  return limit === "calls" ? run.callCount : turn;
}

function judge(run: Run, calls: readonly Call[], thread: Thread, options: LoopContext): Intents | Promise<Intents> {
  const judged = calls.map((call) => overLimit(run, call, options) ?? judgeOne(run, call, thread, options));
  const collect = (events: readonly (readonly EventDraft[])[]): Intents => only(events.flat());
  return judged.some((result) => result instanceof Promise)
    ? Promise.all(judged).then(collect)
    : collect(judged as readonly (readonly EventDraft[])[]); // none is a promise
}

/** One answer may ask for more calls than are left: those beyond the limit are not run, and nobody is asked. */
function overLimit(run: Run, call: Call, { agent }: LoopContext): readonly EventDraft[] | undefined {
  const limit = agent.rules.limits.calls;
  if (run.callCount <= limit) return undefined;
  const calls = run.turn?.calls ?? [];
  const before = run.callCount - calls.length + calls.indexOf(call);
  return before < limit ? undefined : blocked(run, call, `This run may make ${limit} calls.`, "default");
}

function judgeOne(
  run: Run,
  call: Call,
  thread: Thread,
  options: LoopContext,
): readonly EventDraft[] | Promise<readonly EventDraft[]> {
  const { agent, user } = options;
  const tool = agent.tools.get(call.tool);
  if (!tool || tool.hash !== call.toolHash) {
    return blocked(run, call, GONE, "default");
  }
  const context = { user, threadId: thread.id, runId: run.runId };
  const verdict = judgeCall(agent, tool, call, context, thread.grants);
  const record = (judgement: Judgement): readonly EventDraft[] | Promise<readonly EventDraft[]> => {
    if (judgement.failure !== undefined) options.onError(judgement.failure);
    return judgement.modified === undefined
      ? judgedEvents(run, call, judgement, options)
      : inTime(
          options.clock,
          modify(run, call, judgement, thread.id, options),
          RULE_MS,
          blocked(run, call, LATE_RULE.reason ?? "", "policy"),
        );
  };
  return verdict instanceof Promise ? inTime(options.clock, verdict, RULE_MS, LATE_RULE).then(record) : record(verdict);
}

/** A policy put other input in the call's place: it is checked like the model's own. */
async function modify(
  run: Run,
  call: Call,
  judgement: Judgement,
  threadId: string,
  options: LoopContext,
): Promise<readonly EventDraft[]> {
  const checked = await checkInput(options.agent, call.tool, judgement.modified ?? null);
  if (!checked.ok) return blocked(run, call, checked.error.message, judgement.by);
  const { toolHash = "", salt = "", tool, callId } = call;
  // The tool's own rule has seen the old input only: what it denies, no policy can put in.
  const context = { user: options.user, threadId, runId: run.runId };
  const again = await judgeCall(options.agent, checked.tool, { callId, input: checked.input }, context, []);
  if (again.verdict === "deny") return blocked(run, call, again.reason ?? "Not allowed.", again.by);
  const digest = digestCall({ tool, toolHash, input: checked.input, salt });
  return judgedEvents(run, { ...call, input: checked.input, digest }, judgement, options, true);
}

function judgedEvents(
  run: Run,
  call: Call,
  judgement: Judgement,
  { agent, clock }: LoopContext,
  changed = false,
): readonly EventDraft[] {
  const { verdict, by, reason, grantId, ask } = judgement;
  if (verdict === "deny") return blocked(run, call, reason ?? "Not allowed.", by);
  const { runId } = run;
  const { callId, digest } = call;
  const input = changed ? call.input : undefined;
  const judged: EventDraft = { type: "call-judged", runId, callId, digest, verdict, by, input, reason, grantId };
  if (!ask) return [judged];
  const { editable, scopes, expiresInMs } = ask;
  return [
    judged,
    {
      type: "decision-requested",
      runId,
      callId,
      digest,
      kind: "approval",
      editable,
      scopes,
      reason: ask.reason,
      schema: editable === false ? undefined : agent.tools.get(call.tool)?.tool.inputJsonSchema,
      expiresAt: expiresInMs === undefined || !Number.isFinite(expiresInMs) ? undefined : clock.now() + expiresInMs,
    },
  ];
}

function blocked(run: Run, call: Call, reason: string, by: Judgement["by"]): readonly EventDraft[] {
  const { runId } = run;
  const { callId, digest } = call;
  return [
    { type: "call-judged", runId, callId, verdict: "deny", by, digest, reason: wellFormed(reason) },
    { type: "call-settled", runId, callId, outcome: "not-run", reason: "blocked", effect: "none" },
  ];
}

/** An open question whose time is over: recorded by whoever notices first. */
export function expireEvents(run: Run, call: Call): readonly EventDraft[] {
  const { runId } = run;
  const { callId, digest } = call;
  return [
    { type: "decision-recorded", runId, callId, action: "expire", via: "clock", digest, key: "", bodyHash: "" },
    { type: "call-settled", runId, callId, outcome: "not-run", reason: "expired", effect: "none" },
  ];
}

/** The end of a run, and the next one's start where a message is still unread. */
function endEvents(action: Action & { type: "end" }, thread: Thread, options: LoopContext): readonly EventDraft[] {
  const { run, outcome, limit, code } = action;
  const events = closeRuns(thread, run, outcome, limit, code);
  const next = run.depth === 0 && hasUnread(thread) && (outcome === "completed" || outcome === "limited");
  return next ? [...events, nextRun(run, options)] : events;
}

/** One batch: open calls settled leaf first, `run-ended` last. */
function closeRuns(
  thread: Thread,
  run: Run,
  outcome: RunOutcome,
  limit: LimitName | undefined,
  code: string | undefined,
): readonly EventDraft[] {
  const ending = run.depth === 0 ? thread.active.toReversed() : [run];
  return ending.flatMap((each): EventDraft[] => [
    ...(each.turn?.calls ?? []).flatMap((call) => closeCall(each, call, outcome === "stopped")),
    {
      type: "run-ended",
      runId: each.runId,
      ...{ outcome, limit, code },
      text: each === run ? finalText(each) : "",
      usage: each.usage,
    },
  ]);
}

/** The end of the root run by somebody who does not drive it: every call settled, `run-ended` last. */
export function endRun(thread: Thread, outcome: "stopped" | "failed", code?: string): readonly EventDraft[] {
  const root = thread.active[0];
  return root ? closeRuns(thread, root, outcome, undefined, code) : [];
}

/** A message nobody read yet starts the next run at once, with the same owner. */
function nextRun(run: Run, { newId, agent, driverId }: LoopContext): EventDraft {
  return {
    type: "run-started",
    runId: newId(),
    trigger: "message",
    depth: 0,
    agentVersion: agent.version,
    user: run.user,
    driverId,
  };
}

function closeCall(run: Run, call: Call, stopped: boolean): EventDraft[] {
  if (isSettled(call) || call.status === "writing") return [];
  const base = { type: "call-settled", runId: run.runId, callId: call.callId } as const;
  if (call.status === "running" || call.ask?.kind === "interrupted") {
    const message = "The run ended while it ran; it may have had an effect.";
    return [{ ...base, outcome: "failed", error: { code: "stopped", message }, effect: "unknown" }];
  }
  return [{ ...base, outcome: "not-run", reason: stopped ? "stopped" : "skipped", effect: "none" }];
}

/** The answer of the last turn alone; empty when the model still asked for tools. */
function finalText(run: Run): string {
  const turn: Turn | undefined = turnsOf(run).at(-1);
  if (!turn || turn.calls.length > 0 || turn.finishReason === "dropped-calls") return "";
  return turn.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
