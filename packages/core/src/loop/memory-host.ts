import type { Agent } from "../agent/agent.ts";
import type { Model } from "../model/model.ts";
import type { EventDraft, ThreadEvent } from "../protocol/event.ts";
import { deepFreeze } from "../protocol/freeze.ts";
import { reduceThread } from "../protocol/reduce-thread.ts";
import { actorOf, sealEvent } from "../protocol/seal-event.ts";
import type { Thread } from "../protocol/thread.ts";
import { emptyThread, rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { MessagePart } from "../protocol/values.ts";
import type { Clock } from "./clock.ts";
import { encodeResult } from "./encode-result.ts";
import { endRun } from "./end-run.ts";
import type { EventQueue } from "./event-queue.ts";
import { createEventQueue } from "./event-queue.ts";
import type { Commit, Proposal } from "./run-loop.ts";
import { runLoop } from "./run-loop.ts";
import { withModels } from "./with-models.ts";

export interface MemoryHostOptions {
  readonly agent: Agent;
  readonly user: User;
  /** The person's message that starts the run. */
  readonly parts: readonly MessagePart[];
  readonly clock: Clock;
  readonly newId: () => string;
  /**
   * Sees what happened right before it is in the log, each event once. If it stops the run, nothing that would
   * have followed starts.
   */
  readonly onFacts?: ((facts: readonly ThreadEvent[]) => void) | undefined;
  /** Sees every batch once it is in the log, in order, and the thread after it. */
  readonly onBatch?: ((events: readonly ThreadEvent[], thread: Thread) => void) | undefined;
  /** Gets what the loop reports and what the two above throw. Must not throw. */
  readonly onError: (error: unknown) => void;
}

/** One thread in memory and its only driver: every proposal is taken at once; no store, no lease, no request. */
export interface MemoryHost {
  readonly thread: Thread;
  readonly events: readonly ThreadEvent[];
  /** Begins the thread with the message and a run, once. */
  begin(): void;
  /**
   * Drives until the run rests: it ended, or waits for a person. With `holdsBefore`, also until an event comes that
   * it holds: what led to it is in the log then, and the next drive goes on from there. Never rejects.
   */
  drive(holdsBefore?: (event: ThreadEvent, thread: Thread) => boolean): Promise<"rests" | "held">;
  /** A write from outside: the loop sees it before it does anything else. */
  write(...drafts: readonly EventDraft[]): void;
  /** A message of the person to the run. */
  say(parts: readonly MessagePart[]): void;
  /** Asks the run to end. Nothing happens where no run is under way. */
  stop(reason?: string): void;
}

/** What of a write needs no key: there is no request that could come twice. */
const UNKEYED = { key: "", bodyHash: "" } as const;

/** A thread in which nothing happened yet. */
export function createMemoryHost(options: MemoryHostOptions): MemoryHost {
  const { user, clock, newId, onError } = options;
  const agent = withModels(options.agent, (model) => unlessStopped(model, () => Boolean(rootOf(thread)?.stop)));
  const driverId = newId();
  const by = actorOf(user);
  const events: ThreadEvent[] = [];
  const batches: { readonly batch: readonly ThreadEvent[]; readonly after: Thread }[] = [];
  let thread = emptyThread(newId());
  let queue: EventQueue | undefined;
  let isTelling = false;
  let isHeld = false;

  /** Batches in order, also where hearing of one makes another. */
  const tell = (batch: readonly ThreadEvent[]): void => {
    if (batch.length === 0 || !options.onBatch) return;
    deepFreeze(batch);
    deepFreeze(thread);
    batches.push({ batch, after: thread });
    if (isTelling) return;
    isTelling = true;
    for (let next = batches.shift(); next; next = batches.shift()) {
      try {
        options.onBatch(next.batch, next.after);
      } catch (error) {
        onError(error);
      }
    }
    isTelling = false;
  };

  const commit = (batch: readonly ThreadEvent[], after: Thread): void => {
    thread = after;
    for (const event of batch) events.push(event);
    tell(batch);
  };

  const write = (...drafts: readonly EventDraft[]): void => {
    let next = thread;
    const batch = drafts.map((draft) => {
      const event = sealEvent(draft, next.seq + 1, Math.max(clock.now(), next.at));
      next = reduceThread(next, event);
      return event;
    });
    commit(batch, next);
    queue?.poke();
  };

  /** Somebody wrote since the loop folded what it builds on; or it only asks what is new. */
  const isStale = ({ facts, intents }: Proposal): boolean => (facts[0] ?? intents[0])?.seq !== thread.seq + 1;

  const answer = (proposal: Proposal): Commit => {
    if (!isStale(proposal)) preview(proposal.facts);
    if (isStale(proposal)) return { accepted: false, thread, mayStartUntil: Number.POSITIVE_INFINITY };
    commit([...proposal.facts, ...proposal.intents], proposal.thread);
    return { accepted: true, mayStartUntil: Number.POSITIVE_INFINITY };
  };

  const preview = (facts: readonly ThreadEvent[]): void => {
    if (facts.length === 0) return;
    try {
      options.onFacts?.(facts);
    } catch (error) {
      onError(error);
    }
  };

  const isDriven = (): boolean => rootOf(thread) !== undefined && thread.driverId === driverId;

  return {
    get thread() {
      return thread;
    },
    events,
    begin() {
      if (thread.seq > 0) return;
      const { parts } = options;
      write(
        { type: "thread-created", owner: user.id, agent: agent.name, title: titleOf(parts) },
        { type: "message-added", messageId: newId(), parts, by, ...UNKEYED },
        {
          type: "run-started",
          runId: newId(),
          trigger: "message",
          depth: 0,
          agentVersion: agent.version,
          user: encodeResult(user),
          driverId,
          epoch: 1,
        },
      );
    },
    write,
    say(parts) {
      write({ type: "message-added", runId: rootOf(thread)?.runId, messageId: newId(), parts, by, ...UNKEYED });
    },
    stop(reason) {
      const root = rootOf(thread);
      if (!root || root.stop || !isDriven()) return;
      write({ type: "stop-requested", runId: root.runId, by, reason, ...UNKEYED });
    },
    async drive(holdsBefore) {
      if (!isDriven()) return "rests";
      // A new epoch, so that the time for which it was held does not count as active.
      if (isHeld) {
        const runId = rootOf(thread)?.runId;
        write({ type: "run-resumed", runId, driverId, why: "continue", epoch: thread.epoch + 1 });
      }
      isHeld = false;
      const holds = (event: ThreadEvent): boolean => isNextRun(event) || (holdsBefore?.(event, thread) ?? false);
      queue = createEventQueue();
      const isFull = (): boolean => false;
      const context = { isFull, agent, user, epoch: thread.epoch, driverId, clock, newId, queue, onError };
      const budgetEndsAt = Number.POSITIVE_INFINITY;
      const loop = runLoop({ ...context, budgetEndsAt, thread, mayStartUntil: Number.POSITIVE_INFINITY });
      try {
        let step = await loop.next();
        while (!step.done) {
          const before = isStale(step.value) ? undefined : untilHeld(step.value, thread, holds);
          if (!before) {
            step = await loop.next(answer(step.value));
            continue;
          }
          // Nothing is in flight where a turn begins or a run is over: the loop can be left, and begun anew.
          preview(step.value.facts);
          if (isStale(step.value)) continue;
          isHeld = before.held.type !== "run-started";
          commit(before.batch, before.after);
          return isHeld ? "held" : "rests";
        }
      } catch (error) {
        onError(error);
        write(...endRun(thread, "failed", "internal"));
      } finally {
        queue = undefined;
        await loop.return("superseded");
      }
      return "rests";
    },
  };
}

/** What a proposal adds before an event that is held; undefined when none is. */
function untilHeld(
  { facts, intents }: Proposal,
  thread: Thread,
  holds: (event: ThreadEvent) => boolean,
): { readonly held: ThreadEvent; readonly batch: readonly ThreadEvent[]; readonly after: Thread } | undefined {
  let end = intents.findIndex(holds);
  const held = intents[end];
  if (!held) return undefined;
  // A limit is told together with the turn it changes, or not yet.
  while (intents[end - 1]?.type === "limit-reached") end--;
  const batch = [...facts, ...intents.slice(0, end)];
  return { held, batch, after: batch.reduce(reduceThread, thread) };
}

/** A message that the run ended without reading would begin another: there is one run in memory. */
function isNextRun(event: ThreadEvent): boolean {
  return event.type === "run-started" && event.depth === 0;
}

/** The same model, not asked any more where whoever heard of the turn's beginning stopped the run. */
function unlessStopped(model: Model, isStopped: () => boolean): Model {
  return {
    id: model.id,
    stream: (request, signal) => (isStopped() ? silence(signal) : model.stream(request, signal)),
  };
}

async function* silence(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function titleOf(parts: readonly MessagePart[]): string {
  const [first] = parts;
  return first?.type === "text" ? (first.text.trim().split("\n", 1)[0]?.slice(0, 80) ?? "") : "";
}
