import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import type { DecisionBody } from "../../src/protocol/request-schema.ts";
import type { Ask, Call, Thread } from "../../src/protocol/thread.ts";
import { emptyThread, rootOf } from "../../src/protocol/thread.ts";
import type { Follower } from "../cluster/follower.ts";
import type { HttpUser } from "../cluster/http-user.ts";
import { asking } from "../cluster/person.ts";
import type { Point } from "./point.ts";

/** One post of decisions, and what the server said to it in the end. */
export interface Post {
  /** Those it took. */
  readonly decisions: readonly DecisionBody[];
  readonly seq: number;
  readonly refused: readonly Result[];
}

interface Result {
  readonly callId: string;
  readonly ok: boolean;
  readonly error?: unknown;
}

export interface Seen {
  readonly threadId: string;
  /** As the server shows it when the run is over. */
  readonly thread: Thread;
  readonly posts: readonly Post[];
  /** The thread's line in the person's list. */
  readonly row: { readonly status: string; readonly pending: number };
}

export const REASON = "Not this one.";
const EDITED = "90";
const FROM_BROWSER = { text: "12 Mill Road" };
const SIZE = { size: "M" };
const BY_HAND = "given by hand";

const DENIED: readonly unknown[] = ["customer 7", "Bob", "Dan"];

/** A person, their page, and what they make of it. */
export interface Person {
  readonly user: HttpUser;
  /** What to do about a call that was cut off. */
  readonly answer: Point["answer"];
  /** Whether to decide now: who decides while calls still run makes each run another one. */
  mayAct(thread: Thread): boolean;
  /** Opens the page of a thread. */
  watch(threadId: string): Follower;
  /** The log as it is at this moment, whatever a server says. */
  log(threadId: string): Promise<readonly ThreadEvent[]>;
  readonly deadline: number;
}

/**
 * Sends a message and stays to the end of the run: decides everything that waits in one post, as the page shows it. Each
 * request is sent again with the same bytes until it is answered.
 */
export async function beAPerson({ user, answer, mayAct, watch, log, deadline }: Person): Promise<Seen> {
  const begun = await user.post("", { message: { text: "Go" }, key: "begin" });
  const threadId: string = begun.body.threadId;
  if (begun.status !== 201) throw new Error(`The thread was not made: ${begun.status} ${JSON.stringify(begun.body)}`);
  const follower = watch(threadId);
  const posts: Post[] = [];
  /** Answers that the page has not shown yet: the question's digest, and the seq at which it must. */
  const sent = new Map<string, number>();
  for (let thread = emptyThread(threadId), read = 0; ; await sleep(5)) {
    if (Date.now() > deadline)
      throw new Error(`The run does not end; the page shows ${JSON.stringify(asking(thread))}`);
    for (; read < follower.events.length; read++) {
      thread = reduceThread(thread, JSON.parse(follower.events[read] ?? ""));
    }
    if (thread.runs.length > 0 && !rootOf(thread)) break;
    const open = asking(thread).filter(({ ask }) => follower.seq >= (sent.get(ask.digest) ?? 0));
    if (open.length === 0 || !mayAct(thread)) continue;
    const decisions = open.map((call) => decisionOn(call, answer));
    const made = await post(user, threadId, decisions, `decide-${posts.length}`);
    posts.push(made);
    const recorded = (await log(threadId)).filter(({ type }) => type === "decision-recorded");
    if (recorded.length < posts.flatMap((each) => each.decisions).length) {
      throw new Error("A decision was answered and is not in the log.");
    }
    for (const { ask } of open) sent.set(ask.digest, made.seq);
  }
  const { thread } = (await user.get(`/${threadId}`)).body;
  const [row] = (await user.get("")).body.rows;
  return { threadId, thread, posts, row };
}

function decisionOn(call: Call & { readonly ask: Ask }, answer: Point["answer"]): DecisionBody {
  const { callId, input, ask } = call;
  const step = { callId, digest: ask.digest };
  const { what } = input as { readonly what?: unknown }; // every input of the script is an object
  if (ask.kind === "interrupted") {
    return { ...step, action: answer, value: answer === "answer" ? BY_HAND : undefined };
  }
  if (ask.kind === "browser") return { ...step, action: "answer", value: FROM_BROWSER };
  if (ask.kind === "question") return { ...step, action: "answer", value: SIZE };
  if (DENIED.includes(what)) return { ...step, action: "deny", reason: REASON };
  return { ...step, action: "approve", input: call.tool === "price" ? { what: EDITED } : undefined };
}

async function post(user: HttpUser, threadId: string, decisions: readonly DecisionBody[], key: string): Promise<Post> {
  const { body } = await user.post(`/${threadId}/decisions`, { decisions, key });
  const results: readonly Result[] =
    body.results ?? decisions.map(({ callId }) => ({ callId, ok: false, error: body.error }));
  return {
    decisions: decisions.filter((_, index) => results[index]?.ok),
    seq: body.seq ?? 0,
    refused: results.filter(({ ok }) => !ok),
  };
}
