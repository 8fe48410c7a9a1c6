import type { Agent } from "../agent/agent.ts";
import type { DriveContext } from "../loop/context.ts";
import { endRun } from "../loop/end-run.ts";
import { createEventQueue } from "../loop/event-queue.ts";
import type { Commit, Proposal } from "../loop/run-loop.ts";
import { runLoop } from "../loop/run-loop.ts";
import { isControl } from "../protocol/event.ts";
import type { Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import { serialiseState } from "../protocol/upgrade-state.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { AppendResult } from "../store/thread-store.ts";
import type { Engine } from "./engine.ts";
import { notify } from "./engine.ts";
import { createLease, LeaseOver } from "./lease.ts";
import type { LogSize } from "./thread-log.ts";
import { EMPTY_LOG, grown, hasBatch, isFull, openRead, rowOf, sealAll, toStored, wantsSnapshot } from "./thread-log.ts";

/** A claim that is in the log: whoever holds it drives. */
export interface Claimed {
  readonly thread: Thread;
  readonly epoch: number;
  readonly driverId: string;
  /** Monotonic time just before the claim was sent. */
  readonly claimedAt: number;
  /** Monotonic time until which its request has room for what starts. */
  readonly budgetEndsAt: number;
  readonly size: LogSize;
}

/**
 * Drives a claimed run until its epoch closes, its request's time is up or somebody else took over. The
 * only appender of the loop's proposals: one append in flight, what comes meanwhile forms the next. Resolves with the
 * thread as this driver knew it last.
 */
export async function drive(engine: Engine, claimed: Claimed): Promise<Thread> {
  const { clock, report } = engine;
  const { epoch, driverId } = claimed;
  const id = claimed.thread.id;
  const queue = createEventQueue();
  const user = rootOf(claimed.thread)?.user as User; // written by us when the run began
  const agent = await agentOf(engine, user, claimed);
  if (!agent) return claimed.thread;
  let known = claimed.thread;
  const seen = (): number => known.seq;
  const lease = createLease(engine, id, driverId, { claimedAt: claimed.claimedAt, seen }, () => queue.poke());
  const onError = (error: unknown): void => {
    report(error);
  };
  const context: DriveContext = {
    agent,
    user,
    epoch,
    driverId,
    clock,
    newId: engine.newId,
    queue,
    budgetEndsAt: claimed.budgetEndsAt,
    isFull: () => isFull(size),
    onError,
  };
  let { size } = claimed;

  const commit = async (proposal: Proposal): Promise<Commit> => {
    const events = [...proposal.facts, ...proposal.intents];
    if (events.length === 0) return look();
    const batch = engine.newId();
    const stored = toStored(events);
    const after = grown(size, stored);
    const snapshot = proposal.closing && wantsSnapshot(after) ? serialiseState(proposal.thread) : undefined;
    const append = {
      batch,
      events: stored,
      lease: proposal.closing ? { release: driverId } : undefined,
      snapshot,
      row: events.some(isControl) ? rowOf(proposal.thread) : undefined,
    };
    engine.recent.add(batch, { events, thread: proposal.thread });
    const result = await lease.untilDefinite(() => engine.store.append(id, { at: known.seq }, append));
    if (result.status === "ok" || (result.status === "conflict" && hasBatch(result.events, batch))) {
      known = proposal.thread;
      size = snapshot === undefined ? after : { ...EMPTY_LOG, base: snapshot.length };
      notify(engine, events, known, viewThread);
      if (result.head > known.seq) queue.poke(); // the reply was lost, and somebody wrote behind us
      return { accepted: true, mayStartUntil: await lease.freshUntil() };
    }
    return look(result);
  };

  const look = async (result?: AppendResult): Promise<Commit> => {
    const read =
      result?.status === "conflict" ? result : await lease.untilDefinite(() => engine.store.read(id, known.seq));
    if (read === null || !("events" in read)) throw new Gone();
    // A failover lost writes: this log is not the one we drove.
    if (read.head < known.seq) throw new Gone();
    const open = openRead(known, read, size);
    known = open.thread;
    size = open.size;
    return { accepted: false, thread: known, mayStartUntil: await lease.freshUntil() };
  };

  const poke = (): void => queue.poke();
  engine.drivers.set(id, poke);
  const loop = runLoop({ ...context, thread: claimed.thread, mayStartUntil: lease.until });
  try {
    let step = await loop.next();
    while (!step.done) step = await loop.next(await commit(step.value));
  } catch (error) {
    // An unreachable store is no reason to end the run: a later follower or sweep takes it over as it is.
    if (!(error instanceof Gone || error instanceof LeaseOver)) {
      report(error);
      await endBroken(engine, known, claimed);
    }
  } finally {
    lease.close();
    // The next driver of this process may be here already: our last append let it in before its reply came back.
    if (engine.drivers.get(id) === poke) engine.drivers.delete(id);
    await loop.return("superseded");
  }
  return known;
}

async function agentOf(engine: Engine, user: User, claimed: Claimed): Promise<Agent | undefined> {
  try {
    return await engine.agentFor(user);
  } catch (error) {
    engine.report(error);
    await endBroken(engine, claimed.thread, claimed);
    return undefined;
  }
}

/** What cannot be driven ends, settled and honest, instead of being taken up again for ever. */
async function endBroken(engine: Engine, known: Thread, { epoch, driverId }: Claimed): Promise<void> {
  try {
    const drafts = endRun(known, "failed", "internal").map((draft) => ({ ...draft, epoch }));
    if (drafts.length === 0 || known.epoch !== epoch || known.driverId !== driverId) return;
    const { events, thread } = sealAll(known, drafts, engine.clock.now());
    await engine.store.append(
      known.id,
      { at: known.seq },
      { batch: engine.newId(), events: toStored(events), lease: { release: driverId }, row: rowOf(thread) },
    );
  } catch (error) {
    engine.report(error); // the store is down too: a later follower or sweep takes over
  }
}

/** The thread is no longer ours to write: removed, or the store lost what we wrote. */
class Gone extends Error {}
