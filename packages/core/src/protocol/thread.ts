import type { LimitReached, PartAdded } from "./event.ts";
import type { Denial, Grant } from "./grant.ts";
import type {
  Actor,
  AskKind,
  DecisionAction,
  DecisionScope,
  EarlierDenial,
  GrantTerms,
  Json,
  LimitName,
  MessagePart,
  NotRunReason,
  OpaqueBlock,
  RunOutcome,
  StepError,
  TurnVerdict,
  Usage,
  VerdictBy,
  VerdictName,
} from "./values.ts";

/** What a person sent. */
export interface Message {
  readonly messageId: string;
  readonly seq: number;
  readonly at: number;
  readonly parts: readonly MessagePart[];
  readonly by: Actor;
}

/** `writing` to `not-run`: each answers "could it have had an effect?". */
export type StepStatus = "writing" | "waiting" | "queued" | "running" | "succeeded" | "failed" | "not-run";

/** An open question to a person about a call. */
export interface Ask {
  readonly kind: AskKind;
  readonly digest: string;
  readonly prompt?: string | undefined;
  readonly schema?: Json | undefined;
  readonly url?: string | undefined;
  readonly editable?: boolean | readonly string[] | undefined;
  readonly scopes?: readonly DecisionScope[] | undefined;
  /** What an approval for more than once is worth. */
  readonly grant?: GrantTerms | undefined;
  /** Server only. */
  readonly grantKey?: string | undefined;
  readonly reason?: string | undefined;
  /** The tool was denied before in this run. */
  readonly denied?: EarlierDenial | undefined;
  readonly expiresAt?: number | undefined;
  readonly extendMs?: number | undefined;
  readonly askedAt: number;
}

/** The answer that was recorded: who, when, what. */
export interface Decision {
  /** What was asked. */
  readonly kind: AskKind;
  readonly action: DecisionAction | "expire";
  readonly by?: Actor | undefined;
  readonly via: "browser" | "code" | "clock";
  readonly at: number;
  readonly digest: string;
  /** The input as the model wrote it, when the person changed it. */
  readonly originalInput?: Json | undefined;
  readonly value?: Json | undefined;
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
  readonly scope?: DecisionScope | undefined;
  /** Made together with the decision about another step: this grant covers both. */
  readonly grantId?: string | undefined;
  readonly stop?: boolean | undefined;
}

export interface Progress {
  readonly value?: number | undefined;
  readonly max?: number | undefined;
  readonly label?: string | undefined;
}

/** One tool call. */
export interface Call {
  readonly callId: string;
  readonly tool: string;
  readonly status: StepStatus;
  readonly title?: string | undefined;
  readonly summary?: string | undefined;
  /** The validated input; null while the model writes. */
  readonly input: Json;
  /** The text of the arguments while the model writes them. */
  readonly draft: string;
  readonly digest: string;
  /** Who put another input in the place of the model's, and what the model had written. */
  readonly changed?: { readonly by: "person" | "policy"; readonly from: Json } | undefined;
  readonly destructive?: boolean | undefined;
  readonly ask: Ask | null;
  readonly decision: Decision | null;
  /** Decisions on this call before its latest question: an approval, an answer it asked for on the way. */
  readonly earlier: readonly Decision[];
  readonly verdict: {
    readonly verdict: VerdictName;
    readonly by: VerdictBy;
    readonly reason?: string | undefined;
    readonly grantId?: string | undefined;
  } | null;
  /** 0 before the first start. */
  readonly attempt: number;
  /** Recorded definite failures: the number in the idempotency key. */
  readonly failures: number;
  readonly retryAt?: number | undefined;
  readonly lastError?: string | undefined;
  readonly progress: Progress | null;
  readonly log: readonly string[];
  readonly partial?: Json | undefined;
  readonly output?: Json | undefined;
  readonly error?: StepError | undefined;
  readonly reason?: NotRunReason | undefined;
  readonly effect?: "unknown" | "none" | undefined;
  readonly late?: boolean | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** Server only, as the four below. */
  readonly inputText?: string | undefined;
  readonly toModel?: Json | undefined;
  readonly providerId?: string | undefined;
  readonly opaque?: readonly OpaqueBlock[] | undefined;
  readonly toolHash?: string | undefined;
  readonly salt?: string | undefined;
}

/** What a turn shows beside its calls, in the order it came. */
export type TurnPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly index: number }
  | PartAdded["part"];

/** One model call and the tool calls it asked for. */
export interface Turn {
  readonly turn: number;
  readonly attempt: number;
  /** Attempts that ended without a word: their request was cut off. */
  readonly cuts: number;
  readonly status: "open" | "ended" | "failed";
  readonly startedSeq: number;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly model: string;
  readonly toolsOff?: boolean | undefined;
  readonly note?: string | undefined;
  readonly parts: readonly TurnPart[];
  readonly calls: readonly Call[];
  readonly finishReason?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly retryAt?: number | undefined;
  /** Server only, both: provider blocks, and what `stopWhen` and the completion gate made of the turn. */
  readonly opaque?: readonly OpaqueBlock[] | undefined;
  readonly judged?: { readonly verdict: TurnVerdict; readonly reason?: string | undefined } | undefined;
}

/** One execution in a thread, from a message to its end. */
export interface Run {
  readonly runId: string;
  readonly status: "running" | "waiting" | "ended";
  readonly depth: number;
  readonly trigger: "message" | "call" | "continue";
  readonly parentCallId?: string | undefined;
  readonly continues?: string | undefined;
  /** In place of the agent's `limits.turns`. */
  readonly turnLimit?: number | undefined;
  readonly startedSeq: number;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** Turns before the current one: never touched again. */
  readonly turns: readonly Turn[];
  readonly turn: Turn | null;
  readonly callCount: number;
  /** Calls of its sub-agents that ended. */
  readonly childCalls: number;
  readonly limits: readonly Omit<LimitReached, "type">[];
  /** What a person denied in it, sub-agents' calls included: the root run has them all. */
  readonly denials: readonly Denial[];
  readonly stop: { readonly by: Actor; readonly at: number; readonly reason?: string | undefined } | null;
  readonly dueAt?: number | undefined;
  readonly outcome?: RunOutcome | undefined;
  readonly limit?: LimitName | undefined;
  readonly code?: string | undefined;
  readonly text: string;
  readonly usage: Usage;
  readonly agentVersion: string;
  /** Server only, all three: the thread's active time when it began, why a condition ended it, whom it acts for. */
  readonly activeFrom: number;
  readonly reason?: string | undefined;
  readonly user?: Json | undefined;
}

/** A write that was accepted: the same key again gets the same answer. */
export interface KeyRecord {
  readonly key: string;
  readonly userId: string;
  readonly bodyHash: string;
  readonly seq: number;
  readonly runId?: string | undefined;
  /** Of a decision: the call it decided. One record for each. */
  readonly callId?: string | undefined;
}

/** One conversation: what its log adds up to. Plain JSON; written by reduceThread only. */
export interface Thread {
  readonly id: string;
  readonly seq: number;
  /** Time of the last event. */
  readonly at: number;
  readonly createdAt: number;
  readonly owner: string;
  readonly agent: string;
  readonly title: string;
  readonly messages: readonly Message[];
  /** Ended runs, in order of their end. */
  readonly runs: readonly Run[];
  /** Runs that have not ended: the root first, then its children. */
  readonly active: readonly Run[];
  /** Seq of the root's latest turn-started: messages before it were read by the model. */
  readonly consumedSeq: number;
  readonly grants: readonly Grant[];
  /** Transitions that were ignored; a diagnostic, not part of the state's meaning. */
  readonly anomalies: number;
  /** A control event or version this code does not know: read on, never drive. */
  readonly unknown: boolean;
  /** Server only, all below: who drives, since when, and which writes were accepted. */
  readonly epoch: number;
  readonly driverId: string | null;
  readonly activeMs: number;
  readonly activeAt: number;
  readonly keys: readonly KeyRecord[];
}

/** A thread nothing happened in yet. */
export function emptyThread(id: string): Thread {
  return {
    id,
    seq: 0,
    at: 0,
    createdAt: 0,
    owner: "",
    agent: "",
    title: "",
    messages: [],
    runs: [],
    active: [],
    consumedSeq: 0,
    grants: [],
    anomalies: 0,
    unknown: false,
    epoch: 0,
    driverId: null,
    activeMs: 0,
    activeAt: 0,
    keys: [],
  };
}

/** The turns of a run in order, the current one last. */
export function turnsOf(run: Run): readonly Turn[] {
  return run.turn ? [...run.turns, run.turn] : run.turns;
}

/** The run that has not ended and was not started by a call, if there is one. */
export function rootOf(thread: Thread): Run | undefined {
  return thread.active[0];
}

/** True when nothing about the call can change any more. */
export function isSettled(call: Call): boolean {
  return call.status === "succeeded" || call.status === "failed" || call.status === "not-run";
}

/** The open question of a call that nobody has answered yet. */
export function openAsk(call: Call): Ask | null {
  return call.status === "waiting" && call.ask && !call.decision ? call.ask : null;
}
