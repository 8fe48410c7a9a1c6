import type { EventBody } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import { emptyThread, type Run, rootOf, type Thread } from "../../src/protocol/thread.ts";
import type { Json, NotRunReason, RunOutcome, StepError } from "../../src/protocol/values.ts";

/** What becomes of a call. */
export type Outcome =
  | {
      readonly type: "succeeded";
      readonly output?: Json;
      readonly toModel?: Json;
      readonly edited?: Json;
      readonly modified?: Json;
    }
  | {
      readonly type: "failed";
      readonly error?: StepError;
      readonly effect?: "unknown";
      readonly edited?: Json;
      /** Settled before it could start. */
      readonly unstarted?: true;
    }
  | { readonly type: "not-run"; readonly reason: NotRunReason; readonly words?: string; readonly effect?: "unknown" };

export interface CallPlan {
  readonly tool: string;
  readonly input?: Json;
  readonly inputText?: string;
  readonly providerId?: string;
  readonly outcome: Outcome;
}

/** Builds threads by folding events, as a driver writes them: nothing here makes a Thread by hand. */
export class ThreadBuilder {
  thread: Thread = emptyThread("t");
  #runs = 0;
  #calls = 0;
  #runId = "";
  #turn = 0;
  #attempt = 0;

  add(body: EventBody, runId: string | undefined = this.#runId || undefined): this {
    const before = this.thread;
    this.thread = reduceThread(before, sealEvent({ runId, ...body }, before.seq + 1, 1000 + before.seq));
    if (this.thread.anomalies > before.anomalies) throw new Error(`not legal here: ${JSON.stringify(body)}`);
    return this;
  }

  message(text: string): this {
    const messageId = `m${this.thread.seq}`;
    const parts = [{ type: "text", text }] as const;
    return this.add(
      { type: "message-added", messageId, parts, by: { id: "u" }, key: messageId, bodyHash: "h" },
      undefined,
    );
  }

  run(trigger: "message" | "continue" = "message"): this {
    this.#runId = `r${++this.#runs}`;
    this.#turn = 0;
    return this.add({ type: "run-started", trigger, depth: 0, agentVersion: "1" });
  }

  turn(note?: string): this {
    this.#attempt = 1;
    return this.add({ type: "turn-started", turn: ++this.#turn, attempt: 1, model: "m", note });
  }

  retry(): this {
    const { turn, attempt } = { turn: this.#turn, attempt: this.#attempt };
    this.add({ type: "attempt-failed", turn, attempt, error: { code: "model-failed", message: "x" } });
    return this.add({ type: "turn-started", turn, attempt: ++this.#attempt, model: "m" });
  }

  text(text: string, kind?: "reasoning"): this {
    return this.add({ type: "text-added", turn: this.#turn, attempt: this.#attempt, text, kind });
  }

  /** A call of which only the beginning was written. */
  half(name: string): this {
    const callId = `half${++this.#calls}`;
    this.add({ type: "call-proposed", callId, turn: this.#turn, attempt: this.#attempt, name });
    return this.add({ type: "call-input-added", callId, text: '{"a' });
  }

  /** Ends the turn with these calls, then settles them, the last one first. */
  end(...plans: readonly CallPlan[]): this {
    this.add({ type: "turn-ended", turn: this.#turn, attempt: this.#attempt, finishReason: "stop" });
    const ready = plans.map((plan) => this.#ready(plan));
    for (const { callId, plan } of ready.toReversed()) this.#settle(callId, plan);
    return this;
  }

  finish(outcome: RunOutcome = "completed"): this {
    return this.add({ type: "run-ended", outcome, text: "", usage: {} });
  }

  get root(): Run {
    const run = rootOf(this.thread);
    if (!run) throw new Error("no run is active");
    return run;
  }

  #ready(plan: CallPlan): { callId: string; plan: CallPlan } {
    const callId = `c${++this.#calls}`;
    const { tool, input = {}, inputText, providerId } = plan;
    const hashes = { toolHash: "h", salt: "s", digest: "d" };
    this.add({ type: "call-ready", callId, turn: this.#turn, tool, input, inputText, providerId, ...hashes });
    return { callId, plan };
  }

  #settle(callId: string, { outcome }: CallPlan): void {
    const digest = "d";
    if (outcome.type === "succeeded" && outcome.modified !== undefined) {
      this.add({ type: "call-judged", callId, verdict: "modify", by: "policy", digest, input: outcome.modified });
    }
    if (outcome.type === "not-run") {
      const { reason, words, effect } = outcome;
      if (reason === "blocked")
        this.add({ type: "call-judged", callId, verdict: "deny", by: "policy", digest, reason: words });
      else if (reason === "denied") this.#decide(callId, { action: "deny", reason: words });
      this.add({ type: "call-settled", callId, outcome: "not-run", reason, effect });
      return;
    }
    if (outcome.edited !== undefined) this.#decide(callId, { action: "approve", input: outcome.edited });
    const started = !("unstarted" in outcome);
    if (started) this.add({ type: "call-started", callId, attempt: 1, digest, key: "k" });
    const { type, ...rest } = outcome;
    const { output, toModel, error, effect } = {
      output: undefined,
      toModel: undefined,
      error: undefined,
      effect: undefined,
      ...rest,
    };
    this.add({
      type: "call-settled",
      callId,
      attempt: started ? 1 : undefined,
      outcome: type,
      output,
      toModel,
      error,
      effect,
    });
  }

  #decide(callId: string, decision: { action: "approve" | "deny"; input?: Json; reason?: string | undefined }): void {
    const digest = "d";
    this.add({ type: "decision-requested", callId, kind: "approval", digest });
    const key = `k${callId}`;
    this.add({
      type: "decision-recorded",
      callId,
      via: "browser",
      by: { id: "u" },
      digest,
      key,
      bodyHash: "h",
      ...decision,
    });
  }
}
