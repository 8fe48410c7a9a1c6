import type { ModelMessage } from "../model/model.ts";
import { promptOf } from "../model/prompt.ts";
import type { AnyStep } from "../protocol/step.ts";
import type { Call, Run, Thread, Turn, TurnPart } from "../protocol/thread.ts";
import { isSettled, rootOf, turnsOf } from "../protocol/thread.ts";
import type { LimitName, Usage } from "../protocol/values.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { CallRecord, TurnRecord } from "./call-record.ts";
import { outputOf } from "./call-record.ts";

/** `incomplete`: a limit ended it, with the work so far. `pending`: it waits for a person. */
export type RunStatus = "done" | "pending" | "incomplete" | "aborted" | "error";

/** Why a run is where it is. */
export type StopReason =
  | "complete"
  | "stop-condition"
  | "pending"
  | "max-turns"
  | "max-calls"
  | "tokens"
  | "timeout"
  | "loop-detected"
  | "failures"
  | "depth"
  | "completion"
  | "log-size"
  | "aborted"
  | "denied"
  | "error";

/** What came of a run. The transcript is whole however it ended: each call has exactly one result. */
export interface RunResult {
  readonly status: RunStatus;
  readonly stopReason: StopReason;
  /** The limit that ended an incomplete run. */
  readonly limit?: LimitName | undefined;
  /** Why, in words: of a stop, of a stop condition, of an error. */
  readonly reason?: string | undefined;
  /** Of an error, such as `model-failed`. */
  readonly code?: string | undefined;
  /** The final answer, without the texts of earlier turns; that of the last turn where a stop condition ended it. */
  readonly text: string;
  /** All that the model was told and said, instructions first. */
  readonly messages: readonly ModelMessage[];
  /** Every answer of the model that came to its end. */
  readonly turns: readonly TurnRecord[];
  readonly turnsCount: number;
  /** Every call, in order. */
  readonly toolCalls: readonly CallRecord[];
  readonly toolCallCount: number;
  /** Of all model calls. A count that no provider gave is absent. */
  readonly usage: Usage;
  readonly model: string;
  /** The steps that wait for a person, of a pending run. */
  readonly pending?: readonly AnyStep[] | undefined;
}

const REASONS: Readonly<Record<LimitName, StopReason>> = {
  turns: "max-turns",
  calls: "max-calls",
  tokens: "tokens",
  time: "timeout",
  repeats: "loop-detected",
  failures: "failures",
  depth: "depth",
  completion: "completion",
  "log-size": "log-size",
};

/** The run a thread in memory is about: the one under way, else the last one that was not a sub-agent's. */
export function runOf(thread: Thread): Run {
  const run = rootOf(thread) ?? thread.runs.findLast(({ depth }) => depth === 0);
  if (!run) throw new Error("The thread has no run.");
  return run;
}

/** Reads a run that ended or waits. */
export function resultOfRun(thread: Thread, model: string, messages: readonly ModelMessage[]): RunResult {
  const run = runOf(thread);
  const turns = wholeTurns(run).map(turnRecord);
  const toolCalls = turns.flatMap(({ calls }) => calls);
  const waits = run.outcome === undefined;
  const failed = run.outcome === "failed";
  const ofModel = failed && run.code?.startsWith("model-") ? run.turn?.error?.message : undefined;
  return {
    ...endOf(run),
    ...(run.limit !== undefined && { limit: run.limit }),
    ...optional("reason", run.reason ?? run.stop?.reason ?? ofModel),
    ...optional("code", failed ? run.code : undefined),
    text: run.turn?.status === "ended" ? run.text : "", // half an answer is none
    messages,
    turns,
    turnsCount: turns.length,
    toolCalls,
    toolCallCount: toolCalls.length,
    usage: run.usage,
    model,
    ...(waits && { pending: viewThread(thread).pending }),
  };
}

function endOf({ outcome, limit, code }: Run): Pick<RunResult, "status" | "stopReason"> {
  switch (outcome) {
    case undefined:
      return { status: "pending", stopReason: "pending" };
    case "completed":
      return { status: "done", stopReason: code === "stop-when" ? "stop-condition" : "complete" };
    case "limited":
      return { status: "incomplete", stopReason: limit ? REASONS[limit] : "max-turns" };
    case "stopped":
      return { status: "aborted", stopReason: code === "denied" ? "denied" : "aborted" };
    default:
      return { status: "error", stopReason: "error" };
  }
}

function optional<Key extends string>(key: Key, value: string | undefined): { readonly [key in Key]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [key in Key]?: string }; // exactly this key
}

/** All that the model was told and said in a run, the text of an answer that broke off included. */
export function transcriptOf(thread: Thread, run: Run, instructions: string | undefined): readonly ModelMessage[] {
  const brokeOff = run.turn?.status === "failed";
  return promptOf(thread, brokeOff ? { ...run, turns: turnsOf(run), turn: null } : run, instructions);
}

/** Answers that came to their end. */
function wholeTurns(run: Run): readonly Turn[] {
  return turnsOf(run).filter(({ status }) => status === "ended");
}

/** Turns that asked for tools, all of whose calls are over. */
export function toolTurns(run: Run): readonly TurnRecord[] {
  const turns = wholeTurns(run).filter(({ calls }) => calls.length > 0 && calls.every(isSettled));
  return turns.map(turnRecord);
}

/** A turn as those who call the loop read it. */
export function turnRecord({ turn, parts, calls, usage }: Turn): TurnRecord {
  return {
    turn,
    text: textOf(parts, "text"),
    ...optional("reasoning", textOf(parts, "reasoning") || undefined),
    calls: calls.map(callRecord),
    ...(usage && { usage }),
  };
}

function textOf(parts: readonly TurnPart[], type: "text" | "reasoning"): string {
  return parts.map((part) => (part.type === type ? part.text : "")).join("");
}

function callRecord(call: Call): CallRecord {
  const { callId, tool: name, input: args, status, startedAt, endedAt } = call;
  const durationMs = startedAt === undefined || endedAt === undefined ? 0 : endedAt - startedAt;
  const record = { callId, name, args, status, durationMs };
  if (status !== "succeeded" && status !== "failed" && status !== "not-run") return { ...record, isError: false };
  const { output, error, reason } = call;
  const words = reason === "blocked" ? call.verdict?.reason : call.decision?.reason;
  const ending = outputOf({ outcome: status, output, error, reason, words });
  return { ...record, output: ending, isError: status !== "succeeded" };
}
