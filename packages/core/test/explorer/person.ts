import type { DecisionBody } from "../../src/protocol/request-schema.ts";
import type { Call, Thread } from "../../src/protocol/thread.ts";
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
  /** "ok" or the code of the refusal; of a post about several steps the outcomes of all. */
  readonly outcome: string;
  /** What became of each decision. */
  readonly results: readonly { readonly callId: string; readonly outcome: string }[];
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
}

/** A request as the browser sends it: the same bytes each time. */
export interface Request {
  readonly post: Post;
  readonly threadId: string | undefined;
  readonly runId: string;
  readonly decisions: readonly DecisionBody[];
  /** The grant it takes back. */
  readonly grantId?: string | undefined;
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
    return { post, threadId: thread.createdAt > 0 ? threadId : undefined, runId, decisions: [] };
  }
  if (post.act === "stop") return runId === "" ? undefined : { post, threadId, runId, decisions: [] };
  if (post.act === "revoke") {
    const grantId = thread.grants[0]?.grantId;
    return grantId === undefined ? undefined : { post, threadId, runId, decisions: [], grantId };
  }
  const calls = thread.active.flatMap((run) => run.turn?.calls ?? []);
  const wanted = WANTED[post.act] ?? "approval";
  const waiting = calls.filter((candidate) => openAsk(candidate)?.kind === wanted);
  const decisions = (post.all ? waiting : post.which === "last" ? waiting.slice(-1) : waiting.slice(0, 1)).map((call) =>
    decisionOf(post, call),
  );
  return decisions.length === 0 ? undefined : { post, threadId, runId, decisions };
}

function decisionOf({ act, input = EDITED, scope }: Post, call: Call): DecisionBody {
  const ask = openAsk(call);
  const digest = ask?.digest ?? "";
  const { callId } = call;
  if (act === "edit") return { callId, digest, action: "approve", input, scope };
  const answer = ask?.schema === undefined ? "three" : ANSWER;
  const action = act as DecisionBody["action"]; // sends, stops and revocations are no decisions
  return { callId, digest, action, scope, value: act === "answer" ? answer : undefined };
}

/** One try of a request on one server. */
export async function perform(subject: Subject, engine: Engine, request: Request): Promise<Answer> {
  const { post, threadId, runId, decisions, grantId } = request;
  const { act, key } = post;
  const told = { key, act, results: [] };
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
      return { ...told, outcome: "ok", threadId: receipt.threadId, runId: receipt.runId };
    }
    const id = threadId ?? "";
    if (act === "stop") {
      await subject.openFor(engine, USER, "send", id);
      await subject.stopRun(engine, id, subject.writerOf(USER, key, { runId }), { runId });
      return { ...told, outcome: "ok", runId };
    }
    if (grantId !== undefined) {
      await subject.openFor(engine, USER, "decide", id);
      await subject.revokeGrant(engine, id, subject.writerOf(USER, key, { grantId }), grantId);
      return { ...told, outcome: "ok" };
    }
    await subject.openFor(engine, USER, "decide", id);
    const writer = subject.writerOf(USER, key, decisions);
    const answer = await subject.decide(engine, id, writer, decisions, "browser");
    const results = answer.results.map((result) => ({
      callId: result.callId,
      outcome: result.ok ? "ok" : result.error.code,
    }));
    return { key, act, outcome: results.map(({ outcome }) => outcome).join(), results };
  } catch (error) {
    const outcome = codeOf(error);
    return { key, act, outcome, results: decisions.map(({ callId }) => ({ callId, outcome })) };
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
