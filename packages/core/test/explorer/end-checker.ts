import { hasUnread } from "../../src/loop/next-action.ts";
import { findCall } from "../../src/protocol/read-thread.ts";
import { serialiseEvent } from "../../src/protocol/stored-event.ts";
import type { Call, Thread } from "../../src/protocol/thread.ts";
import { emptyThread, openAsk, rootOf } from "../../src/protocol/thread.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { foldStored } from "../../src/server/thread-log.ts";
import { answerTo } from "./agents.ts";
import type { Invariant } from "./violation.ts";
import type { World } from "./world.ts";
import { LEASE_MS } from "./world.ts";

/** At rest for a person: the run ended, or somebody is asked and nobody is needed to drive. */
export function isSettledFor({ log, scenario }: World): boolean {
  const { thread } = log;
  const root = rootOf(thread);
  if (!root) return true;
  const calls = thread.active.flatMap((run) => run.turn?.calls ?? []);
  if (root.status !== "waiting" || thread.driverId !== null) return false;
  // Where a turn is held, what was allowed waits for the questions beside it.
  const isHeld = (call: Call): boolean => scenario.agent?.holdTurn === true && call.verdict !== null;
  return calls.some((call) => openAsk(call)) && calls.every((call) => call.status !== "queued" || isHeld(call));
}

/** What must hold with no fault at all, with nobody's help: nothing waits for a sweep or a look. */
export function checkUndisturbed(world: World): void {
  const { log, scenario } = world;
  if (world.spent.faults > 0 || world.spent.crashes > 0) return;
  const fail = failing(world);
  const drives = scenario.drivesPosts ?? true;
  for (const event of log.events) {
    if (event.type === "stop-requested") {
      const end = log.events.find((other) => other.type === "run-ended" && other.runId === event.runId);
      if ((end?.at ?? world.time.now) > event.at + LEASE_MS)
        fail("A16", "a stop was not heard while the tool was silent");
    }
    if (event.type === "call-interrupted") fail("A6", "nothing went wrong, and a call was interrupted");
    if (event.type === "run-resumed" && event.why === "takeover") fail("A6", "a healthy owner was robbed");
    if (event.type === "run-ended" && event.outcome === "failed") fail("live", `nothing went wrong: ${event.code}`);
  }
  if (drives && !isSettledFor(world)) fail("live", "nothing went wrong, and the run goes on no more");
}

/** What must hold when the faults are over and everybody had time to recover. */
export function checkEnd(world: World): void {
  const { log } = world;
  const fail = failing(world);
  const { thread } = log;
  if (!isSettledFor(world)) fail("I4", `the run is stuck: ${rootOf(thread)?.status}, driver ${thread.driverId}`);
  checkCalls(world, fail);
  checkShown(thread, fail);
  checkTexts(world, fail);
  checkAnswers(world, fail);
  const stored = log.events.map((event) => ({ seq: event.seq, batch: "", control: true, data: serialiseEvent(event) }));
  const again = foldStored(emptyThread(thread.id), stored);
  if (JSON.stringify(again) !== JSON.stringify(thread)) fail("I7", "the log folds to another state the second time");
  if (rootOf(thread) && thread.driverId !== null) return;
  const last = thread.runs.at(-1);
  const answered = last?.outcome === "completed" || last?.outcome === "limited";
  if (!rootOf(thread) && answered && hasUnread(thread)) fail("A23", "a message was never read");
  const ended = new Set(thread.runs.map((run) => run.runId));
  for (const event of log.events) {
    if (event.type === "stop-requested" && !ended.has(event.runId ?? "")) fail("I4", "a stop ends nothing");
  }
}

type Fail = (invariant: Invariant, message: string) => void;

function failing(world: World): Fail {
  return (invariant, message) => world.violations.push({ invariant, message });
}

/** I4: what a person approved was run, or they are asked what to make of it. */
function checkCalls(world: World, fail: Fail): void {
  const { log, executions } = world;
  const stopped = new Set(log.events.flatMap((event) => (event.type === "stop-requested" ? [event.runId] : [])));
  for (const [callId, facts] of log.calls) {
    if (stopped.size > 0 && log.thread.runs.some(({ runId }) => runId === facts.runId)) continue;
    const approved = log.events.some(
      (event) => event.type === "decision-recorded" && event.callId === callId && event.action === "approve",
    );
    if (!approved || executions.some((execution) => execution.callId === callId)) continue;
    const call = findCall(log.thread, callId)?.call;
    if (call?.status === "queued" && isSettledFor(world)) continue; // held
    const offered = call !== undefined && (call.ask?.kind === "interrupted" || openAsk(call) !== undefined);
    if (!offered) fail("I4", `${callId} was approved and never ran: ${call?.status} ${call?.reason ?? ""}`);
  }
}

/** I4: whatever waits, at any depth, is in the one list a person sees. */
function checkShown(thread: Thread, fail: Fail): void {
  const shown = new Set(viewThread(thread).pending.map(({ id }) => id));
  for (const { callId } of thread.active.flatMap((run) => run.turn?.calls ?? []).filter((call) => openAsk(call))) {
    if (!shown.has(callId)) fail("I4", `${callId} waits, and nobody is shown it`);
  }
}

/** I5: a completed run says what the model said, once, and had read every message before its last turn. */
function checkTexts({ log }: World, fail: Fail): void {
  const view = viewThread(log.thread);
  for (const event of log.events) {
    if (event.type !== "run-ended" || event.outcome !== "completed") continue;
    const lastTurn = log.events.findLast((other) => other.type === "turn-started" && other.runId === event.runId);
    const read = log.events.filter((other) => other.type === "message-added" && other.seq < (lastTurn?.seq ?? 0));
    const child = log.thread.runs.some((run) => run.runId === event.runId && run.depth > 0);
    const expected = answerTo(child ? 1 : read.length); // a sub-agent reads its task
    if (event.text !== expected) fail("I5", `the answer is "${event.text}"; the model said "${expected}"`);
    if (child) continue; // its words are the result of a step
    const shown = view.messages
      .filter((message) => message.role === "assistant" && message.runId === event.runId)
      .flatMap((message) => message.parts)
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("");
    if (!shown.endsWith(expected)) fail("I5", `the screen shows "${shown}"; the model said "${expected}"`);
  }
}

/** I6: who wrote was told what the log says, and the same each time. */
function checkAnswers({ log, answers, spent }: World, fail: Fail): void {
  const keys = log.events.flatMap((event) => ("key" in event && "bodyHash" in event && event.key ? [event] : []));
  const first = new Map<string, string>();
  for (const { key, act, outcome, results, runId, threadId } of answers) {
    const said = `${act} ${key}: ${outcome}`;
    const whole = `${outcome} ${runId ?? ""} ${threadId ?? ""}`;
    const before = first.get(key);
    if (before !== undefined && before !== whole) fail("I6", `${said}, after "${before}" for the same key`);
    first.set(key, whole);
    const mine = keys.filter((event) => event.key === key);
    if (act === "send" && mine.length !== 1) fail("I6", `${said}, and ${mine.length} messages are in the log`);
    for (const result of results) checkResult(log, key, result, spent.faults === 0, (message) => fail("I6", message));
  }
}

/** One decision's answer against what the log says of its step. */
function checkResult(
  { events }: World["log"],
  key: string,
  { callId, outcome }: World["answers"][number]["results"][number],
  nothingWrong: boolean,
  fail: (message: string) => void,
): void {
  const said = `${key} about ${callId}: ${outcome}`;
  const about = events.filter((event) => "callId" in event && event.callId === callId);
  const recorded = about.filter((event) => event.type === "decision-recorded");
  const own = [...recorded, ...about.filter((event) => event.type === "decision-extended")].some(
    (event) => "key" in event && event.key === key,
  );
  if (own !== (outcome === "ok")) fail(`${said}, and the log says ${own ? "it counts" : "it does not"}`);
  if (outcome === "decided" && recorded.length === 0) fail(`${said}, and nobody decided`);
  const expired = recorded.some((event) => "action" in event && event.action === "expire");
  if (outcome === "expired" && !expired) fail(`${said}, and the log does not`);
  if (!KNOWN.includes(outcome) && nothingWrong) fail(said);
}

const KNOWN: readonly string[] = ["ok", "decided", "expired", "stopped", "not-waiting", "stale", "forbidden"];
