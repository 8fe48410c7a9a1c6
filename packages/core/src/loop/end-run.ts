import type { Rules } from "../agent/rules.ts";
import { addUsage } from "../protocol/add-usage.ts";
import type { EventDraft } from "../protocol/event.ts";
import { effectSoFar, parentOf, textOf } from "../protocol/read-thread.ts";
import type { Call, Run, Thread, Turn } from "../protocol/thread.ts";
import { isSettled, turnsOf } from "../protocol/thread.ts";
import type { Json, LimitName, Usage } from "../protocol/values.ts";
import type { Action } from "./action.ts";
import { agentFor } from "./agent-for.ts";
import type { LoopContext } from "./context.ts";
import { encodeResult, MAX_OUTPUT_CHARS } from "./encode-result.ts";
import { givenResult } from "./given-result.ts";
import { countOf } from "./limits.ts";
import { goesOnAfter, hasUnread } from "./next-action.ts";

/** The end of a run, and the next one's start where a message is still unread. */
export function endEvents(
  action: Action & { type: "end" },
  thread: Thread,
  options: LoopContext,
): readonly EventDraft[] {
  const { run, outcome, limit } = action;
  const rules = agentFor(thread, run, options.agent)?.rules;
  const announced = run.limits.some((known) => known.limit === limit && known.follows === "answer");
  const reached: EventDraft[] =
    limit && !announced
      ? [
          {
            type: "limit-reached",
            runId: run.runId,
            limit,
            count: reachedAt(limit, thread, run, rules, options),
            follows: "stop",
          },
        ]
      : [];
  const events = [...reached, ...closeRuns(thread, run, action, options)];
  const next = run.depth === 0 && hasUnread(thread) && goesOnAfter({ outcome, limit, turn: run.turn });
  return next ? [...events, nextRun(run, options)] : events;
}

/** Time goes on between the log's last event and now. */
function reachedAt(
  limit: LimitName,
  thread: Thread,
  run: Run,
  rules: Rules | undefined,
  { clock }: LoopContext,
): number {
  const since = limit === "time" && thread.activeAt > 0 ? Math.max(0, clock.now() - thread.activeAt) : 0;
  return countOf(limit, thread, run, rules) + Math.round(since);
}

type Ending = Pick<Action & { type: "end" }, "outcome" | "limit" | "code">;

/** One batch: open calls settled leaf first, `run-ended` last; the end of a sub-agent settles the call that asked for it. */
function closeRuns(thread: Thread, run: Run, ending: Ending, options?: LoopContext): readonly EventDraft[] {
  const { outcome, limit, code } = ending;
  const runs = run.depth === 0 ? thread.active.toReversed() : [run];
  const usageOf = (each: Run): Usage =>
    runs
      .filter((child) => parentOf(thread, child)?.run === each)
      .reduce((sum, child) => addUsage(sum, usageOf(child)), each.usage);
  const ended = runs.flatMap((each): EventDraft[] => [
    ...(each.turn?.calls ?? []).flatMap((call) => closeCall(each, call)),
    {
      type: "run-ended",
      runId: each.runId,
      ...{ outcome, limit, code },
      reason: code === "stop-when" ? each.turn?.judged?.reason : undefined,
      text: each === run ? finalText(each, code === "stop-when") : "",
      usage: usageOf(each),
    },
  ]);
  const parent = parentOf(thread, run);
  const words = (text: string): { output: Json; toModel?: Json | undefined } => {
    const output = text.length > MAX_OUTPUT_CHARS ? encodeResult(text) : text;
    const agent = parent && options && agentFor(thread, parent.run, options.agent);
    return { output, toModel: agent && options && givenResult(output, parent.call, agent, options.onError) };
  };
  return parent ? [...ended, childResult(parent, run, ending, words)] : ended;
}

/** What a sub-agent came to, as the result of the call that asked for it: its last words, or a failed call. */
function childResult(
  { run, call }: { readonly run: Run; readonly call: Call },
  child: Run,
  { outcome, limit, code }: Ending,
  words: (text: string) => { output: Json; toModel?: Json | undefined },
): EventDraft {
  const settled = { type: "call-settled", runId: run.runId, callId: call.callId, attempt: call.attempt } as const;
  const text = finalText(child, code === "stop-when");
  if (outcome === "completed") return { ...settled, outcome: "succeeded", ...words(text) };
  const because = limit ? `it reached its limit (${limit})` : (CHILD_ENDED[code ?? ""] ?? "something went wrong");
  if (outcome === "limited" && text) {
    return { ...settled, outcome: "succeeded", ...words(`${text}\n\n[The agent was not done: ${because}.]`) };
  }
  return { ...settled, outcome: "failed", error: { code: "failed", message: `The agent did not finish: ${because}.` } };
}

const CHILD_ENDED: Readonly<Record<string, string>> = {
  denied: "the person denied what it wanted to do",
  "tool-changed": "it is no longer available",
};

/** The end of the root run by somebody who does not drive it: every call settled, `run-ended` last. */
export function endRun(thread: Thread, outcome: "stopped" | "failed", code?: string): readonly EventDraft[] {
  const root = thread.active[0];
  return root ? closeRuns(thread, root, { outcome, code }) : [];
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

function closeCall(run: Run, call: Call): EventDraft[] {
  if (isSettled(call) || call.status === "writing") return [];
  const base = { type: "call-settled", runId: run.runId, callId: call.callId } as const;
  if (call.status === "running" || call.ask?.kind === "interrupted") {
    const message = "The run ended while it ran; it may have had an effect.";
    return [{ ...base, outcome: "failed", error: { code: "stopped", message }, effect: "unknown" }];
  }
  return [{ ...base, outcome: "not-run", reason: "stopped", effect: effectSoFar(call) }];
}

/** The answer of the last turn alone; empty when the model still asked for tools, unless the app ended it there. */
function finalText(run: Run, cutShort: boolean): string {
  const turn: Turn | undefined = turnsOf(run).at(-1);
  if (turn?.status !== "ended" || (turn.calls.length > 0 && !cutShort)) return ""; // half an answer is none
  if (turn.finishReason === "dropped-calls") return "";
  return textOf(turn);
}
