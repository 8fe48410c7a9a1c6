import type { EventDraft, ThreadEvent } from "../../src/protocol/event.ts";
import { findCall } from "../../src/protocol/read-thread.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import type { Call, Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { Json } from "../../src/protocol/values.ts";

export const ANA = { id: "ana", name: "Ana" };

/** A log written by hand, one append at a time; a second passes between two. */
export class LogBuilder {
  readonly events: ThreadEvent[] = [];
  thread: Thread;
  #keys = 0;

  constructor(thread: Thread = emptyThread("t")) {
    this.thread = thread;
  }

  /** Appends drafts as they are. */
  add(...drafts: readonly EventDraft[]): this {
    const now = this.thread.at === 0 ? 1_700_000_000_000 : this.thread.at + 1000;
    for (const draft of drafts) {
      const event = sealEvent(draft, this.thread.seq + 1, now);
      this.events.push(event);
      this.thread = reduceThread(this.thread, event);
    }
    return this;
  }

  /** Appends drafts of the run `r1` under the epoch that is open. */
  drive(...drafts: readonly EventDraft[]): this {
    const { epoch } = this.thread;
    return this.add(...drafts.map((draft) => ({ runId: "r1", epoch, ...draft })));
  }

  key(): { readonly key: string; readonly bodyHash: string } {
    return { key: `k${++this.#keys}`, bodyHash: "h" };
  }

  message(text: string, runId?: string): EventDraft {
    const messageId = `m${this.#keys + 1}`;
    const parts = [{ type: "text", text }] as const;
    return { type: "message-added", ...(runId ? { runId } : {}), messageId, parts, by: ANA, ...this.key() };
  }

  /** The thread, its first message, and a run that somebody drives. */
  begin(text: string = "Refund order 1042"): this {
    return this.add(
      { type: "thread-created", owner: "ana", agent: "support", title: text },
      this.message(text, "r1"),
      this.run("r1"),
    );
  }

  run(runId: string, epoch: number = this.thread.epoch + 1): EventDraft {
    return {
      ...{ type: "run-started", runId, trigger: "message", depth: 0, agentVersion: "1", user: { id: "ana" } },
      ...{ driverId: `d${epoch}`, epoch },
    };
  }

  /** A whole turn: its text, then its calls, ready and not judged. */
  turn(turn: number, text: string, calls: Readonly<Record<string, Json>> = {}): this {
    this.drive({ type: "turn-started", turn, attempt: 1, model: "scripted" });
    if (text) this.drive({ type: "text-added", turn, attempt: 1, text });
    for (const callId of Object.keys(calls)) {
      this.drive({ type: "call-proposed", callId, turn, attempt: 1, name: toolOf(callId) });
    }
    return this.drive(
      { type: "turn-ended", turn, attempt: 1, finishReason: "stop", usage: { inputTokens: 10, outputTokens: 5 } },
      ...Object.entries(calls).map(([callId, input]) => ready(callId, turn, input)),
    );
  }

  allow(callId: string): this {
    return this.drive({
      type: "call-judged",
      callId,
      verdict: "allow",
      by: "default",
      digest: this.call(callId).digest,
    });
  }

  ask(callId: string): this {
    const { digest } = this.call(callId);
    return this.drive(
      { type: "call-judged", callId, verdict: "ask", by: "default", digest },
      { type: "decision-requested", callId, kind: "approval", digest, editable: true, scopes: ["once", "run"] },
    );
  }

  wait(...callIds: readonly string[]): this {
    return this.drive({ type: "run-waiting", for: callIds });
  }

  /** A decision, and the claim of whoever drives on. */
  decide(callId: string, decision: Partial<EventDraft & { type: "decision-recorded" }>, ...rest: EventDraft[]): this {
    const call = this.call(callId);
    const digest = call.ask?.digest ?? call.digest;
    const recorded: EventDraft = {
      ...{ type: "decision-recorded", runId: "r1", callId, action: "approve", by: ANA, via: "browser", digest },
      ...this.key(),
      ...decision,
    };
    return this.add(recorded, ...rest.map((draft) => ({ runId: "r1", ...draft })), ...this.claim("decision"));
  }

  claim(why: "decision" | "takeover"): readonly EventDraft[] {
    if (this.thread.driverId !== null && why === "decision") return [];
    const epoch = this.thread.epoch + 1;
    return [{ type: "run-resumed", runId: "r1", epoch, driverId: `d${epoch}`, why }];
  }

  start(callId: string): this {
    const { attempt, digest, failures } = this.call(callId);
    return this.drive({ type: "call-started", callId, attempt: attempt + 1, digest, key: `${callId}.${failures}` });
  }

  succeed(callId: string, output: Json): this {
    const { attempt } = this.call(callId);
    return this.drive({ type: "call-settled", callId, attempt, outcome: "succeeded", output });
  }

  end(outcome: "completed" | "limited" | "stopped" | "failed", text = ""): this {
    const usage = this.thread.active[0]?.usage ?? {};
    const limit = outcome === "limited" ? ({ limit: "turns" } as const) : {};
    return this.drive({ type: "run-ended", outcome, text, usage, ...limit });
  }

  call(callId: string): Call {
    const found = findCall(this.thread, callId);
    if (!found) throw new Error(`No call ${callId} in this log.`);
    return found.call;
  }
}

/** A call that is whole, with everything that must stay on the server. */
export function ready(callId: string, turn: number, input: Json): EventDraft {
  const shown = { tool: toolOf(callId), title: `Run ${toolOf(callId)}`, input, digest: `digest-${callId}` };
  const secret = { toolHash: "tool-hash", salt: `salt-${callId}`, providerId: `provider-${callId}` };
  return { type: "call-ready", callId, turn, ...shown, ...secret };
}

/** `refund-1` is a call of the tool `refund`. */
function toolOf(callId: string): string {
  return callId.replace(/-\d+$/, "");
}
