import { EFFECT_UNKNOWN, INPUT_CHANGED, INTERRUPTED, NOT_RUN } from "../../src/model/call-result.ts";
import { promptOf } from "../../src/model/prompt.ts";
import { canonicalJson } from "../../src/protocol/digest.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { projectThread } from "../../src/protocol/project.ts";
import { textOf } from "../../src/protocol/read-thread.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { Call, Run, Thread } from "../../src/protocol/thread.ts";
import { emptyThread, turnsOf } from "../../src/protocol/thread.ts";
import type { StoredEvent } from "../../src/store/thread-store.ts";
import { wrongCalm, wrongFollowers, wrongLog } from "../cluster/check-run.ts";
import type { Follower } from "../cluster/follower.ts";
import { fold, plain } from "../protocol/fold.ts";
import type { Deeds } from "./check-calls.ts";
import { decided, wrongCalls } from "./check-calls.ts";
import type { Seen } from "./person.ts";
import { REASON } from "./person.ts";
import type { Told } from "./script.ts";
import { doneWith, RESEARCH_TEXTS, TEXTS } from "./script.ts";

/** Everything that is known of a run when it is over. */
export interface Played extends Seen, Deeds {
  readonly stored: readonly StoredEvent[];
  readonly followers: readonly Pick<Follower, "events" | "seq" | "wrong">[];
  /** Nothing happened to its server. */
  readonly isCalm: boolean;
}

/** What is wrong with a run; nothing when it ended right. */
export function wrongOf(played: Played): readonly string[] {
  const events = played.stored.map(({ seq, data }) => parseEvent(data, seq));
  const thread = fold(events, emptyThread(played.threadId));
  const calls = thread.runs.flatMap((run) => turnsOf(run).flatMap((turn) => turn.calls));
  return [
    ...wrongLog(events, thread),
    ...wrongEnd(played, thread),
    ...wrongPosts(played, events),
    ...wrongCalls(played, events, calls),
    ...wrongFollowers(played, events),
    ...(played.isCalm ? wrongCalm(events) : []),
  ];
}

/** One run and its sub-agent's, both completed; everybody sees what the log adds up to. */
function wrongEnd(played: Played, thread: Thread): string[] {
  const wrong: string[] = [];
  const { runs, active, messages } = thread;
  if (active.length > 0) wrong.push("it did not end");
  if (messages.length !== 1) wrong.push(`it has ${messages.length} messages`);
  const ends = runs.map(({ depth, outcome, code }) => `${depth} ${outcome} ${code ?? ""}`.trim());
  if (ends.join() !== "1 completed,0 completed") {
    wrong.push(`its runs ended ${JSON.stringify(ends)} in epoch ${thread.epoch}`);
  }
  wrong.push(...runs.flatMap((run) => wrongWords(played, thread, run)));
  if (canonicalJson(plain(projectThread(thread))) !== canonicalJson(played.thread)) {
    wrong.push("the server shows another thread than its log adds up to");
  }
  const { status, pending } = played.row;
  if (status !== "ended" || pending !== 0) wrong.push(`the list says ${status}, ${pending} pending`);
  return wrong;
}

/** Calls and results pair, every text is there once, and the model was told what became of its calls. */
function wrongWords(played: Played, thread: Thread, run: Run): string[] {
  promptOf(thread, run, undefined); // throws where they do not pair
  const texts = turnsOf(run).map(textOf);
  const told = JSON.stringify(expectedOf(played, thread, run));
  const expected = [...(run.depth === 0 ? TEXTS : RESEARCH_TEXTS), told];
  if (canonicalJson(texts) === canonicalJson(expected)) return [];
  return [`its turns say ${JSON.stringify(texts)} instead of ${JSON.stringify(expected)}`];
}

/** What the model has to be told of a run's calls. */
function expectedOf(played: Played, thread: Thread, run: Run): readonly Told[] {
  const calls = turnsOf(run).flatMap((turn) => turn.calls);
  return calls.map((call) => ({ name: call.tool, ...toldOf(played, thread, call) }));
}

function toldOf(played: Played, thread: Thread, call: Call): Omit<Told, "name"> {
  const child = thread.runs.find((run) => run.parentCallId === call.callId);
  if (child) return { output: JSON.stringify(expectedOf(played, thread, child)), isError: false };
  const { last, edit } = decided(played, call.callId);
  if (last?.action === "deny") return { output: `${NOT_RUN}: denied by the person: ${REASON}`, isError: true };
  if (last?.action === "skip") return { output: `${INTERRUPTED}. ${EFFECT_UNKNOWN}`, isError: true };
  const { what } = (edit ?? call.input) as { readonly what?: unknown }; // every input of the script is an object
  const output = last?.action === "answer" ? last.value : doneWith(what);
  return { output: edit ? { note: INPUT_CHANGED.person, input: edit, output } : output, isError: false };
}

/**
 * Every decision was taken, and the log has each once, in the order they were made. Only what a call came to after all
 * may come first: a server that stood still and lives on hands it in while the person is asked.
 */
function wrongPosts({ posts }: Played, events: readonly ThreadEvent[]): string[] {
  const late = events.flatMap((event) => (event.type === "call-settled" && event.late ? event.callId : []));
  const bad = posts.flatMap(({ refused }) => refused).filter(({ callId }) => !late.includes(callId));
  const made = posts.flatMap(({ decisions }) => decisions.map(({ callId, action }) => `${callId} ${action}`));
  const recorded = events.flatMap((event) =>
    event.type === "decision-recorded" ? [`${event.callId} ${event.action}`] : [],
  );
  const wrong = bad.map((each) => `a decision was refused: ${JSON.stringify(each)}`);
  if (canonicalJson(made) === canonicalJson(recorded)) return wrong;
  return [...wrong, `the log has the decisions ${JSON.stringify(recorded)} instead of ${JSON.stringify(made)}`];
}
