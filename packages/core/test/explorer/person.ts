import type { DecisionBody } from "../../src/protocol/request-schema.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { openAsk, rootOf } from "../../src/protocol/thread.ts";
import type { AskKind } from "../../src/protocol/values.ts";
import type { Engine } from "../../src/server/engine.ts";
import type { Subject } from "./agents.ts";
import type { Post } from "./scenario.ts";
import { ANSWER, EDITED } from "./scenario.ts";

/** The definite answer to a write, or `unavailable`, after which it is sent again. */
export interface Answer {
  readonly key: string;
  readonly act: Post["act"];
  readonly outcome: string;
  readonly callId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
}

/** A request as the browser sends it: the same bytes each time. */
export interface Request {
  readonly post: Post;
  readonly threadId: string | undefined;
  readonly runId: string;
  readonly decision: DecisionBody | undefined;
}

const USER = { id: "clerk" };
const WANTED: Partial<Readonly<Record<Post["act"], AskKind>>> = {
  retry: "interrupted",
  skip: "interrupted",
  answer: "question",
};

/** Fixes what a person presses, from what is on their screen. Undefined while there is nothing to press. */
export function pressed(post: Post, thread: Thread, threadId: string): Request | undefined {
  if (post.when && !post.when(thread)) return undefined;
  const runId = rootOf(thread)?.runId ?? thread.runs.at(-1)?.runId ?? "";
  if (post.act === "send") {
    return { post, threadId: thread.createdAt > 0 ? threadId : undefined, runId, decision: undefined };
  }
  if (post.act === "stop") return runId === "" ? undefined : { post, threadId, runId, decision: undefined };
  const calls = thread.active.flatMap((run) => run.turn?.calls ?? []);
  const wanted = WANTED[post.act] ?? "approval";
  const call = calls.find((candidate) => openAsk(candidate)?.kind === wanted);
  const ask = call && openAsk(call);
  if (!call || !ask) return undefined;
  const action = post.act === "edit" ? "approve" : post.act;
  const input = post.act === "edit" ? EDITED : undefined;
  const answer = ask.schema === undefined ? "three" : ANSWER;
  const value = post.act === "answer" ? answer : undefined;
  return { post, threadId, runId, decision: { callId: call.callId, digest: ask.digest, action, input, value } };
}

/** One try of a request on one server. */
export async function perform(subject: Subject, engine: Engine, request: Request): Promise<Answer> {
  const { post, threadId, runId, decision } = request;
  const { act, key } = post;
  try {
    if (act === "send") {
      const receipt = await subject.post(
        engine,
        USER,
        key,
        threadId,
        { message: { text: key }, pending: undefined },
        "code",
      );
      return { key, act, outcome: "ok", threadId: receipt.threadId, runId: receipt.runId };
    }
    const id = threadId ?? "";
    if (act === "stop") {
      await subject.openFor(engine, USER, "send", id);
      await subject.stopRun(engine, id, subject.writerOf(USER, key, { runId }), { runId });
      return { key, act, outcome: "ok", runId };
    }
    const decisions = decision ? [decision] : [];
    await subject.openFor(engine, USER, "decide", id);
    const writer = subject.writerOf(USER, key, decisions);
    const { results } = await subject.decide(engine, id, writer, decisions, "browser");
    const [result] = results;
    const outcome = result === undefined ? "nothing" : result.ok ? "ok" : result.error.code;
    return { key, act, outcome, callId: decision?.callId };
  } catch (error) {
    return { key, act, outcome: codeOf(error), callId: decision?.callId };
  }
}

export function threadIdOf(subject: Subject, people: readonly (readonly Post[])[]): string {
  const first = people.flat().find((post) => post.act === "send");
  return subject.newThreadId(USER, first?.key ?? "");
}

export function look(subject: Subject, engine: Engine, threadId: string): Promise<void> {
  const open = async (): Promise<void> => {
    const { thread } = await subject.openFor(engine, USER, "read", threadId);
    if (!subject.isAtRest(thread)) await subject.takeOver(engine, threadId);
  };
  return open().catch(() => undefined);
}

/** A refusal has a code of ours; anything else is a failure of the server, and worth another try. */
function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "unavailable";
  return error.code === "internal" ? "unavailable" : String(error.code);
}
