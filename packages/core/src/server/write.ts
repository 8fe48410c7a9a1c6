import type { Agent } from "../agent/agent.ts";
import { ToolRunError } from "../errors.ts";
import { isAtRest, nextAction } from "../loop/next-action.ts";
import type { EventDraft } from "../protocol/event.ts";
import { parseEvent } from "../protocol/stored-event.ts";
import type { Thread } from "../protocol/thread.ts";
import { emptyThread, rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { ResumeReason } from "../protocol/values.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { Append, ThreadRead } from "../store/thread-store.ts";
import { within } from "./access.ts";
import type { Claimed } from "./drive.ts";
import { drive } from "./drive.ts";
import type { Engine } from "./engine.ts";
import { budgetEnd, notify } from "./engine.ts";
import type { OpenThread } from "./thread-log.ts";
import { EMPTY_LOG, hasBatch, openRead, readThread, rowOf, sealAll, toStored } from "./thread-log.ts";

/** What a write makes of the thread as it is: events to add, and the answer when they are in the log. */
export interface Written<Answer> {
  readonly drafts: readonly EventDraft[];
  readonly answer: (seq: number, thread: Thread) => Answer;
}

/** What this code does not know may change what a write means: one that does takes it. */
const NEWER =
  "A newer version of toolrun wrote in this conversation, and this server does not know what. Try again, or deploy it here.";

const TRIES = 12;
const RESENDS = 4;

/**
 * The one way a request changes a thread: read, decide, append behind the last control event; on a conflict
 * read on and decide again. Where nobody drives and there is work, the same append claims the run.
 */
export async function writeThread<Answer>(
  engine: Engine,
  id: string,
  decide: (thread: Thread, now: number) => Written<Answer> | Promise<Written<Answer>>,
): Promise<Answer> {
  let open: OpenThread = (await within(engine, readThread(engine, id))) ?? {
    thread: emptyThread(id),
    control: 0,
    size: EMPTY_LOG,
  };
  let mayClaim = engine.drivesPosts;
  for (let tries = 0; tries < TRIES; tries++) {
    if (open.thread.unknown) throw new ToolRunError("unavailable", NEWER);
    const now = engine.clock.now();
    const { drafts, answer } = await decide(open.thread, now);
    if (drafts.length === 0) return answer(open.thread.seq, open.thread);
    const claim = mayClaim ? await claimFor(engine, open.thread, drafts) : null;
    const claimedAt = engine.clock.monotonic();
    const result = await appendWrite(engine, open, drafts, claim, now);
    if (result.status === "ok") {
      afterWrite(engine, result.written, claim, { claimedAt, size: open.size });
      return answer(result.written.seq, result.written);
    }
    if (result.status === "gone") throw new ToolRunError("not-found", "This conversation was removed.");
    if (result.status === "held") mayClaim = false;
    else open = result.open;
  }
  throw new ToolRunError("unavailable", "The conversation changed too often; try again.");
}

/** A driver's claim to be appended with a write, and the agent whose rules say it is needed. */
interface Claim {
  readonly driverId: string;
  readonly epoch: number;
  readonly drafts: readonly EventDraft[];
}

/** Adds the claim a write needs: a new run begins owned, a waiting one is taken up again. */
async function claimFor(engine: Engine, thread: Thread, drafts: readonly EventDraft[]): Promise<Claim | null> {
  if (thread.driverId !== null) return null;
  const driverId = engine.newId();
  const epoch = thread.epoch + 1;
  const started = drafts.findIndex((draft) => draft.type === "run-started");
  if (started >= 0) {
    return {
      driverId,
      epoch,
      drafts: drafts.map((draft) => (draft.type === "run-started" ? { ...draft, driverId, epoch } : draft)),
    };
  }
  const after = sealAll(thread, drafts, engine.clock.now()).thread;
  return (await hasWork(engine, after))
    ? { driverId, epoch, drafts: [...drafts, resumed(after, driverId, epoch, "decision")] }
    : null;
}

/** True when `nextAction` would have somebody without an epoch claim the run. */
async function hasWork(engine: Engine, thread: Thread): Promise<boolean> {
  const user = rootOf(thread)?.user as User | undefined; // written by us when the run began
  if (!user) return false;
  const agent = await engine.agentFor(user);
  return ask(agent, engine, thread, budgetEnd(engine, engine.clock.monotonic())) === "claim";
}

function ask(agent: Agent, engine: Engine, thread: Thread, budgetEndsAt: number): string {
  const budgetLeftMs = budgetEndsAt - engine.clock.monotonic();
  const me = { epoch: null, inFlight: new Set<string>(), budgetLeftMs, aborting: false };
  return nextAction(thread, agent.rules, engine.clock.now(), me).type;
}

function resumed(thread: Thread, driverId: string, epoch: number, why: ResumeReason): EventDraft {
  return { type: "run-resumed", runId: rootOf(thread)?.runId, epoch, driverId, why };
}

type WriteResult =
  | { readonly status: "ok"; readonly written: Thread }
  | { readonly status: "again"; readonly open: OpenThread }
  /** Another driver is alive: write without a claim, it will see it. */
  | { readonly status: "held" }
  | { readonly status: "gone" };

async function appendWrite(
  engine: Engine,
  open: OpenThread,
  drafts: readonly EventDraft[],
  claim: Claim | null,
  now: number,
): Promise<WriteResult> {
  const { thread } = open;
  const { events, thread: written } = sealAll(thread, claim?.drafts ?? drafts, now);
  const append: Append = {
    batch: engine.newId(),
    events: toStored(events),
    lease: claim ? { driverId: claim.driverId, ttlMs: engine.leaseMs } : undefined,
    row: rowOf(written),
  };
  const result = await resend(engine, () =>
    engine.store.append(thread.id, claim ? { at: thread.seq } : { atControl: open.control }, append),
  );
  if (result.status === "gone" || result.status === "held") return { status: result.status };
  if (result.status === "conflict") {
    if (!hasBatch(result.events, append.batch)) return { status: "again", open: openRead(thread, result, open.size) };
    return { status: "ok", written: joinOwn(engine, thread, result, append.batch) };
  }
  if (result.first === thread.seq + 1) {
    notify(engine, events, written, viewThread);
    return { status: "ok", written };
  }
  // Deltas moved the head meanwhile: our events are behind them.
  const read = await resend(engine, () => engine.store.read(thread.id, thread.seq));
  if (read === null || "gone" in read) return { status: "gone" };
  return { status: "ok", written: joinOwn(engine, thread, read, append.batch) };
}

/** Folds what the log holds by now, and tells observers of our own part of it. */
function joinOwn(engine: Engine, thread: Thread, read: ThreadRead, batch: string): Thread {
  const joined = openRead(thread, read).thread;
  const own = read.events.filter((event) => event.batch === batch).map(({ seq, data }) => parseEvent(data, seq));
  notify(engine, own, joined, viewThread);
  return joined;
}

/**
 * The same call again until the store answers: a lost reply never doubles a write. What the store refuses for a reason
 * of its own is an answer.
 */
export async function resend<Result>(engine: Engine, call: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof ToolRunError && error.code !== "unavailable") throw error;
      const reference = engine.report(error);
      if (tries >= RESENDS) {
        throw new ToolRunError("unavailable", "The store did not answer; try again.", { reference, cause: error });
      }
      await new Promise<void>((resolve) => engine.clock.after(25 * 2 ** tries, resolve));
    }
  }
}

/** The claim's holder drives; a driver that is here already looks; a lost one is taken over. */
function afterWrite(
  engine: Engine,
  written: Thread,
  claim: Claim | null,
  sent: Pick<Claimed, "claimedAt" | "size">,
): void {
  if (claim) {
    const { driverId, epoch } = claim;
    const budgetEndsAt = budgetEnd(engine, sent.claimedAt);
    if (written.driverId === driverId) {
      startDriving(engine, { thread: written, epoch, driverId, budgetEndsAt, ...sent });
    }
    return;
  }
  const poke = engine.drivers.get(written.id);
  if (poke) poke();
  else if (written.driverId !== null && engine.drivesPosts) engine.background(takeOver(engine, written.id));
}

/**
 * Drives, and sees to it that a run it had to hand over goes on without anybody looking (promise 4): by `wake`, else
 * here, where the process outlives the request. Elsewhere a follower or `sweep` takes it up.
 */
async function goOn(engine: Engine, claimed: Claimed): Promise<void> {
  const thread = await drive(engine, claimed);
  if (isAtRest(thread) || thread.driverId !== null) return;
  const dueAt = rootOf(thread)?.dueAt;
  if (engine.wake) return engine.wake(thread.id, { dueAt });
  if (!engine.livesOn) return;
  const pause = Math.max(0, (dueAt ?? 0) - engine.clock.now());
  engine.clock.after(pause, () => {
    engine.background(takeOver(engine, thread.id).catch((error: unknown) => void engine.report(error)));
  });
}

function startDriving(engine: Engine, claimed: Claimed): void {
  engine.background(goOn(engine, claimed).catch((error: unknown) => void engine.report(error)));
}

/**
 * Takes up a run nobody drives, or whose driver's lease is over. Resolves when the drive ends, at once when
 * there is nothing to do, somebody else is at it, or the request that began at `startedAt` has no room for it.
 */
export async function takeOver(
  engine: Engine,
  id: string,
  startedAt: number = engine.clock.monotonic(),
): Promise<void> {
  const budgetEndsAt = budgetEnd(engine, startedAt);
  if (engine.drivers.has(id)) return;
  for (let tries = 0; tries < TRIES; tries++) {
    const open = await readThread(engine, id);
    const user = open && (rootOf(open.thread)?.user as User | undefined); // written by us when the run began
    if (!open || !user) return;
    const { thread, size } = open;
    const action = ask(await engine.agentFor(user), engine, thread, budgetEndsAt);
    if (action !== "claim" && action !== "attach") return;
    const driverId = engine.newId();
    const epoch = thread.epoch + 1;
    const why = thread.driverId === null ? "hand-over" : "takeover";
    const { events, thread: claimedThread } = sealAll(
      thread,
      [resumed(thread, driverId, epoch, why)],
      engine.clock.now(),
    );
    const claimedAt = engine.clock.monotonic();
    const batch = engine.newId();
    const lease = { driverId, ttlMs: engine.leaseMs };
    const row = rowOf(claimedThread);
    const result = await resend(engine, () =>
      engine.store.append(id, { at: thread.seq }, { batch, events: toStored(events), lease, row }),
    );
    if (result.status === "held" || result.status === "gone") return;
    if (result.status === "conflict" && !hasBatch(result.events, batch)) continue;
    if (result.status === "ok") notify(engine, events, claimedThread, viewThread);
    return goOn(engine, { thread: claimedThread, epoch, driverId, claimedAt, budgetEndsAt, size });
  }
}
