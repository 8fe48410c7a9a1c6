import { promptOf, questionOf } from "../model/prompt.ts";
import type { EventDraft, ThreadEvent } from "../protocol/event.ts";
import { findCall } from "../protocol/read-thread.ts";
import type { Thread } from "../protocol/thread.ts";
import { callKey, turnKey } from "./action.ts";
import { agentFor } from "./agent-for.ts";
import { callModel } from "./call-model.ts";
import type { LoopContext, Stop } from "./context.ts";
import { runCall } from "./run-call.ts";

/** What one driver has under way. */
export interface Effects {
  /** `callKey` and `turnKey` of everything that has not reported its end. */
  readonly inFlight: ReadonlySet<string>;
  readonly aborting: boolean;
  /** Resolves when nothing is in flight. */
  readonly settled: Promise<void>;
  /** Performs committed intents; false when `mayStartUntil` has passed: then nothing more is started. */
  start(intents: readonly ThreadEvent[], thread: Thread, mayStartUntil: number): boolean;
  /** Tells everything in flight to end. */
  abort(): void;
}

/** Starts effects and keeps count of them; each reports to the loop's queue. */
export function createEffects(options: LoopContext): Effects {
  const { clock, queue, newId, onError, user, plans } = options;
  const running = new Map<string, { readonly stop: Stop; readonly done: Promise<void> }>();
  const inFlight = new Set<string>();
  let aborting = false;

  /** Our own mistake, or an app's object that breaks whoever touches it: the driver looks again and settles it. */
  const broken = (error: unknown): readonly EventDraft[] => {
    onError(error);
    return [];
  };

  /** An effect is over in the very step in which the events that record its end reach the loop. */
  const launch = (key: string, run: (stop: Stop) => Promise<readonly EventDraft[]>): void => {
    const stop: Stop = { reason: undefined, listener: undefined };
    inFlight.add(key);
    const done = run(stop)
      .catch(broken)
      .then((end) => {
        inFlight.delete(key);
        running.delete(key);
        if (running.size === 0) aborting = false;
        queue.push(...end);
      });
    running.set(key, { stop, done });
  };

  const startCall = (event: ThreadEvent & { type: "call-started" }, thread: Thread, mayStartUntil: number): void => {
    const found = findCall(thread, event.callId);
    const agent = found && agentFor(thread, found.run, options.agent);
    const tool = found && agent?.tools.get(found.call.tool);
    if (!found || !agent || !tool || tool.tool.agent) return; // a sub-agent's run is all its call does
    launch(callKey(event.callId, event.attempt), (stop) =>
      runCall({
        runId: found.run.runId,
        threadId: thread.id,
        call: found.call,
        tool,
        agent,
        user,
        idempotencyKey: event.key,
        timeoutMs: Math.min(tool.tool.timeoutMs, options.budgetEndsAt - clock.monotonic()),
        stop,
        question: () => questionOf(thread, found.run),
        mayStart: () => clock.monotonic() < mayStartUntil,
        clock,
        emit: (draft: EventDraft) => queue.push(draft),
        onError,
      }),
    );
  };

  const startTurn = (event: ThreadEvent & { type: "turn-started" }, thread: Thread): void => {
    const run = thread.active.find((candidate) => candidate.runId === event.runId);
    const { turn, attempt } = event;
    const key = turnKey(event.runId ?? "", turn, attempt);
    const plan = plans.get(key);
    plans.delete(key);
    if (!run || !plan) return;
    const { agent } = plan;
    launch(key, (stop) =>
      callModel({
        runId: run.runId,
        threadId: thread.id,
        user,
        turn,
        attempt,
        toolsOff: event.toolsOff ?? false,
        plan,
        agent,
        prompt: () => {
          const { instructions } = agent;
          return promptOf(thread, run, typeof instructions === "function" ? instructions({ user }) : instructions);
        },
        stop,
        clock,
        newId,
        emit: (...drafts) => queue.push(...drafts),
        onError,
      }),
    );
  };

  return {
    inFlight,
    get aborting() {
      return aborting;
    },
    get settled() {
      return Promise.all([...running.values()].map(({ done }) => done)).then(() => undefined);
    },
    start(intents, thread, mayStartUntil) {
      for (const event of intents) {
        // Checked here, in the same synchronous step as the call: a lease that ran out starts nothing.
        if (clock.monotonic() >= mayStartUntil) return false;
        if (event.type === "call-started") startCall(event, thread, mayStartUntil);
        if (event.type === "turn-started") startTurn(event, thread);
      }
      return true;
    },
    abort() {
      aborting = running.size > 0;
      for (const { stop } of running.values()) {
        if (stop.reason) continue;
        stop.reason = new DOMException("Stopped.", "AbortError");
        stop.listener?.();
      }
    },
  };
}
