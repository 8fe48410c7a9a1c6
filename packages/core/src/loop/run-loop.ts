import type { EventDraft, ThreadEvent } from "../protocol/event.ts";
import { reduceThread } from "../protocol/reduce-thread.ts";
import { sealEvent } from "../protocol/seal-event.ts";
import type { Thread } from "../protocol/thread.ts";
import type { Action } from "./action.ts";
import type { Clock } from "./clock.ts";
import type { DriveContext, LoopContext } from "./context.ts";
import type { Effects } from "./effects.ts";
import { createEffects } from "./effects.ts";
import { withoutSuperseded } from "./event-queue.ts";
import { intentsOf } from "./intents.ts";
import type { LoadedTools } from "./loaded-tools.ts";
import { createLoadedTools } from "./loaded-tools.ts";
import { nextAction } from "./next-action.ts";
import { scopedClock } from "./scoped-clock.ts";
import type { Thinking } from "./thinking.ts";
import { createThinking } from "./thinking.ts";
import type { TurnPlan } from "./turn-plan.ts";

/** What the loop wants in the log. Facts happened already; intents are dropped and asked again on a conflict. */
export interface Proposal {
  readonly facts: readonly ThreadEvent[];
  readonly intents: readonly ThreadEvent[];
  /** True when it closes the epoch: the host releases the lease in the same append. */
  readonly closing: boolean;
  /** The thread when all of it is committed. */
  readonly thread: Thread;
}

/** The log's answer to a proposal. */
export type Commit = {
  /** Effects may start until then, by the monotonic clock: the end of the lease. */
  readonly mayStartUntil: number;
} & (
  | { readonly accepted: true }
  /** Somebody else wrote first: nothing of the proposal is in the log, and this is. */
  | { readonly accepted: false; readonly thread: Thread }
);

export interface RunLoop extends DriveContext {
  /** The folded log; the epoch in it is this loop's own. */
  readonly thread: Thread;
  readonly mayStartUntil: number;
}

/** Why the loop returned. */
export type LoopEnd = "closed" | "superseded" | "refused";

/**
 * One owner's drive of a run, from a folded log to the next pause or end: asks `nextAction`, proposes, and
 * performs effects only after their intent is committed. Knows no request and no store. An empty proposal
 * asks the host what is new in the log.
 */
export async function* runLoop(given: RunLoop): AsyncGenerator<Proposal, LoopEnd, Commit> {
  const { clock, queue, epoch } = given;
  const scope = scopedClock(clock);
  const loaded = createLoadedTools({ ...given, clock: scope.clock });
  const plans = new Map<string, TurnPlan>();
  // Read anew each time: a turn may bring an agent other tools.
  const withAgent = (own: Clock): RunLoop & LoopContext => ({
    ...{ ...given, clock: own, plans, toolsFailed: loaded.failedFor },
    get agent() {
      return loaded.agent;
    },
  });
  const options = withAgent(clock);
  const effects = createEffects(options);
  const thinking = createThinking(queue);
  const asking = withAgent(scope.clock);
  let thread = options.thread;
  let mayStartUntil = options.mayStartUntil;
  let facts: EventDraft[] = [];
  try {
    for (;;) {
      // Deltas that are ready now travel in one event, or not at all when the end of their turn is among them.
      if (queue.hasOnlyDeltas()) await clock.breath();
      const taken = queue.take();
      facts = withoutSuperseded(facts.concat(taken.drafts));
      const proposal = propose(thread, facts, asking, effects, thinking, loaded);
      const { action, intents, events } = proposal;
      if (action.type === "stop") break;
      if (action.type === "abort") effects.abort(); // at once, also while deltas keep coming
      if (events.length > 0 || taken.poked) {
        const closing = isClosing(action) && !ownsNext(proposal.thread, epoch);
        const commit = yield { facts: events.slice(0, facts.length), intents, closing, thread: proposal.thread };
        mayStartUntil = commit.mayStartUntil;
        if (!commit.accepted) {
          thread = commit.thread;
          continue;
        }
        thread = proposal.thread;
        facts = [];
        if (closing) return "closed";
        if (!effects.start(intents, thread, mayStartUntil)) break;
        continue;
      }
      if (action.type === "refuse") return "refused";
      if (action.type !== "abort") await queue.wait(dueAt(action), clock);
    }
  } finally {
    effects.abort();
    loaded.close();
    scope.close();
  }
  yield* handInLate(thread, facts, options, effects);
  return "superseded";
}

/** Until a rule has answered, or tools are loaded; both poke the queue. */
const THINKING: Action = { type: "await", until: null };

interface Proposed {
  readonly action: Action;
  readonly intents: readonly ThreadEvent[];
  /** Facts first, then intents. */
  readonly events: readonly ThreadEvent[];
  readonly thread: Thread;
}

/** Folds the facts tentatively and asks for intents until one needs an answer from outside. */
function propose(
  thread: Thread,
  facts: readonly EventDraft[],
  options: LoopContext,
  { inFlight, aborting }: Pick<Effects, "inFlight" | "aborting">,
  thinking: Thinking,
  loaded: LoadedTools,
): Proposed {
  const { clock, budgetEndsAt, isFull, epoch } = options;
  const events: ThreadEvent[] = [];
  let next = thread;
  const add = (draft: EventDraft): void => {
    const event = sealEvent(draft, next.seq + 1, Math.max(clock.now(), next.at), epoch);
    events.push(event);
    next = reduceThread(next, event);
  };
  for (const fact of facts) add(fact);
  let started: ReadonlySet<string> = new Set(inFlight); // as it was when the facts were taken
  for (;;) {
    const me = { epoch, inFlight: started, budgetLeftMs: budgetEndsAt - clock.monotonic(), aborting, full: isFull() };
    const action = nextAction(next, loaded.agent.rules, clock.now(), me);
    const asked = next;
    const waits = loaded.delays(action, asked);
    const intents = waits ? undefined : thinking.intents(action, asked, () => intentsOf(action, asked, options));
    if (!intents) return { action: THINKING, intents: events.slice(facts.length), events, thread: next };
    const before = next.anomalies;
    for (const intent of intents.drafts) add(intent);
    if (next.anomalies > before) throw new Error(`The log does not take what "${action.type}" wants to add.`);
    if (intents.starts.length > 0) started = new Set([...started, ...intents.starts]);
    if (intents.drafts.length === 0 || isClosing(action)) {
      return { action, intents: events.slice(facts.length), events, thread: next };
    }
  }
}

function isClosing(action: Action): boolean {
  if (action.type === "end") return action.run.depth === 0;
  return action.type === "wait" || action.type === "hand-over";
}

/** A run that ended with unread messages behind it: its owner opened the next one in the same batch. */
function ownsNext(thread: Thread, epoch: number): boolean {
  return thread.driverId !== null && thread.epoch === epoch;
}

function dueAt(action: Action): number | null {
  if (action.type === "sleep" || action.type === "await") return action.until;
  return null;
}

/**
 * Superseded: nothing may be appended but the result of a call that is folded as interrupted at that very
 * attempt, because then nobody else ran it again.
 */
async function* handInLate(
  from: Thread,
  inHand: readonly EventDraft[],
  options: RunLoop,
  effects: { readonly settled: Promise<void> },
): AsyncGenerator<Proposal, void, Commit> {
  await effects.settled;
  const { drafts } = options.queue.take();
  const results = [...inHand, ...drafts].filter((draft) => draft.type === "call-settled");
  let thread = from;
  for (let tries = 0; results.length > 0 && tries < 5; tries++) {
    const { events, next } = lateEvents(thread, results, options.clock);
    if (events.length === 0) return;
    const commit = yield { facts: events, intents: [], closing: false, thread: next };
    if (commit.accepted) return;
    thread = commit.thread;
  }
}

function lateEvents(
  thread: Thread,
  results: readonly EventDraft[],
  clock: Clock,
): { events: readonly ThreadEvent[]; next: Thread } {
  const events: ThreadEvent[] = [];
  let next = thread;
  for (const draft of results) {
    if (draft.type !== "call-settled" || draft.outcome !== "succeeded") continue;
    const late = { ...draft, late: true, epoch: undefined };
    const folded = reduceThread(next, sealEvent(late, next.seq + 1, Math.max(clock.now(), next.at)));
    if (folded.anomalies > next.anomalies) continue;
    events.push(sealEvent(late, next.seq + 1, folded.at));
    next = folded;
  }
  return { events, next };
}
