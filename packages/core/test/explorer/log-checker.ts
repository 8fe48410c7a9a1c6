import type { ThreadEvent } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread, openAsk } from "../../src/protocol/thread.ts";
import { createGrantChecker } from "./grant-checker.ts";
import { FORBIDDEN } from "./scenario.ts";
import type { Invariant, Violation } from "./violation.ts";

/** What a call's events add up to, read without the reducer. */
interface CallFacts {
  readonly runId: string;
  readonly readyDigest: string;
  digest: string;
  /** Digest of the open question. */
  asked: string;
  input: string;
  key: string;
  attempts: number;
  failures: number;
  settled: boolean;
  interrupted: boolean;
  refused: boolean;
  decisions: number;
  mayStart: boolean;
  lastEpoch: number;
  /** Why it may start at all: a verdict or a decision. Nothing, while it has neither. */
  allowedBy: "rule" | "person" | "grant" | undefined;
  grantId: string | undefined;
  /** When its open question runs out. */
  expiresAt: number;
}

/** Only these are written without an epoch: by posters, and late results. */
const POSTED = new Set([
  "thread-created",
  "message-added",
  "run-started",
  "stop-requested",
  "run-ended",
  "decision-recorded",
  "call-settled",
  "decision-extended",
  "grant-revoked",
]);

/** Reads a log event by event and says which rule an event breaks. Knows nothing of who wrote it. */
export interface LogChecker {
  readonly thread: Thread;
  readonly events: readonly ThreadEvent[];
  readonly calls: ReadonlyMap<string, CallFacts>;
  /** What the calls' approved inputs are, as JSON. */
  add(event: ThreadEvent, batch: string): void;
  /** True when a call of one run is at work for another: its own, or one that asked for it. */
  isBelow(runId: string, other: string | undefined): boolean;
  /** All events of an append were added. */
  endOfBatch(): void;
}

export function createLogChecker(
  id: string,
  idempotent: ReadonlySet<string>,
  /** Every clock of the world tells the same time. */
  exactClocks: boolean,
  report: (violation: Violation) => void,
): LogChecker {
  const events: ThreadEvent[] = [];
  const calls = new Map<string, CallFacts>();
  const tools = new Map<string, string>();
  const ended = new Set<string>();
  const stopped = new Set<string>();
  const retryKeys = new Set<string>();
  const grants = createGrantChecker((event, message) => fail("I9", event, message));
  /** The append in which each post of decisions is. */
  const posts = new Map<string, string>();
  /** Runs of sub-agents, and the runs that asked for them. */
  const parents = new Map<string, string>();
  let thread = emptyThread(id);
  let epoch = 0;
  let owned = false;

  const fail = (invariant: Invariant, event: ThreadEvent, message: string): void =>
    report({ invariant, message: `${message} (event ${event.seq} ${event.type})` });

  const ownership = (event: ThreadEvent): void => {
    const opens = event.type === "run-resumed" || (event.type === "run-started" && event.driverId !== undefined);
    if (event.epoch !== undefined) {
      const before = events.at(-2);
      const next = event.type === "run-started" && before?.type === "run-ended" && before.epoch === event.epoch;
      if (opens && !(owned && event.epoch === epoch)) {
        // Who ends a run with an unread message behind it starts the next one in the same batch.
        if (event.epoch <= epoch && !next) fail("I8", event, `epoch ${event.epoch} opens after epoch ${epoch}`);
        if (owned && event.type === "run-started") fail("I8", event, "a run starts while another driver is there");
      } else if (event.epoch !== epoch || !owned) {
        fail(
          "I8",
          event,
          `written for epoch ${event.epoch}; the log is at ${epoch}${owned ? "" : ", owned by nobody"}`,
        );
      }
    } else if (!POSTED.has(event.type)) fail("I8", event, "only drivers write this, and it has no epoch");
    else if (event.type === "run-ended" && owned) fail("I8", event, "a run ends beside its driver");
    if (opens && event.epoch !== undefined) {
      epoch = Math.max(epoch, event.epoch);
      owned = true;
    }
    const closes = event.type === "run-waiting" || event.type === "run-handed-over" || event.type === "run-ended";
    if (closes && !parents.has(event.runId ?? "")) owned = false;
  };

  const isStopped = (runId: string): boolean => {
    const parent = parents.get(runId);
    return stopped.has(runId) || (parent !== undefined && isStopped(parent));
  };

  const isBelow = (runId: string, other: string | undefined): boolean => {
    const parent = parents.get(runId);
    return runId === other || (parent !== undefined && isBelow(parent, other));
  };

  const started = (event: ThreadEvent & { type: "call-started" }, call: CallFacts): void => {
    if (event.attempt !== call.attempts + 1) fail("I1", event, `attempt ${event.attempt} after ${call.attempts}`);
    if (call.refused || call.settled || isStopped(call.runId) || ended.has(call.runId)) {
      fail("I2", event, "a call starts after its refusal");
    }
    if (event.digest !== call.digest) fail("I2", event, "its digest is not the approved one");
    if (call.allowedBy === undefined) fail("I2", event, "a call starts that nobody allowed");
    if (call.allowedBy === "grant" && !grants.isLive(call.grantId)) {
      fail("I9", event, "a call starts although what allowed it was taken back");
    }
    if (event.key !== `${event.callId}.${call.failures}`) {
      fail("I3", event, `its key is ${event.key} after ${call.failures} definite failures`);
    }
    const again = call.attempts > 0 && call.failures < call.attempts;
    if (again && !call.mayStart && !idempotent.has(tools.get(event.callId) ?? "")) {
      fail("I3", event, "a call that is not idempotent starts again and nobody said retry");
    }
    call.attempts = event.attempt;
    call.mayStart = false;
    call.interrupted = false;
    call.key = event.key;
    call.lastEpoch = epoch;
  };

  const decided = (event: ThreadEvent & { type: "decision-recorded" }, call: CallFacts): void => {
    call.decisions++;
    if (event.action === "retry") {
      const once = `${event.by?.id} ${event.key}`;
      if (retryKeys.has(once)) fail("I6", event, "one POST counts as two decisions to retry");
      retryKeys.add(once);
    } else if (call.decisions > 1 && !call.interrupted) fail("I6", event, "a second decision of one question");
    // An interruption is a question of its own, about the same digest at that attempt.
    const asked = call.interrupted ? `${call.digest}.${call.attempts}` : call.asked;
    if (event.digest !== asked) fail("I2", event, "a decision about another step than shown");
    call.interrupted = false;
    if (event.action === "expire") {
      if (exactClocks && event.at < call.expiresAt) fail("I6", event, "a question runs out before its time");
    } else if (exactClocks && event.at >= call.expiresAt) fail("I6", event, "a decision counts after its time");
    call.expiresAt = Number.POSITIVE_INFINITY;
    if (["approve", "answer", "retry"].includes(event.action)) {
      call.allowedBy = event.grantId === undefined ? "person" : "grant";
      call.grantId = event.grantId;
    }
    if (["approve", "retry", "answer"].includes(event.action)) call.mayStart = true;
    if (event.action === "deny" || event.action === "expire" || event.action === "skip") call.refused = true;
    if (event.newDigest !== undefined) call.digest = event.newDigest;
    if (event.input !== undefined) call.input = JSON.stringify(event.input);
    if (event.input !== undefined && event.newDigest === undefined) fail("I2", event, "an edit without its own digest");
    if (call.input === JSON.stringify(FORBIDDEN)) fail("I2", event, "an edit into what the tool's rule denies");
    grants.decided(event, { tool: tools.get(event.callId) ?? "", input: call.input });
  };

  const onCall = (event: ThreadEvent): void => {
    if (event.type === "call-ready") {
      const { runId = "", digest, input } = event;
      if (calls.has(event.callId)) fail("I1", event, "a call is ready twice");
      tools.set(event.callId, event.tool);
      calls.set(event.callId, {
        ...{
          runId,
          digest,
          asked: digest,
          readyDigest: digest,
          input: JSON.stringify(input),
          key: "",
          attempts: 0,
          failures: 0,
        },
        ...{ settled: false, interrupted: false, refused: false, decisions: 0, mayStart: false, lastEpoch: 0 },
        ...{ allowedBy: undefined, grantId: undefined, expiresAt: Number.POSITIVE_INFINITY },
      });
    }
    const call = "callId" in event && event.callId !== undefined ? calls.get(event.callId) : undefined;
    if (!call) return;
    if (event.type === "call-judged") {
      // What let it through was taken back: the question is open again.
      if (call.grantId !== undefined && !grants.isLive(call.grantId)) call.decisions = 0;
      call.allowedBy = event.verdict === "deny" || event.verdict === "ask" ? undefined : "rule";
      if (event.by === "grant" && event.verdict !== "deny") call.allowedBy = "grant";
      call.grantId = event.grantId;
      grants.used(event, event.grantId, { tool: tools.get(event.callId) ?? "", input: call.input });
    }
    if (event.type === "decision-extended") {
      if (call.decisions > 0 || call.refused) fail("I6", event, "more time for a question that is over");
      if (exactClocks && event.at >= call.expiresAt) fail("I6", event, "more time for a question after its end");
      if (event.expiresAt <= call.expiresAt && Number.isFinite(call.expiresAt))
        fail("I6", event, "less time, not more");
      call.expiresAt = event.expiresAt;
    }
    if (event.type === "call-started") started(event, call);
    if (event.type === "decision-recorded") decided(event, call);
    if (event.type === "attempt-failed" && event.definite) call.failures++;
    if (event.type === "attempt-failed") call.mayStart = true;
    if (event.type === "call-interrupted") call.interrupted = true;
    if (event.type === "decision-requested") {
      if (call.decisions > 0 && event.kind === "approval") fail("I6", event, "asked again after an answer");
      if (call.decisions > 0 && event.digest === call.asked) fail("I6", event, "one digest for two questions");
      call.decisions = 0;
      call.asked = event.digest;
      call.expiresAt = event.expiresAt ?? Number.POSITIVE_INFINITY;
    }
    if (event.type === "call-settled") {
      if (call.settled) fail("I1", event, "a call is settled twice");
      if (ended.has(call.runId)) fail("I1", event, "a call is settled after its run's end");
      call.settled = true;
    }
  };

  return {
    get thread() {
      return thread;
    },
    events,
    calls,
    isBelow,
    endOfBatch() {
      const last = events.at(-1);
      if (!last) return;
      // A person is not asked again what was just said for all of it.
      for (const call of thread.active.flatMap((run) => run.turn?.calls ?? [])) {
        const ask = openAsk(call);
        const isOpen = ask?.kind === "approval" && (ask.expiresAt ?? Number.POSITIVE_INFINITY) > last.at;
        if (isOpen) grants.waits(last, { tool: call.tool, input: JSON.stringify(call.input) });
      }
      grants.endOfBatch();
    },
    add(event, batch) {
      events.push(event);
      if ((event.type === "decision-recorded" || event.type === "decision-extended") && event.key) {
        const post = `${event.by?.id} ${event.key}`;
        if (posts.has(post) && posts.get(post) !== batch) fail("I6", event, "one post is more than one append");
        posts.set(post, batch);
      }
      grants.seen(event);
      if (event.seq !== events.length) fail("I1", event, `seq ${event.seq} is at place ${events.length}`);
      ownership(event);
      onCall(event);
      if (event.type === "run-started" && event.parentCallId !== undefined) {
        parents.set(event.runId ?? "", calls.get(event.parentCallId)?.runId ?? "");
      }
      if (event.type === "stop-requested") stopped.add(event.runId ?? "");
      if (event.type === "run-waiting") {
        const open = thread.active.flatMap((run) => run.turn?.calls ?? []).filter((call) => openAsk(call));
        const named = new Set(event.for);
        if (open.some(({ callId }) => !named.has(callId)))
          fail("I4", event, "a step waits that the pause does not name");
      }
      if (event.type === "run-ended") {
        if (ended.has(event.runId ?? "")) fail("I1", event, "a run ends twice");
        ended.add(event.runId ?? "");
        const open = [...calls].filter(([, call]) => call.runId === event.runId && !call.settled);
        if (open.length > 0) fail("I7", event, `a run ends with ${open.length} open calls`);
        if (event.code === "internal") fail("I4", event, "the loop itself failed");
      }
      const before = thread.anomalies;
      thread = reduceThread(thread, event);
      if (thread.anomalies > before) fail("I7", event, "the reducer does not take it");
    },
  };
}
