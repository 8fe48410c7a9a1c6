import { ToolRunError } from "../errors.ts";
import { isAtRest } from "../loop/next-action.ts";
import type { DecisionBody, MessageBody } from "../protocol/request-schema.ts";
import type { AnyStep } from "../protocol/step.ts";
import type { User, View } from "../protocol/typed.ts";
import type { DecisionScope, Json } from "../protocol/values.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { ThreadPage } from "../store/thread-store.ts";
import { accessOf, checkUser, openFor, STORE_LATE, within } from "./access.ts";
import { whileStarting } from "./active-runs.ts";
import type { DecisionResult } from "./decide.ts";
import { decide } from "./decide.ts";
import type { AccessAction, Engine } from "./engine.ts";
import { followThread } from "./follow-thread.ts";
import type { SnapshotBody } from "./snapshot-body.ts";
import { snapshotBody } from "./snapshot-body.ts";
import { readThread } from "./thread-log.ts";
import type { Receipt } from "./threads.ts";
import { continueRun, renameThread, revokeGrant, sendMessage, stopRun } from "./threads.ts";
import { takeOver } from "./write.ts";
import { newThreadId, writerOf } from "./writer.ts";

/** A thread as code reads it; `snapshot` is what a page hands to `<ToolRunChat initial>`. */
export type ReadThread = View & { readonly snapshot: SnapshotBody };

/** What a write gives back: where it landed, and a way to wait for its outcome. */
export interface Settling {
  readonly threadId: string;
  readonly seq: number;
  /** Resolves when the run ended or waits for a person. */
  settled(): Promise<View>;
}

interface Who {
  readonly user: User;
  /** The same key again is the same write. A random one by default. */
  readonly key?: string | undefined;
}

type Steps = Pick<AnyStep, "id" | "threadId" | "digest"> | readonly Pick<AnyStep, "id" | "threadId" | "digest">[];

/** The verbs of a thread, with the same checks in code as over HTTP. Refusals are thrown as ToolRunError. */
export interface Verbs {
  send(
    options: Who & {
      readonly message: string | MessageBody["message"];
      readonly threadId?: string | undefined;
      readonly pending?: "deny" | undefined;
    },
  ): Promise<Settling & { readonly runId: string }>;
  read(options: { readonly user: User; readonly threadId: string }): Promise<ReadThread | null>;
  list(options: { readonly user: User; readonly cursor?: string | undefined }): Promise<ThreadPage>;
  approve(
    steps: Steps,
    options: Who & { readonly input?: Json | undefined; readonly scope?: DecisionScope | undefined },
  ): Promise<Settling>;
  deny(
    steps: Steps,
    options: Who & {
      readonly reason?: string | undefined;
      readonly scope?: DecisionScope | undefined;
      readonly stop?: boolean | undefined;
    },
  ): Promise<Settling>;
  answer(step: Steps, options: Who & ({ readonly value: Json } | { readonly error: string })): Promise<Settling>;
  retry(step: Steps, options: Who): Promise<Settling>;
  skip(step: Steps, options: Who): Promise<Settling>;
  /** Gives questions that run out their time again, from now. */
  extend(steps: Steps, options: Who): Promise<Settling>;
  stop(options: Who & { readonly threadId: string; readonly reason?: string | undefined }): Promise<Settling>;
  continue(
    options: Who & { readonly threadId: string; readonly turns?: number | undefined },
  ): Promise<Settling & { readonly runId: string }>;
  rename(options: Who & { readonly threadId: string; readonly title: string }): Promise<void>;
  revoke(options: Who & { readonly threadId: string; readonly grantId: string }): Promise<void>;
  remove(options: { readonly user: User; readonly threadId: string }): Promise<void>;
  /** For a cron: takes up runs whose driver died and questions whose time is over. Returns how many it looked at. */
  sweep(): Promise<number>;
}

/** The verbs over one engine. */
export function createVerbs(engine: Engine): Verbs {
  const settling = (threadId: string, seq: number): Settling => ({
    threadId,
    seq,
    settled: () => settled(engine, threadId),
  });

  const decideSteps = async (
    steps: Steps,
    { user, key = engine.newId() }: Who,
    decision: Omit<DecisionBody, "callId" | "digest">,
  ): Promise<Settling> => {
    const list = "digest" in steps ? [steps] : steps;
    const [first] = list;
    if (!first) throw new ToolRunError("bad-request", "There is no step to decide about.");
    await openFor(engine, user, "decide", first.threadId);
    const decisions = list.map(({ id, digest }) => ({ callId: id, digest, ...decision }));
    const writer = writerOf(user, key, decisions);
    const { seq, results } = await decide(engine, first.threadId, writer, decisions, "code");
    throwRefusal(results);
    return settling(first.threadId, seq);
  };

  const change = async <Answer>(
    action: AccessAction,
    threadId: string,
    { user, key = engine.newId() }: Who,
    body: unknown,
    write: (writer: ReturnType<typeof writerOf>) => Promise<Answer>,
  ): Promise<Answer> => {
    await openFor(engine, user, action, threadId);
    return write(writerOf(user, key, body));
  };

  return {
    async send({ user, key = engine.newId(), message, threadId, pending }) {
      const body = { message: typeof message === "string" ? { text: message } : message, pending };
      const receipt = await post(engine, user, key, threadId, body, "code");
      return { ...settling(receipt.threadId, receipt.seq), runId: receipt.runId };
    },
    async read({ user, threadId }) {
      try {
        const open = await openFor(engine, user, "read", threadId);
        const access = await accessOf(engine, user, open);
        return {
          ...(viewThread(open.thread) as View),
          snapshot: snapshotBody(open.thread, user, access, engine.clock.now()),
        }; // the registered agent's thread
      } catch (error) {
        if (error instanceof ToolRunError && error.code === "not-found") return null;
        throw error;
      }
    },
    async list({ user, cursor }) {
      checkUser(user);
      return within(engine, engine.store.list(user.id, cursor));
    },
    approve: (steps, { input, scope, ...who }) => decideSteps(steps, who, { action: "approve", input, scope }),
    deny: (steps, { reason, scope, stop, ...who }) => decideSteps(steps, who, { action: "deny", reason, scope, stop }),
    answer(step, options) {
      const { user, key } = options;
      const given = "value" in options ? { value: options.value } : { error: options.error };
      return decideSteps(step, { user, key }, { action: "answer", ...given });
    },
    retry: (step, who) => decideSteps(step, who, { action: "retry" }),
    skip: (step, who) => decideSteps(step, who, { action: "skip" }),
    extend: (steps, who) => decideSteps(steps, who, { action: "extend" }),
    async stop({ threadId, reason, ...who }) {
      const open = await openFor(engine, who.user, "send", threadId);
      const runId = viewThread(open.thread).runId ?? "";
      const { seq } = await change("send", threadId, who, ["stop", { reason }], (writer) =>
        stopRun(engine, threadId, writer, { runId, reason }),
      );
      return settling(threadId, seq);
    },
    async continue({ threadId, turns, ...who }) {
      const open = await openFor(engine, who.user, "send", threadId);
      const runId = viewThread(open.thread).runId ?? "";
      const receipt = await change("send", threadId, who, ["continue", { turns }], (writer) =>
        whileStarting(engine, who.user, threadId, (canStart) =>
          continueRun(engine, threadId, writer, { runId, turns }, canStart),
        ),
      );
      return { ...settling(threadId, receipt.seq), runId: receipt.runId };
    },
    async rename({ threadId, title, ...who }) {
      await change("send", threadId, who, ["title", { title }], (writer) =>
        renameThread(engine, threadId, writer, title),
      );
    },
    async revoke({ threadId, grantId, ...who }) {
      await change("decide", threadId, who, ["revoke", { grantId }], (writer) =>
        revokeGrant(engine, threadId, writer, grantId),
      );
    },
    async remove({ user, threadId }) {
      await removeThread(engine, user, threadId);
    },
    sweep: () => sweep(engine),
  };
}

/** A message to a new thread or an existing one. */
export async function post(
  engine: Engine,
  user: User,
  key: string,
  threadId: string | undefined,
  body: Pick<MessageBody, "message" | "pending">,
  via: "browser" | "code",
): Promise<Receipt> {
  if (threadId !== undefined) await openFor(engine, user, "send", threadId);
  if (threadId !== undefined && body.pending === "deny") await openFor(engine, user, "decide", threadId);
  checkUser(user);
  const writer = writerOf(user, key, body);
  const id = threadId ?? newThreadId(user, key);
  return whileStarting(engine, user, id, (canStart) =>
    sendMessage(engine, id, writer, body, via, canStart, threadId === undefined),
  );
}

/** Leaves a tombstone: whoever drives or follows the thread hears of it. */
export async function removeThread(engine: Engine, user: User, threadId: string): Promise<void> {
  await openFor(engine, user, "remove", threadId);
  await within(engine, engine.store.remove(threadId));
  engine.drivers.get(threadId)?.();
}

function throwRefusal(results: readonly DecisionResult[]): void {
  for (const result of results) if (!result.ok) throw result.error;
}

const TRIES = 8;

/**
 * Follows a thread until nothing can happen before somebody writes. A connection to the store that breaks is made
 * again, for about ten seconds without a word.
 * @throws `not-found` when the thread is removed · `unavailable` when the store does not come back
 */
async function settled(engine: Engine, threadId: string): Promise<View> {
  let reason: unknown;
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await new Promise<void>((resolve) => engine.clock.after(50 * 2 ** tries, resolve));
    try {
      const open = await within(engine, readThread(engine, threadId));
      if (!open) throw new ToolRunError("not-found", "There is no such conversation.");
      if (isAtRest(open.thread)) return viewThread(open.thread) as View; // the registered agent's thread
      for await (const change of followThread(engine, open, open.thread.seq, [], new AbortController().signal)) {
        tries = 0;
        const thread =
          change.type === "removed" ? undefined : change.type === "reset" ? change.open.thread : change.thread;
        if (thread && isAtRest(thread)) return viewThread(thread) as View; // as above
      }
    } catch (error) {
      if (error instanceof ToolRunError && error.code !== "unavailable") throw error;
      reason = error;
    }
  }
  throw new ToolRunError("unavailable", STORE_LATE, { reference: engine.report(reason), cause: reason });
}

const SWEEP_PAGE = 50;

async function sweep(engine: Engine): Promise<number> {
  let cursor: string | undefined;
  let looked = 0;
  do {
    const filter = { dueBefore: engine.clock.now(), limit: SWEEP_PAGE };
    const page = await within(engine, engine.store.list(undefined, cursor, filter));
    looked += page.rows.length;
    for (const { id } of page.rows) {
      engine.background(takeOver(engine, id).catch((error: unknown) => void engine.report(error)));
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return looked;
}
