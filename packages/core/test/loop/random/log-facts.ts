import type { CallReady } from "../../../src/protocol/call-event.ts";
import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { AskKind, Json } from "../../../src/protocol/values.ts";
import type { AgentPlan, ToolPlan } from "./plan.ts";
import { TOOL_NAMES } from "./planned-model.ts";

export type EventOf<Type extends ThreadEvent["type"]> = ThreadEvent & { readonly type: Type };

/** A question that nobody has answered yet. */
export interface OpenAsk {
  readonly kind: AskKind;
  readonly digest: string;
  expiresAt: number | undefined;
  readonly schema: Json | undefined;
}

/** What a call's events add up to, read without the reducer. */
export interface CallFacts {
  readonly ready: ThreadEvent & CallReady;
  readonly run: RunFacts;
  readonly turn: TurnFacts;
  /** Undefined for a tool nobody declared. */
  readonly plan: ToolPlan | undefined;
  /** Of what was last shown and approved. */
  digest: string;
  input: Json;
  judged: EventOf<"call-judged"> | undefined;
  ask: OpenAsk | undefined;
  /** All questions so far. */
  asked: { readonly kind: AskKind; readonly digest: string }[];
  /** A person said no to it. */
  denied: EventOf<"decision-recorded"> | undefined;
  decisions: EventOf<"decision-recorded">[];
  readonly starts: EventOf<"call-started">[];
  /** Definite failures. */
  failures: number;
  running: boolean;
  retryAt: number | undefined;
  /** Why it must not start any more. */
  refused: string | undefined;
  interrupted: boolean;
  child: RunFacts | undefined;
  settled: EventOf<"call-settled"> | undefined;
}

export function newCall(ready: ThreadEvent & CallReady, run: RunFacts, turn: TurnFacts): CallFacts {
  const index = TOOL_NAMES.indexOf(ready.tool);
  return {
    ...{ ready, run, turn, plan: index < 0 ? undefined : run.plan.tools[index], digest: ready.digest },
    ...{
      input: ready.input,
      judged: undefined,
      ask: undefined,
      asked: [],
      denied: undefined,
      decisions: [],
      starts: [],
      failures: 0,
    },
    ...{ running: false, retryAt: undefined, refused: undefined, interrupted: false },
    ...{ child: undefined, settled: undefined },
  };
}

/** A turn: one model call with its attempts. */
export interface TurnFacts {
  readonly turn: number;
  readonly starts: EventOf<"turn-started">[];
  /** Attempts that ended without a word. */
  cuts: number;
  open: boolean;
  ended: EventOf<"turn-ended"> | undefined;
  judged: EventOf<"turn-judged"> | undefined;
  readonly failed: EventOf<"attempt-failed">[];
  /** What was written in each attempt. */
  readonly texts: Map<number, { text: string; reasoning: string }>;
  readonly calls: CallFacts[];
}

export function newTurn(started: EventOf<"turn-started">): TurnFacts {
  return {
    ...{ turn: started.turn, starts: [started], cuts: 0, open: true, ended: undefined, judged: undefined },
    ...{ failed: [], texts: new Map(), calls: [] },
  };
}

export interface RunFacts {
  readonly started: EventOf<"run-started">;
  readonly plan: AgentPlan;
  /** The call that asked for it, of a sub-agent. */
  readonly parent: CallFacts | undefined;
  /** Active time of the root when it began. */
  readonly activeFrom: number;
  readonly turns: TurnFacts[];
  readonly stops: EventOf<"stop-requested">[];
  readonly limits: EventOf<"limit-reached">[];
  readonly children: RunFacts[];
  ended: EventOf<"run-ended"> | undefined;
}

/** Everything in a log, by what it is about. */
export interface LogFacts {
  readonly runs: ReadonlyMap<string, RunFacts>;
  readonly calls: ReadonlyMap<string, CallFacts>;
  readonly events: readonly ThreadEvent[];
  /** Who drove in each epoch. */
  readonly drivers: ReadonlyMap<number, string>;
  /** Arguments as they were shown while they were written, by call. */
  readonly drafts: ReadonlyMap<string, string>;
  /** Place of the event that is read. */
  seq: number;
  /** Active time of the root run, up to that event. */
  activeMs: number;
}

export function callsOf(run: RunFacts): readonly CallFacts[] {
  return run.turns.flatMap(({ calls }) => calls);
}

/** A run with all the runs it asked for. */
export function treeOf(run: RunFacts): readonly RunFacts[] {
  return [run, ...run.children.flatMap(treeOf)];
}

/** A run and those that asked for it, up to the root. */
export function lineOf(run: RunFacts): readonly RunFacts[] {
  return run.parent ? [run, ...lineOf(run.parent.run)] : [run];
}

export function rootOf(run: RunFacts): RunFacts {
  return lineOf(run).at(-1) ?? run;
}

/** Calls that are not settled, of runs that have not ended. */
export function openCalls({ runs }: Pick<LogFacts, "runs">): readonly CallFacts[] {
  return [...runs.values()].filter((run) => !run.ended).flatMap((run) => callsOf(run).filter((call) => !call.settled));
}

/** True where the call began: its tool, its sub-agent, or the question that it is. */
export function hasBegun({ starts, asked }: CallFacts): boolean {
  return starts.length > 0 || asked.some(({ kind }) => kind !== "approval");
}
