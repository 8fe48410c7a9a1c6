import type { Rules } from "../agent/rules.ts";
import { toolRules } from "../agent/rules.ts";
import type { Call, Thread } from "../protocol/thread.ts";
import { openAsk } from "../protocol/thread.ts";
import type { Me } from "./action.ts";

/** What the runs leave to wait for when none of them can move. */
export interface Open {
  readonly waiting: Call[];
  /** When the open questions run out. */
  readonly expiries: number[];
  /** When the next attempts of calls and turns are due. */
  readonly retries: number[];
  queued: boolean;
}

/** Where a driver stands while it looks at one run after the other. */
export interface At {
  readonly thread: Thread;
  /** Rules of the outermost agent. */
  readonly root: Rules;
  readonly now: number;
  readonly me: Me;
  readonly open: Open;
}

/** Rows 11 and 12: approved or allowed calls that may start now, and attempts whose time has come. */
export function startable(calls: readonly Call[], rules: Rules, { now, me, open }: At): readonly Call[] {
  const held = rules.holdTurn && calls.some((call) => openAsk(call));
  const retries = calls.filter((call) => call.status === "running" && call.retryAt !== undefined);
  for (const call of retries) if ((call.retryAt ?? 0) > now) open.retries.push(call.retryAt ?? 0);
  const queued = calls.filter((call) => isQueued(call) && (!held || call.attempt > 0));
  const due = [...retries.filter((call) => (call.retryAt ?? 0) <= now), ...queued];
  // Where a turn is held, its questions come first, and hold the rest.
  const questions = rules.holdTurn ? due.filter((call) => isQuestion(call, rules)) : [];
  const wanted = questions.length > 0 ? questions : due;
  const running = calls.filter((call) => call.status === "running" && call.retryAt === undefined);
  const started: Call[] = [];
  for (const call of wanted) {
    const tool = toolRules(rules, call.tool);
    const busy = [...running, ...started];
    const alone = tool?.sequential || busy.some((other) => toolRules(rules, other.tool)?.sequential);
    if (busy.length >= rules.concurrency || (alone && busy.length > 0)) break;
    if ((tool?.timeoutMs ?? 0) > me.budgetLeftMs) open.queued = true;
    else started.push(call);
  }
  return started;
}

/** Begins by asking, and was not answered yet. */
function isQuestion(call: Call, rules: Rules): boolean {
  const kind = toolRules(rules, call.tool)?.kind;
  return kind === "question" || kind === "browser";
}

function isQueued(call: Call): boolean {
  return call.status === "queued" && call.verdict !== null;
}

/** Starts that were tries: those that an answer began are none. */
export function triesOf(call: Call): number {
  const answered = [...call.earlier, call.decision].filter((decision) => decision?.action === "answer").length;
  return call.attempt - answered;
}
