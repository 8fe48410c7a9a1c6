import type { EventDraft, ThreadEvent } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import type { Call, Run, Thread, Turn } from "../../src/protocol/thread.ts";
import { emptyThread, isSettled, openAsk } from "../../src/protocol/thread.ts";
import type { Json, ResumeReason } from "../../src/protocol/values.ts";

/** One append: the drafts it writes. `driver` ones carry the epoch. */
interface Move {
  readonly drafts: readonly EventDraft[];
  readonly driver: boolean;
}

/** A log that obeys the protocol, the state it adds up to, and where its appends end. */
export interface LegalLog {
  readonly events: readonly ThreadEvent[];
  readonly thread: Thread;
  /** Seq of the last event of each append. */
  readonly heads: readonly number[];
}

const ANA = { id: "ana", name: "Ana" };
const TEXTS = ["Hello", " world", "", "é\u0000\ud800", "👩‍👩‍👧", "a\nb", "__proto__"] as const;
const INPUTS: readonly [Json, ...Json[]] = [
  { order: 1 },
  { order: 2, deep: { list: [1, null, "x"] } },
  [],
  "text",
  null,
  0,
];

/**
 * Walks the protocol: every number picks one of the appends that are legal at that point, so that any list
 * of numbers is a log, and a shorter list a shorter log.
 */
export function legalLog(choices: readonly number[], id = "t"): LegalLog {
  const walker = new Walker(id);
  for (const choice of choices) walker.step(choice);
  return { events: walker.events, thread: walker.thread, heads: walker.heads };
}

class Walker {
  readonly events: ThreadEvent[] = [];
  readonly heads: number[] = [];
  thread: Thread;
  #now = 1_700_000_000_000;
  #ids = 0;
  #choice = 0;

  constructor(id: string) {
    this.thread = emptyThread(id);
  }

  step(choice: number): void {
    this.#choice = choice;
    this.#now += choice % 997;
    const moves = this.#moves();
    const move = moves[choice % moves.length];
    if (!move) return;
    const { drafts, driver } = move();
    for (const draft of drafts) {
      const epoch = driver && draft.epoch === undefined ? this.thread.epoch : draft.epoch;
      const sealed = sealEvent(epoch === undefined ? draft : { ...draft, epoch }, this.thread.seq + 1, this.#now);
      this.events.push(sealed);
      this.thread = reduceThread(this.thread, sealed);
    }
    this.heads.push(this.thread.seq);
  }

  /** A part of the choice that did not pick the move. */
  #pick<Item>(items: readonly [Item, ...Item[]], salt = 1): Item {
    return items[Math.floor(this.#choice / (7 * salt)) % items.length] ?? items[0];
  }

  #id(prefix: string): string {
    return `${prefix}${++this.#ids}`;
  }

  #key(): { readonly key: string; readonly bodyHash: string } {
    return { key: this.#id("key-"), bodyHash: `hash-${this.#choice}` };
  }

  #moves(): (() => Move)[] {
    const { thread } = this;
    if (thread.seq === 0) return [() => this.#create()];
    const moves = [() => this.#rename(), () => this.#message(), () => this.#revoke()];
    const root = thread.active[0];
    if (!root) return [...moves, () => this.#run(true), () => this.#run(true), () => this.#run(false)];
    const asked = thread.active.flatMap((run) =>
      callsOf(run).flatMap((call) => (openAsk(call) ? [{ run, call }] : [])),
    );
    for (const { run, call } of asked)
      moves.push(
        () => this.#decide(run, call),
        () => this.#decide(run, call),
      );
    if (!root.stop) moves.push(() => poster({ type: "stop-requested", runId: root.runId, by: ANA, ...this.#key() }));
    if (thread.driverId === null) {
      const why = this.#pick<ResumeReason>(["decision", "takeover", "hand-over", "continue"]);
      return [...moves, () => this.#resume(root, why), () => this.#resume(root, why)];
    }
    moves.push(() => this.#resume(root, "takeover"));
    if (root.stop) return [...moves, () => this.#end(root, "stopped"), () => this.#end(root, "stopped")];
    const own = thread.active.flatMap((run) => this.#runMoves(run));
    moves.push(...Array.from({ length: 6 }, () => own).flat()); // a log is mostly what drivers write
    if (own.length === 0) {
      const waiting = asked.map(({ call }) => call.callId);
      moves.push(() => driver({ type: "run-waiting", runId: root.runId, for: waiting, dueAt: this.#now + 1000 }));
    }
    moves.push(() => driver({ type: "run-handed-over", runId: root.runId, why: "budget", dueAt: this.#now + 5 }));
    return moves;
  }

  /** What the driver may write next for one run. */
  #runMoves(run: Run): (() => Move)[] {
    const { turn } = run;
    if (!turn) return [() => this.#turn(run, 1, 1)];
    if (turn.status === "open") return this.#modelMoves(run, turn);
    if (turn.status === "failed") {
      return [() => this.#turn(run, turn.turn, turn.attempt + 1), () => this.#end(run, "failed")];
    }
    if (turn.calls.every(isSettled)) {
      return [
        () => this.#turn(run, turn.turn + 1, 1),
        () => this.#end(run, "completed"),
        () => this.#end(run, this.#pick(["limited", "failed"])),
      ];
    }
    return turn.calls.flatMap((call) => this.#callMoves(run, call));
  }

  #modelMoves(run: Run, turn: Turn): (() => Move)[] {
    const at = { runId: run.runId, turn: turn.turn, attempt: turn.attempt };
    const text = this.#pick(TEXTS);
    const moves: (() => Move)[] = [
      () => driver({ type: "text-added", ...at, text }),
      () => driver({ type: "text-added", ...at, text }, { type: "text-added", ...at, text: "!" }),
      () => driver({ type: "text-added", ...at, kind: "reasoning", text }),
      () => driver({ type: "part-added", ...at, part: { type: "source", url: "https://example.com/", title: text } }),
      () => driver({ type: "call-proposed", ...at, callId: this.#id("c"), name: this.#pick(["refund", "find_order"]) }),
      () => this.#turnEnd(run, turn),
      () => this.#turnEnd(run, turn),
      () =>
        driver({ type: "attempt-failed", ...at, error: { code: "model-failed", message: "no" }, retryAt: this.#now }),
      () => this.#turn(run, turn.turn, turn.attempt + 1), // the driver before was cut
    ];
    for (const { callId } of turn.calls) {
      moves.push(() => driver({ type: "call-input-added", runId: run.runId, callId, text: '{"a":' }));
    }
    return moves;
  }

  #callMoves(run: Run, call: Call): (() => Move)[] {
    const { callId, attempt, digest } = call;
    const at = { runId: run.runId, callId };
    const child = this.thread.active.find((other) => other.parentCallId === callId);
    if (call.status === "queued" && !call.verdict && !call.decision) return [() => this.#judge(run, call)];
    const start: EventDraft = {
      type: "call-started",
      ...at,
      attempt: attempt + 1,
      digest,
      key: `${callId}.${call.failures}`,
    };
    if (call.status === "queued") return [() => driver(start)];
    if (call.status === "waiting" && call.ask?.kind === "interrupted" && !call.decision) {
      return [() => driver({ type: "call-settled", ...at, attempt, outcome: "succeeded", output: "late", late: true })];
    }
    if (call.status !== "running" || child) return [];
    if (call.retryAt !== undefined) return [() => driver(start)];
    const error = { code: "tool-error", message: "It broke." } as const;
    const moves: (() => Move)[] = [
      () => driver({ type: "call-progressed", ...at, attempt, value: this.#choice % 10, max: 10, label: "Working" }),
      () => driver({ type: "call-progressed", ...at, attempt, log: ["line"], partial: this.#pick(INPUTS) }),
      () =>
        driver({
          type: "call-settled",
          ...at,
          attempt,
          outcome: "succeeded",
          output: this.#pick(INPUTS),
          toModel: "short",
        }),
      () => driver({ type: "call-settled", ...at, attempt, outcome: "failed", error, effect: "unknown" }),
      () => driver({ type: "attempt-failed", ...at, attempt, error, retryAt: this.#now + 10 }),
      () => driver({ type: "call-interrupted", ...at, attempt }),
      () => driver({ type: "decision-requested", ...at, kind: "question", digest, prompt: "Which one?", schema: {} }),
    ];
    if (run.depth < 3) moves.push(() => this.#child(run, call));
    return moves;
  }

  #create(): Move {
    const { drafts } = this.#run(this.#choice % 2 === 0);
    return poster({ type: "thread-created", owner: "ana", agent: "support", title: "Refund" }, ...drafts);
  }

  #rename(): Move {
    return poster({ type: "thread-renamed", title: this.#pick(TEXTS), by: ANA, ...this.#key() });
  }

  #message(): Move {
    const part = { type: "text", text: this.#pick(TEXTS) } as const;
    const file = { type: "file", url: "https://example.com/a.png", mediaType: "image/png" } as const;
    const parts = this.#choice % 3 ? [part] : [part, file];
    const runId = this.thread.active[0]?.runId;
    return poster({ type: "message-added", runId, messageId: this.#id("m"), parts, by: ANA, ...this.#key() });
  }

  #revoke(): Move {
    const grantId = this.thread.grants[0]?.grantId;
    return grantId === undefined
      ? this.#message()
      : poster({ type: "grant-revoked", grantId, by: ANA, ...this.#key() });
  }

  #run(owned: boolean): Move {
    const started = this.#runStarted(owned ? { epoch: this.thread.epoch + 1, driverId: this.#id("d") } : {});
    const { drafts } = this.#message();
    return { drafts: [...drafts.map((draft) => ({ ...draft, runId: started.runId })), started], driver: false };
  }

  #runStarted(owner: Pick<EventDraft, "epoch"> & { driverId?: string }): EventDraft {
    return {
      type: "run-started",
      runId: this.#id("r"),
      trigger: "message",
      depth: 0,
      agentVersion: "1",
      user: ANA,
      ...owner,
    };
  }

  #child(run: Run, call: Call): Move {
    return driver({
      ...{ type: "run-started", runId: this.#id("r"), trigger: "call", depth: run.depth + 1 },
      ...{ parentCallId: call.callId, agentVersion: "1", user: ANA },
    });
  }

  #resume(root: Run, why: ResumeReason): Move {
    const epoch = this.thread.epoch + 1;
    return poster({ type: "run-resumed", runId: root.runId, epoch, driverId: this.#id("d"), why });
  }

  #turn(run: Run, turn: number, attempt: number): Move {
    const last = turn > 2;
    const started: EventDraft = { type: "turn-started", runId: run.runId, turn, attempt, model: "m" };
    if (!last || attempt > 1) return driver(started);
    return driver(
      { type: "limit-reached", runId: run.runId, limit: "turns", count: turn, follows: "answer" },
      { ...started, toolsOff: true, note: "Answer now." },
    );
  }

  #turnEnd(run: Run, turn: Turn): Move {
    const { runId } = run;
    const extra = Array.from({ length: this.#choice % 3 }, () => ({ callId: this.#id("c"), tool: "find_order" }));
    const usage = { inputTokens: this.#choice % 100, outputTokens: 3 };
    const opaque = [{ origin: "p", data: { signature: "secret" } }];
    const ready = [...turn.calls, ...extra].map(({ callId, tool }, index): EventDraft => {
      const shown =
        index % 2 ? { title: "Find", summary: "Order 1", destructive: true } : { inputText: '{"order": 1}' };
      const secret = { toolHash: "hash", salt: `salt-${callId}`, providerId: "p", opaque };
      const input = this.#pick(INPUTS, index + 1);
      return {
        type: "call-ready",
        runId,
        callId,
        turn: turn.turn,
        tool,
        input,
        digest: `${callId}-1`,
        ...shown,
        ...secret,
      };
    });
    const error = {
      code: "invalid-input",
      message: "order: is required",
      issues: [{ path: ["order"], message: "x" }],
    } as const;
    const refused = ready.flatMap((draft, index): EventDraft[] =>
      index % 3 === 2 && draft.type === "call-ready"
        ? [{ type: "call-settled", runId, callId: draft.callId, outcome: "failed", error, effect: "none" }]
        : [],
    );
    const ended = { type: "turn-ended", runId, turn: turn.turn, attempt: turn.attempt, finishReason: "stop" } as const;
    const verdict = this.#pick(["pass", "again", "stop", "failed"] as const, 5);
    const judged: EventDraft = { type: "turn-judged", runId, turn: turn.turn, verdict, reason: "secret" };
    return driver({ ...ended, usage, opaque }, ...ready, ...refused, ...(this.#choice % 4 === 0 ? [judged] : []));
  }

  #judge(run: Run, { callId, digest }: Call): Move {
    const at = { runId: run.runId, callId };
    const ask: EventDraft = {
      ...{ type: "decision-requested", ...at, kind: "approval", digest, scopes: ["once", "run"], editable: true },
      ...{
        grant: { label: "Refunds", uses: 2, forMs: 500 },
        grantKey: "1",
        expiresAt: this.#now + 1000,
        extendMs: 1000,
      },
    };
    return this.#pick([
      driver({ type: "call-judged", ...at, verdict: "allow", by: "policy", digest }),
      driver({ type: "call-judged", ...at, verdict: "allow", by: "grant", digest, grantId: "g" }),
      driver({ type: "call-judged", ...at, verdict: "ask", by: "default", digest, reason: "why" }, ask),
      driver({ type: "call-judged", ...at, verdict: "ask", by: "tool", digest }, ask),
      driver(
        { type: "call-judged", ...at, verdict: "deny", by: "policy", digest, reason: "no" },
        { type: "call-settled", ...at, outcome: "not-run", reason: "blocked", effect: "none" },
      ),
      driver({
        type: "call-judged",
        ...at,
        verdict: "modify",
        by: "policy",
        digest: `${digest}m`,
        input: { order: 3 },
      }),
    ]);
  }

  #decide(run: Run, call: Call): Move {
    const { callId, ask } = call;
    const digest = ask?.digest ?? call.digest;
    const at = { runId: run.runId, callId };
    const recorded = { type: "decision-recorded", ...at, by: ANA, via: "browser", digest, ...this.#key() } as const;
    const expired = {
      type: "decision-recorded",
      ...at,
      via: "clock",
      digest,
      action: "expire",
      key: "",
      bodyHash: "",
    } as const;
    const settled = { type: "call-settled", ...at, outcome: "not-run" } as const;
    if (ask?.expiresAt !== undefined && this.#choice % 5 === 0) {
      const { by, via } = recorded;
      const expiresAt = ask.expiresAt + 1;
      return poster({ type: "decision-extended", ...at, digest, by, via, expiresAt, ...this.#key() });
    }
    const move =
      ask?.kind === "interrupted"
        ? this.#pick([
            poster({ ...recorded, action: "retry" }),
            poster({ ...recorded, action: "skip" }, { ...settled, reason: "skipped", effect: "unknown" }),
            poster(
              { ...recorded, action: "answer", value: "done" },
              { ...settled, outcome: "succeeded", output: "done" },
            ),
          ])
        : ask?.kind === "question"
          ? this.#pick([
              poster({ ...recorded, action: "answer", value: { order: 2 } }),
              poster({ ...recorded, action: "deny", reason: "no idea" }, { ...settled, reason: "denied" }),
              poster(expired, { ...settled, reason: "expired" }),
            ])
          : this.#pick([
              poster({ ...recorded, action: "approve" }),
              poster({ ...recorded, action: "approve", scope: this.#pick(["once", "run", "thread"], 3) }),
              poster({ ...recorded, action: "approve", input: { order: 9 }, newDigest: `${digest}e`, scope: "thread" }),
              poster(
                { ...recorded, action: "deny", reason: "too much" },
                { ...settled, reason: "denied", effect: "none" },
              ),
              poster({ ...recorded, action: "deny", stop: true }, { ...settled, reason: "denied", effect: "none" }),
              poster(expired, { ...settled, reason: "expired", effect: "none" }),
            ]);
    if (this.thread.driverId !== null || this.#choice % 2 === 0) return move;
    const root = this.thread.active[0] ?? run;
    return { drafts: [...move.drafts, ...this.#resume(root, "decision").drafts], driver: false };
  }

  /** One batch: open calls settled leaf first, `run-ended` last; a root takes its children with it. */
  #end(run: Run, outcome: "completed" | "limited" | "stopped" | "failed"): Move {
    const ending = run.depth === 0 ? this.thread.active.toReversed() : this.#family(run).toReversed();
    const drafts = ending.flatMap(({ runId, usage, turn }): EventDraft[] => {
      const open = turn?.status === "ended" ? turn.calls.filter((call) => !isSettled(call)) : [];
      const settled = open.map(
        ({ callId }): EventDraft => ({ type: "call-settled", runId, callId, outcome: "not-run", reason: "stopped" }),
      );
      const limit = outcome === "limited" ? { limit: "turns" as const } : {};
      const code = outcome === "failed" ? { code: "model-failed" } : {};
      return [...settled, { type: "run-ended", runId, outcome, text: this.#pick(TEXTS), usage, ...limit, ...code }];
    });
    if (run.depth > 0 || outcome === "stopped" || this.#choice % 2) return driver(...drafts);
    return driver(...drafts, this.#runStarted({ epoch: this.thread.epoch, driverId: this.thread.driverId ?? "d" }));
  }

  #family(run: Run): readonly Run[] {
    const family = [run];
    for (const other of this.thread.active) {
      if (family.some((member) => callsOf(member).some(({ callId }) => callId === other.parentCallId)))
        family.push(other);
    }
    return family;
  }
}

function driver(...drafts: readonly EventDraft[]): Move {
  return { drafts, driver: true };
}

function poster(...drafts: readonly EventDraft[]): Move {
  return { drafts, driver: false };
}

function callsOf(run: Run): readonly Call[] {
  return run.turn?.calls ?? [];
}
