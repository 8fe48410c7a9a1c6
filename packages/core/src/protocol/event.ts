import type {
  CallInputAdded,
  CallInterrupted,
  CallJudged,
  CallProgressed,
  CallProposed,
  CallReady,
  CallSettled,
  CallStarted,
  DecisionExtended,
  DecisionRecorded,
  DecisionRequested,
} from "./call-event.ts";
import type {
  Actor,
  Json,
  LimitFollows,
  LimitName,
  MessagePart,
  OpaqueBlock,
  ResumeReason,
  RunOutcome,
  TurnVerdict,
  Usage,
  WriteKey,
} from "./values.ts";

/** The version of the event protocol that this code writes and can drive. */
export const PROTOCOL_VERSION = 1;

/** The thread begins; always followed by its first message in the same batch. */
export interface ThreadCreated {
  readonly type: "thread-created";
  readonly owner: string;
  readonly agent: string;
  readonly title: string;
}
export interface ThreadRenamed extends WriteKey {
  readonly type: "thread-renamed";
  readonly title: string;
  readonly by: Actor;
}
export interface MessageAdded extends WriteKey {
  readonly type: "message-added";
  readonly messageId: string;
  readonly parts: readonly MessagePart[];
  readonly by: Actor;
}
/** A run begins. With `driverId` and `epoch` its writer drives it; without, it has no owner yet. */
export interface RunStarted {
  readonly type: "run-started";
  readonly trigger: "message" | "call" | "continue";
  readonly depth: number;
  readonly parentCallId?: string | undefined;
  readonly agentVersion: string;
  /** Whom agent, policy and tools act for; JSON of at most 4 KB. Server only. */
  readonly user?: Json | undefined;
  readonly driverId?: string | undefined;
  readonly continues?: string | undefined;
  /** How many turns this run may take, where the person who continued it said so. */
  readonly turnLimit?: number | undefined;
  /** Who continued an ended run, with the key of that write. Server only. */
  readonly by?: Actor | undefined;
  readonly key?: string | undefined;
  readonly bodyHash?: string | undefined;
}
/** A driver claims the run: nothing is driven without it. */
export interface RunResumed {
  readonly type: "run-resumed";
  readonly driverId: string;
  readonly why: ResumeReason;
}
/** Nothing is left to do until somebody decides. Closes the epoch, releases the lease. */
export interface RunWaiting {
  readonly type: "run-waiting";
  readonly for: readonly string[];
  readonly dueAt?: number | undefined;
}
/** The driver's request ends before the run does. Closes the epoch, releases the lease. */
export interface RunHandedOver {
  readonly type: "run-handed-over";
  readonly why: "budget" | "shutdown";
  readonly dueAt?: number | undefined;
}
export interface StopRequested extends WriteKey {
  readonly type: "stop-requested";
  readonly by: Actor;
  readonly reason?: string | undefined;
}
/** The one end of a run; last of its batch. */
export interface RunEnded {
  readonly type: "run-ended";
  readonly outcome: RunOutcome;
  readonly limit?: LimitName | undefined;
  readonly code?: string | undefined;
  /** What the app's own condition said when it ended the run. Server only. */
  readonly reason?: string | undefined;
  /** The final answer, without the texts of earlier turns. */
  readonly text: string;
  readonly usage: Usage;
}
/** A model call begins. */
export interface TurnStarted {
  readonly type: "turn-started";
  /** 1-based number of the model call in its run. */
  readonly turn: number;
  /** 1-based; a failed attempt's text is dropped. */
  readonly attempt: number;
  readonly model: string;
  readonly toolsOff?: boolean | undefined;
  /** Names of the tools that may be called, where `prepareTurn` hid some. Server only. */
  readonly offered?: readonly string[] | undefined;
  /** Guidance the model reads in this turn; in the log so that a replay is the same. */
  readonly note?: string | undefined;
}
export interface TextAdded {
  readonly type: "text-added";
  readonly turn: number;
  readonly attempt: number;
  readonly kind?: "reasoning" | undefined;
  readonly text: string;
}
export interface PartAdded {
  readonly type: "part-added";
  readonly turn: number;
  readonly attempt: number;
  readonly part:
    | { readonly type: "source"; readonly url: string; readonly title?: string | undefined }
    | { readonly type: "file"; readonly url: string; readonly mediaType: string };
}
/** The model call is whole; in one batch with its calls. */
export interface TurnEnded {
  readonly type: "turn-ended";
  readonly turn: number;
  readonly attempt: number;
  readonly finishReason: string;
  readonly usage?: Usage | undefined;
  /** Server only. */
  readonly opaque?: readonly OpaqueBlock[] | undefined;
}
/** What `stopWhen` and the completion gate made of a whole turn, before anything of it runs. Server only. */
export interface TurnJudged {
  readonly type: "turn-judged";
  readonly turn: number;
  readonly verdict: TurnVerdict;
  readonly reason?: string | undefined;
}
export interface GrantRevoked extends WriteKey {
  readonly type: "grant-revoked";
  readonly grantId: string;
  readonly by: Actor;
}
/** A model or tool attempt failed; not a settlement. */
export interface AttemptFailed {
  readonly type: "attempt-failed";
  /** The tool said that nothing happened: the next try is a new effect, with a new key. */
  readonly definite?: boolean | undefined;
  readonly callId?: string | undefined;
  readonly turn?: number | undefined;
  readonly attempt: number;
  readonly error: { readonly code: string; readonly message: string };
  readonly retryAt?: number | undefined;
  /** What a model attempt used all the same, where its provider said so. */
  readonly usage?: Usage | undefined;
}
export interface LimitReached {
  readonly type: "limit-reached";
  readonly limit: LimitName;
  readonly count: number;
  readonly follows: LimitFollows;
}

/** What can happen in a thread, without its envelope. */
export type EventBody =
  | ThreadCreated
  | ThreadRenamed
  | MessageAdded
  | RunStarted
  | RunResumed
  | RunWaiting
  | RunHandedOver
  | StopRequested
  | RunEnded
  | TurnStarted
  | TextAdded
  | PartAdded
  | TurnEnded
  | TurnJudged
  | CallProposed
  | CallInputAdded
  | CallReady
  | CallJudged
  | DecisionRequested
  | DecisionExtended
  | DecisionRecorded
  | GrantRevoked
  | CallStarted
  | CallProgressed
  | AttemptFailed
  | CallInterrupted
  | CallSettled
  | LimitReached;

export type EventType = EventBody["type"];

/** What every event carries beside its body. */
export interface Envelope {
  /** Place in the thread's log, from 1, without gaps. */
  readonly seq: number;
  /** Milliseconds since the epoch; never before the event before it. */
  readonly at: number;
  readonly v: number;
  /** The run it belongs to; absent on events of the thread itself. */
  readonly runId?: string | undefined;
  /** The driver's ownership number. Server only. */
  readonly epoch?: number | undefined;
}

/** One entry of a thread's log. */
export type ThreadEvent = Envelope & EventBody;

/** An event before the log gives it its place. */
export type EventDraft = Pick<Envelope, "runId" | "epoch"> & EventBody;

const DELTAS: ReadonlySet<string> = new Set(["text-added", "call-proposed", "call-input-added", "call-progressed"]);

/** False for deltas and progress: they do not move the store's `control` position, so a decision never starves behind streaming text. */
export function isControl(event: { readonly type: string }): boolean {
  return !DELTAS.has(event.type);
}
