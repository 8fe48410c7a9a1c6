import type { ThreadEvent } from "../protocol/event.ts";
import type { Json, Usage } from "../protocol/values.ts";
import type { TurnRecord } from "./call-record.ts";

/** What an observer keeps of a run until it ends: the turn under way, and sums. */
export interface ObservedRun {
  readonly runId: string;
  readonly depth: number;
  readonly startedAt: number;
  lastAt: number;
  turns: number;
  calls: number;
  tokens: number;
  /** Something of an answer came. */
  spoke: boolean;
  modelCall: { readonly model: string; readonly startedAt: number } | undefined;
  turn: ObservedTurn;
}

export interface ObservedTurn {
  /** 0 where its beginning was not seen. */
  readonly turn: number;
  text: string;
  reasoning: string;
  usage: Usage | undefined;
  isWhole: boolean;
  ranTools: boolean;
  readonly calls: Map<string, ObservedCall>;
}

export interface ObservedCall {
  readonly callId: string;
  readonly tool: string;
  input: Json;
  /** What a person or a rule said of it. */
  words: string | undefined;
  startedAt: number | undefined;
  endedAt: number | undefined;
  ending: "succeeded" | "failed" | "not-run" | undefined;
  output: Json | undefined;
}

/** A run as of the first event of it that is seen. */
export function observedRun(event: ThreadEvent, runId: string): ObservedRun {
  return {
    runId,
    depth: event.type === "run-started" ? event.depth : 0,
    startedAt: event.at,
    lastAt: event.at,
    turns: 0,
    calls: 0,
    tokens: 0,
    spoke: false,
    modelCall: undefined,
    turn: observedTurn(0),
  };
}

export function observedTurn(turn: number): ObservedTurn {
  return { turn, text: "", reasoning: "", usage: undefined, isWhole: false, ranTools: false, calls: new Map() };
}

export function observedCall(callId: string, tool: string, input: Json): ObservedCall {
  const unknown = { words: undefined, startedAt: undefined, endedAt: undefined, ending: undefined, output: undefined };
  return { callId, tool, input, ...unknown };
}

/** A whole turn, once nothing of it changes any more. */
export function observedRecord({ turn, text, reasoning, usage, calls }: ObservedTurn): TurnRecord {
  const records = [...calls.values()].map(
    ({ callId, tool: name, input: args, ending, output, startedAt, endedAt }) => ({
      callId,
      name,
      args,
      output,
      isError: ending !== "succeeded",
      status: ending ?? ("queued" as const),
      durationMs: (endedAt ?? 0) - (startedAt ?? endedAt ?? 0),
    }),
  );
  return { turn, text, ...(reasoning && { reasoning }), calls: records, ...(usage && { usage }) };
}
