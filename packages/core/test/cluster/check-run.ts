import { canonicalJson } from "../../src/protocol/digest.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { projectEvent } from "../../src/protocol/project.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { Thread, Turn } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { StoredEvent } from "../../src/store/thread-store.ts";
import { fold, plain } from "../protocol/fold.ts";
import type { Follower } from "./follower.ts";
import type { Execution } from "./journal.ts";
import type { Accepted } from "./person.ts";
import { resultsAfter } from "./person.ts";
import type { Plan } from "./story.ts";
import { finalText, turnText } from "./story.ts";

/** Everything that is known of a run when it is over. */
export interface Played {
  readonly plan: Plan;
  readonly threadId: string;
  readonly decisions: readonly Accepted[];
  readonly followers: readonly Pick<Follower, "events" | "seq" | "wrong">[];
  readonly stored: readonly StoredEvent[];
  readonly executions: readonly Execution[];
  /** No server died or stood still meanwhile. */
  readonly isCalm: boolean;
}

/** What is wrong with a run; nothing when it ended right. */
export function wrongOf(played: Played): readonly string[] {
  const events = played.stored.map(({ seq, data }) => parseEvent(data, seq));
  const thread = fold(events, emptyThread(played.threadId));
  const found = [
    ...wrongLog(events, thread),
    ...wrongEnd(played, thread),
    ...wrongCalls(played, events),
    ...wrongFollowers(played, events),
    ...(played.isCalm ? wrongCalm(events) : []),
  ];
  return found.map((text) => `run ${played.plan.run}: ${text}`);
}

/** A log has no holes, and nothing in it that the fold would not take. */
export function wrongLog(events: readonly ThreadEvent[], thread: Thread): string[] {
  const holes = events
    .filter(({ seq }, index) => seq !== index + 1)
    .map(({ seq }) => `the log has a hole before ${seq}`);
  return thread.anomalies > 0 ? [...holes, `the log has ${thread.anomalies} events that do not fit`] : holes;
}

/** The outcome, and every character of text once. */
function wrongEnd({ plan, decisions }: Played, thread: Thread): string[] {
  const wrong: string[] = [];
  const last = thread.runs.at(-1);
  const expected = finalText(plan, resultsAfter(decisions));
  if (thread.active.length > 0 || last?.outcome !== "completed") wrong.push(`it ended ${last?.outcome} ${last?.code}`);
  // Model calls in a row that died with their servers end a run; the person continued it.
  for (const { outcome, code, turn } of thread.runs.slice(0, -1)) {
    const isCut = outcome === "failed" && code === "model-failed" && (turn?.cuts ?? 0) > 0;
    if (!isCut) wrong.push(`a run of it ended ${outcome} ${code} after ${turn?.cuts} cuts`);
  }
  if (last?.text !== expected) wrong.push(`it said "${last?.text}" instead of "${expected}"`);
  const turns = thread.runs.flatMap((run) => (run.turn ? [...run.turns, run.turn] : run.turns));
  const whole = turns.filter(({ status }) => status === "ended").map(textOf);
  const texts = [turnText(plan, 1), turnText(plan, 2), turnText(plan, 3), expected];
  if (canonicalJson(whole) !== canonicalJson(texts)) wrong.push(`its turns say ${JSON.stringify(whole)}`);
  return wrong;
}

function textOf(turn: Turn): string {
  return turn.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Nothing ran twice, unseen, unasked or denied, and every decision counted once. */
function wrongCalls({ executions, decisions }: Played, events: readonly ThreadEvent[]): string[] {
  const wrong: string[] = [];
  const starts = events.filter((event) => event.type === "call-started");
  const names = executions.map(({ callId, attempt }) => `${callId}#${attempt}`);
  for (const [index, { tool, callId, attempt, isLogged }] of executions.entries()) {
    const name = `${tool} ${callId}#${attempt}`;
    if (names.indexOf(names[index] ?? "") !== index) wrong.push(`${name} ran twice`);
    if (!isLogged) wrong.push(`${name} ran before its start was in the log`);
    if (!starts.some((start) => start.callId === callId && start.attempt === attempt))
      wrong.push(`${name} ran unlogged`);
    const asked = decisions.filter((decision) => decision.callId === callId).map(({ action }) => action);
    if (asked.includes("deny")) wrong.push(`${name} ran and was denied`);
    if (tool === "refund" && !asked.includes("approve")) wrong.push(`${name} ran and nobody approved it`);
    const isOnce = tool === "charge" || tool === "refund";
    const retries = asked.filter((action) => action === "retry").length;
    if (isOnce && attempt > 1 + retries) wrong.push(`${name} ran again and nobody wanted it`);
  }
  const keys = new Set(executions.map(({ callId, idempotencyKey }) => `${callId} ${idempotencyKey}`));
  if (keys.size !== new Set(executions.map(({ callId }) => callId)).size) wrong.push("another try got another key");
  const recorded = events.filter((event) => event.type === "decision-recorded");
  if (canonicalJson(recorded.map(toPair)) !== canonicalJson(decisions.map(toPair))) {
    wrong.push(`the log has the decisions ${JSON.stringify(recorded.map(toPair))}`);
  }
  return wrong;
}

function toPair({ callId, action }: { readonly callId: string; readonly action: string }): string {
  return `${callId} ${action}`;
}

/** Each follower has exactly what may leave the server of the log, in its order. */
export function wrongFollowers({ followers }: Pick<Played, "followers">, events: readonly ThreadEvent[]): string[] {
  const open = events.flatMap((event) => projectEvent(event) ?? []).map((event) => canonicalJson(plain(event)));
  return followers.flatMap((follower, index) => {
    const wrong = follower.wrong.map((text) => `follower ${index}: ${text}`);
    if (follower.seq !== events.length) wrong.push(`follower ${index} is at ${follower.seq} of ${events.length}`);
    const at = open.findIndex((text, place) => follower.events[place] !== text);
    if (at >= 0) wrong.push(`follower ${index} has ${follower.events[at]} instead of ${open[at]}`);
    else if (follower.events.length !== open.length) wrong.push(`follower ${index} has events too many`);
    return wrong;
  });
}

/** Where nobody died, nobody is taken over and nothing interrupted. */
export function wrongCalm(events: readonly ThreadEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === "call-interrupted") return [`${event.callId} was interrupted although nobody died`];
    if (event.type === "run-resumed" && event.why === "takeover") return ["it was taken over although nobody died"];
    return [];
  });
}
