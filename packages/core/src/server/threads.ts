import { ToolRunError } from "../errors.ts";
import { endRun } from "../loop/end-run.ts";
import { expireEvents } from "../loop/intents.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { MessageBody } from "../protocol/request-schema.ts";
import { actorOf } from "../protocol/seal-event.ts";
import type { Run, Thread } from "../protocol/thread.ts";
import { openAsk, rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Json, MessagePart } from "../protocol/values.ts";
import { denyEvents } from "./deny.ts";
import type { Engine } from "./engine.ts";
import { sealAll } from "./thread-log.ts";
import type { Written } from "./write.ts";
import { writeThread } from "./write.ts";
import type { Writer } from "./writer.ts";
import { landedAt, replayed } from "./writer.ts";

/** Where a write landed. */
export interface Receipt {
  readonly threadId: string;
  readonly runId: string;
  readonly seq: number;
}

const MAX_USER_CHARS = 4 * 1024;

/** A message: starts a thread or a run, steers a running one, queues behind open questions or denies them. */
export function sendMessage(
  engine: Engine,
  threadId: string,
  writer: Writer,
  body: Pick<MessageBody, "message" | "pending">,
  via: "browser" | "code",
  canStart: () => Promise<void>,
  isNew = false,
): Promise<Receipt> {
  return writeThread(engine, threadId, async (thread, now) => {
    const record = replayed(thread, writer);
    if (record) return { drafts: [], answer: () => ({ threadId, runId: record.runId ?? "", seq: record.seq }) };
    if (isNew && thread.createdAt !== 0) throw new ToolRunError("key-reused", "This key began a conversation already.");
    const root = rootOf(thread);
    const drafts: EventDraft[] = [];
    if (thread.createdAt === 0) drafts.push(await created(engine, writer.user, body.message.text));
    if (root && body.pending === "deny") drafts.push(...denyAll(thread, writer, now, via));
    const started = root ? undefined : await runStarted(engine, writer.user, { trigger: "message" });
    if (started) await canStart();
    const runId = root?.runId ?? started?.runId ?? "";
    drafts.push(added(engine, writer, body, runId));
    if (started) drafts.push(started);
    return { drafts, answer: (seq, after) => ({ threadId, runId, seq: landedAt(after, writer) ?? seq }) };
  });
}

async function created(engine: Engine, user: User, text: string): Promise<EventDraft> {
  const agent = await engine.agentFor(user);
  const title = text.trim().split("\n", 1)[0]?.slice(0, 80) ?? "";
  return { type: "thread-created", owner: user.id, agent: agent.name, title };
}

function added(engine: Engine, writer: Writer, { message }: Pick<MessageBody, "message">, runId: string): EventDraft {
  const files = (message.files ?? []).map((file): MessagePart => ({ type: "file", ...file }));
  const text: readonly MessagePart[] = message.text === "" ? [] : [{ type: "text", text: message.text }];
  const parts = [...text, ...files];
  const { key, bodyHash, user } = writer;
  return { type: "message-added", runId, messageId: engine.newId(), parts, by: actorOf(user), key, bodyHash };
}

async function runStarted(
  engine: Engine,
  user: User,
  about: {
    readonly trigger: "message" | "continue";
    readonly continues?: string;
    readonly turnLimit?: number | undefined;
  },
): Promise<EventDraft & { type: "run-started"; runId: string }> {
  const agent = await engine.agentFor(user);
  const kept = JSON.stringify(user);
  if (kept.length > MAX_USER_CHARS) {
    throw new ToolRunError(
      "misconfigured",
      `identify returned a user of ${kept.length} characters; at most ${MAX_USER_CHARS} are kept with a run.`,
    );
  }
  return {
    type: "run-started",
    runId: engine.newId(),
    depth: 0,
    agentVersion: agent.version,
    user: JSON.parse(kept) as Json, // made by JSON.stringify
    ...about,
  };
}

function denyAll(thread: Thread, writer: Writer, now: number, via: "browser" | "code"): readonly EventDraft[] {
  return thread.active.flatMap((run) =>
    (run.turn?.calls ?? [])
      .filter((call) => openAsk(call))
      .flatMap((call) => {
        const { expiresAt } = call.ask ?? {};
        const over = expiresAt !== undefined && expiresAt <= now;
        return over ? expireEvents(run, call) : denyEvents(run, call, writer, { via, stop: false });
      }),
  );
}

/** Stops a run: its driver ends it; where nobody drives, this write does. */
export function stopRun(
  engine: Engine,
  threadId: string,
  writer: Writer,
  { runId, reason }: { readonly runId: string; readonly reason?: string | undefined },
): Promise<{ readonly seq: number }> {
  return writeThread(engine, threadId, async (thread, now) => {
    const root = rootOf(thread);
    const record = replayed(thread, writer);
    if (record) return done(record.seq);
    if (root?.runId !== runId) {
      if (thread.runs.some((run) => run.runId === runId)) return done(thread.seq); // it ended already
      throw new ToolRunError("not-found", "There is no such run in this conversation.");
    }
    if (root.stop) return done(thread.seq);
    const { key, bodyHash, user } = writer;
    const stop: EventDraft = { type: "stop-requested", runId, by: actorOf(user), reason, key, bodyHash };
    const stopping = sealAll(thread, [stop], now).thread;
    const ends = thread.driverId === null ? endRun(stopping, "stopped") : [];
    return { drafts: [stop, ...ends], answer: (seq, after) => ({ seq: landedAt(after, writer) ?? seq }) };
  });
}

function done(seq: number): Written<{ readonly seq: number }> {
  return { drafts: [], answer: () => ({ seq }) };
}

/** Goes on after a run that was limited, stopped or failed: a new run over the same history. */
export function continueRun(
  engine: Engine,
  threadId: string,
  writer: Writer,
  { runId, turns }: { readonly runId: string; readonly turns?: number | undefined },
  canStart: () => Promise<void>,
): Promise<Receipt> {
  return writeThread(engine, threadId, async (thread) => {
    const record = replayed(thread, writer);
    if (record) return { drafts: [], answer: () => ({ threadId, runId: record.runId ?? "", seq: record.seq }) };
    const last: Run | undefined = thread.runs.findLast((run) => run.depth === 0);
    if (rootOf(thread) || last?.runId !== runId || last.outcome === "completed") {
      throw new ToolRunError("not-waiting", "Only the last run can be continued, and only when it did not complete.");
    }
    await canStart();
    if (turns !== undefined && !(Number.isInteger(turns) && turns >= 1 && turns <= 100)) {
      throw new ToolRunError("bad-request", `turns must be a whole number from 1 to 100; it is ${turns}.`);
    }
    const started = await runStarted(engine, writer.user, { trigger: "continue", continues: runId, turnLimit: turns });
    const { key, bodyHash, user } = writer;
    const draft = { ...started, by: actorOf(user), key, bodyHash };
    return {
      drafts: [draft],
      answer: (seq, after) => ({ threadId, runId: started.runId, seq: landedAt(after, writer) ?? seq }),
    };
  });
}

/** A new title. */
export function renameThread(
  engine: Engine,
  threadId: string,
  writer: Writer,
  title: string,
): Promise<{ readonly seq: number }> {
  return writeThread(engine, threadId, (thread) => {
    const record = replayed(thread, writer);
    if (record) return done(record.seq);
    const { key, bodyHash, user } = writer;
    return {
      drafts: [{ type: "thread-renamed", title, by: actorOf(user), key, bodyHash }],
      answer: (seq) => ({ seq }),
    };
  });
}

/** Takes a remembered approval back, with effect from the next start. */
export function revokeGrant(
  engine: Engine,
  threadId: string,
  writer: Writer,
  grantId: string,
): Promise<{ readonly seq: number }> {
  return writeThread(engine, threadId, (thread) => {
    const record = replayed(thread, writer);
    if (record) return done(record.seq);
    if (!thread.grants.some((grant) => grant.grantId === grantId)) {
      throw new ToolRunError("not-found", "There is no such approval to take back.");
    }
    const { key, bodyHash, user } = writer;
    return {
      drafts: [{ type: "grant-revoked", grantId, by: actorOf(user), key, bodyHash }],
      answer: (seq) => ({ seq }),
    };
  });
}
