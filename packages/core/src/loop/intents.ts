import type { Agent, AnswerRules } from "../agent/agent.ts";
import { copyJson, wellFormed } from "../protocol/copy-json.ts";
import type { EventDraft } from "../protocol/event.ts";
import { askDigest, effectSoFar } from "../protocol/read-thread.ts";
import type { Call, Run, Thread } from "../protocol/thread.ts";
import type { Json, LimitFollows, LimitName } from "../protocol/values.ts";
import type { Action } from "./action.ts";
import { callKey, turnKey } from "./action.ts";
import { agentFor } from "./agent-for.ts";
import type { LoopContext } from "./context.ts";
import { endEvents } from "./end-run.ts";
import { HOOK_FAILED } from "./failed-model-call.ts";
import { GONE, judgeCalls } from "./judge-calls.ts";
import { judgeTurn } from "./judge-turn.ts";
import { countOf } from "./limits.ts";
import { TOOLS_FAILED, toolsPauseMs } from "./loaded-tools.ts";
import { noteFor } from "./notes.ts";
import { planTurn } from "./plan-turn.ts";
import type { TurnPlan } from "./turn-plan.ts";

/** The events an action puts into the log, and what they set in motion once they are there. */
export interface Intents {
  readonly drafts: readonly EventDraft[];
  /** Keys of effects the drafts start. */
  readonly starts: readonly string[];
}

const MAX_PROMPT_CHARS = 2_000;

const NONE: Intents = { drafts: [], starts: [] };

/** Turns an action into events; asynchronous only where a policy or a schema is. */
export function intentsOf(action: Action, thread: Thread, options: LoopContext): Intents | Promise<Intents> {
  switch (action.type) {
    case "judge-turn":
      return judgeTurn(action.run, action.turn, agentFor(thread, action.run, options.agent), options).then((judged) =>
        only([judged]),
      );
    case "judge":
      return drafted(judgeCalls(action.run, action.calls, thread, options));
    case "start":
      return start(action.run, action.calls, thread, options);
    case "call-model":
      return startTurn(action, thread, options);
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

function drafted(drafts: readonly EventDraft[] | Promise<readonly EventDraft[]>): Intents | Promise<Intents> {
  return drafts instanceof Promise ? drafts.then(only) : only(drafts);
}

function only(drafts: readonly EventDraft[]): Intents {
  return { drafts, starts: [] };
}

function start(run: Run, calls: readonly Call[], thread: Thread, options: LoopContext): Intents {
  const agent = agentFor(thread, run, options.agent);
  const same = calls.filter((call) => agent?.tools.get(call.tool)?.hash === call.toolHash);
  // A deploy between approval and start: what was shown is not what would run.
  if (same.length < calls.length)
    return only(calls.filter((call) => !same.includes(call)).map((call) => gone(run, call)));
  const starts: string[] = [];
  const drafts = calls.flatMap((call): readonly EventDraft[] => {
    const tool = agent?.tools.get(call.tool)?.tool;
    if (tool?.answer) return [questionEvent(run, call, tool.answer, options)];
    const started: EventDraft = {
      type: "call-started",
      runId: run.runId,
      callId: call.callId,
      attempt: call.attempt + 1,
      digest: call.digest,
      // Grows only after a recorded definite failure: the same effect keeps its key.
      key: `${call.callId}.${call.failures}`,
    };
    if (tool?.agent) return [started, childRun(run, call, tool.agent, options)];
    starts.push(callKey(call.callId, call.attempt + 1));
    return [started];
  });
  return { drafts, starts };
}

/** What a question tool or a browser tool starts with: the question is all there is to do here. */
function questionEvent(run: Run, call: Call, answer: AnswerRules, { clock, onError }: LoopContext): EventDraft {
  const { expiresInMs } = answer;
  return {
    type: "decision-requested",
    runId: run.runId,
    callId: call.callId,
    kind: answer.kind,
    digest: askDigest(call),
    prompt: promptFor(answer, call.input, onError),
    schema: answer.jsonSchema,
    expiresAt: expiresInMs === undefined ? undefined : clock.now() + expiresInMs,
    extendMs: answer.kind === "browser" ? undefined : expiresInMs,
  };
}

function promptFor(answer: AnswerRules, input: Json, onError: LoopContext["onError"]): string | undefined {
  try {
    if (answer.prompt) return wellFormed(String(answer.prompt(copyJson(input))).slice(0, MAX_PROMPT_CHARS));
  } catch (error) {
    onError(error); // the question as the model put it has to do
  }
  if (answer.kind === "browser" || typeof input !== "object" || input === null) return undefined;
  const { question, prompt } = input as { readonly [key: string]: Json }; // not a list that has these
  const text = typeof question === "string" ? question : prompt;
  return typeof text === "string" ? text.slice(0, MAX_PROMPT_CHARS) : undefined;
}

/** A sub-agent begins in the same batch as the call that asks for it: neither is ever there without the other. */
function childRun(run: Run, call: Call, agent: Agent, { newId }: LoopContext): EventDraft {
  return {
    type: "run-started",
    runId: newId(),
    trigger: "call",
    depth: run.depth + 1,
    parentCallId: call.callId,
    agentVersion: agent.version,
  };
}

function gone(run: Run, { callId, attempt }: Call): EventDraft {
  const settled = { type: "call-settled", runId: run.runId, callId } as const;
  if (attempt === 0) return { ...settled, outcome: "not-run", reason: "blocked", effect: "none" };
  return { ...settled, attempt, outcome: "failed", error: { code: "interrupted", message: GONE }, effect: "unknown" };
}

/** An open question whose time is over: recorded by whoever notices first. */
export function expireEvents(run: Run, call: Call): readonly EventDraft[] {
  const { runId } = run;
  const { callId } = call;
  const digest = call.ask?.digest ?? call.digest;
  return [
    { type: "decision-recorded", runId, callId, action: "expire", via: "clock", digest, key: "", bodyHash: "" },
    { type: "call-settled", runId, callId, outcome: "not-run", reason: "expired", effect: effectSoFar(call) },
  ];
}

function startTurn(
  action: Action & { type: "call-model" },
  thread: Thread,
  options: LoopContext,
): Intents | Promise<Intents> {
  const { run, turn, attempt } = action;
  const agent = agentFor(thread, run, options.agent);
  if (!agent) return only(turnEvents(action, thread, undefined, undefined));
  if (options.toolsFailed(action, agent)) {
    const again = attempt < agent.rules.modelAttempts * agent.rules.models;
    const retryAt = again ? options.clock.now() + toolsPauseMs(attempt) : undefined;
    const failed = { type: "attempt-failed", runId: run.runId, turn, attempt, error: TOOLS_FAILED, retryAt } as const;
    return only([...turnEvents(action, thread, agent, undefined), failed]);
  }
  const planned = (plan: TurnPlan): Intents => {
    const key = turnKey(run.runId, turn, attempt);
    options.plans.set(key, plan);
    return { drafts: turnEvents(action, thread, agent, plan), starts: [key] };
  };
  const plan = planTurn(action, thread, agent, options);
  if (!(plan instanceof Promise)) return planned(plan);
  return plan.then(planned, (error: unknown) => {
    options.onError(error);
    const failed = { type: "attempt-failed", runId: run.runId, turn, attempt, error: HOOK_FAILED } as const;
    return only([...turnEvents(action, thread, agent, undefined), failed]);
  });
}

function turnEvents(
  action: Action & { type: "call-model" },
  thread: Thread,
  agent: Agent | undefined,
  plan: TurnPlan | undefined,
): readonly EventDraft[] {
  const { run, turn, attempt, last, repeated } = action;
  const started: EventDraft = {
    type: "turn-started",
    runId: run.runId,
    turn,
    attempt,
    model: plan?.model.id ?? agent?.models[0]?.id ?? "",
    toolsOff: last ? true : undefined,
    offered: plan?.offered,
    note: noteFor(action, agent?.rules),
  };
  const reached: EventDraft[] = [];
  // Said once, with the first attempt; a later one finds it in the log.
  const announce = (limit: LimitName, follows: LimitFollows, count: number): void => {
    if (attempt === 1) reached.push({ type: "limit-reached", runId: run.runId, limit, count, follows });
  };
  const then = agent?.rules.limits.repeats?.follows === "warn" ? "warn" : "note";
  if (repeated !== undefined) announce("repeats", then, repeated);
  if (last && !run.limits.some((known) => known.limit === last && known.follows === "answer")) {
    announce(last, "answer", last === "turns" ? turn : countOf(last, thread, run, agent?.rules));
  }
  return [...reached, started];
}
