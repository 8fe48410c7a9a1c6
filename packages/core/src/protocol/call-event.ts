import type {
  Actor,
  AskKind,
  DecisionAction,
  DecisionScope,
  EarlierDenial,
  GrantTerms,
  Json,
  NotRunReason,
  OpaqueBlock,
  StepError,
  VerdictBy,
  VerdictName,
  WriteKey,
} from "./values.ts";

/** The model began to write a call. Superseded by `call-ready`. */
export interface CallProposed {
  readonly type: "call-proposed";
  readonly callId: string;
  readonly turn: number;
  readonly attempt: number;
  readonly name: string;
}
export interface CallInputAdded {
  readonly type: "call-input-added";
  readonly callId: string;
  readonly text: string;
}
/** A whole call of a whole turn: its input is validated and fixed. */
export interface CallReady {
  readonly type: "call-ready";
  readonly callId: string;
  readonly turn: number;
  readonly tool: string;
  readonly title?: string | undefined;
  readonly summary?: string | undefined;
  /** The validated input, schema defaults included: what is shown, digested and run. */
  readonly input: Json;
  /** The model's own text, kept only where it differs from canonical(input). Server only. */
  readonly inputText?: string | undefined;
  /** The provider's id of the call: a hint for the next request. Server only. */
  readonly providerId?: string | undefined;
  readonly opaque?: readonly OpaqueBlock[] | undefined;
  /** Hash of name, input schema and readOnly/destructive. Server only. */
  readonly toolHash: string;
  /** Random, so that the digest of a guessable input cannot be guessed. Server only. */
  readonly salt: string;
  readonly digest: string;
  readonly destructive?: boolean | undefined;
}
export interface CallJudged {
  readonly type: "call-judged";
  readonly callId: string;
  readonly verdict: VerdictName;
  readonly by: VerdictBy;
  readonly digest: string;
  readonly input?: Json | undefined;
  readonly reason?: string | undefined;
  readonly grantId?: string | undefined;
}
/** In the log before anybody can see the question. */
export interface DecisionRequested {
  readonly type: "decision-requested";
  readonly callId: string;
  readonly kind: Exclude<AskKind, "interrupted">;
  readonly digest: string;
  readonly prompt?: string | undefined;
  readonly schema?: Json | undefined;
  readonly url?: string | undefined;
  readonly editable?: boolean | readonly string[] | undefined;
  readonly scopes?: readonly DecisionScope[] | undefined;
  readonly grant?: GrantTerms | undefined;
  /** Calls with the same key are covered by one grant; without, those with the same input. Server only. */
  readonly grantKey?: string | undefined;
  readonly reason?: string | undefined;
  readonly denied?: EarlierDenial | undefined;
  readonly expiresAt?: number | undefined;
  /** How much time "keep waiting" gives, in ms. Without it the time cannot be extended. */
  readonly extendMs?: number | undefined;
}
/** Somebody gave the question more time. */
export interface DecisionExtended extends WriteKey {
  readonly type: "decision-extended";
  readonly callId: string;
  readonly digest: string;
  readonly expiresAt: number;
  readonly by: Actor;
  readonly via: "browser" | "code";
}
/** The first valid decision wins; approved or denied with scope run or thread it is a grant. */
export interface DecisionRecorded extends WriteKey {
  readonly type: "decision-recorded";
  readonly callId: string;
  readonly action: DecisionAction | "expire";
  readonly by?: Actor | undefined;
  readonly via: "browser" | "code" | "clock";
  readonly digest: string;
  readonly input?: Json | undefined;
  readonly newDigest?: string | undefined;
  readonly value?: Json | undefined;
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
  readonly scope?: DecisionScope | undefined;
  /** Of an approval that changed the input: what a grant of it is worth. Else that of the question counts. */
  readonly grant?: GrantTerms | undefined;
  /** Server only. */
  readonly grantKey?: string | undefined;
  /** A decision about another step, just made, covers this one too. */
  readonly grantId?: string | undefined;
  /** Denied and the run is to end. */
  readonly stop?: boolean | undefined;
}
/** The tool starts; the digest equals the last approved one, so promise 1 is checkable on the log. */
export interface CallStarted {
  readonly type: "call-started";
  readonly callId: string;
  readonly attempt: number;
  readonly digest: string;
  /** callId.n, where n grows only after a recorded definite failure. Server only. */
  readonly key: string;
}
export interface CallProgressed {
  readonly type: "call-progressed";
  readonly callId: string;
  readonly attempt: number;
  readonly value?: number | undefined;
  readonly max?: number | undefined;
  readonly label?: string | undefined;
  readonly log?: readonly string[] | undefined;
  readonly partial?: Json | undefined;
}
/** The driver died while the tool ran; a person may retry, skip or give the result. */
export interface CallInterrupted {
  readonly type: "call-interrupted";
  readonly callId: string;
  readonly attempt: number;
}
/** The settlement of a call: the first wins. */
export interface CallSettled {
  readonly type: "call-settled";
  readonly callId: string;
  readonly attempt?: number | undefined;
  readonly outcome: "succeeded" | "failed" | "not-run";
  readonly output?: Json | undefined;
  /** What the model reads instead of `output`. Server only. */
  readonly toModel?: Json | undefined;
  readonly error?: StepError | undefined;
  readonly reason?: NotRunReason | undefined;
  /** `unknown`: the tool may have had an effect. */
  readonly effect?: "unknown" | "none" | undefined;
  readonly late?: boolean | undefined;
}
