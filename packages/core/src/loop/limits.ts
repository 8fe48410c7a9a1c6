import type { Rules } from "../agent/rules.ts";
import { toolRules } from "../agent/rules.ts";
import { parentOf } from "../protocol/read-thread.ts";
import type { Call, Run, Thread, Turn } from "../protocol/thread.ts";
import type { Json, LimitName } from "../protocol/values.ts";

/** A log this long takes no more work: reading it would cost every later reader too much. */
export const MAX_EVENTS = 100_000;

/** More model calls than any run needs. */
export const MAX_TURNS = 250;

/** The rules of the agent that does a run; undefined when a deploy took its tool away. */
export function rulesFor(thread: Thread, run: Run, root: Rules): Rules | undefined {
  if (run.depth === 0) return root;
  const parent = parentOf(thread, run);
  const above = parent && rulesFor(thread, parent.run, root);
  return above && parent && toolRules(above, parent.call.tool)?.agent;
}

/** Calls and tokens of a run with all its sub-agents. */
export function usedBy(thread: Thread, run: Run): { readonly calls: number; readonly tokens: number } {
  let calls = run.callCount + run.childCalls;
  let tokens = (run.usage.inputTokens ?? 0) + (run.usage.outputTokens ?? 0);
  for (const child of thread.active) {
    if (child.depth !== run.depth + 1 || parentOf(thread, child)?.run !== run) continue;
    const used = usedBy(thread, child);
    calls += used.calls;
    tokens += used.tokens;
  }
  return { calls, tokens };
}

/** The first limit on what is used up, its own or that of an agent above it, that forbids a run to go on. */
export function usedUp(thread: Thread, run: Run, root: Rules): "calls" | "tokens" | undefined {
  let first: "calls" | undefined;
  for (let each: Run | undefined = run; each; each = parentOf(thread, each)?.run) {
    const limits = rulesFor(thread, each, root)?.limits;
    if (!limits) return first;
    const used = usedBy(thread, each);
    if (limits.tokens !== null && used.tokens >= limits.tokens) return "tokens";
    if (used.calls >= limits.calls) first = "calls";
  }
  return first;
}

/** How many more calls a run may make, by its own limit and those of the agents above it. */
export function callsLeft(thread: Thread, run: Run, root: Rules): number {
  let left = Number.POSITIVE_INFINITY;
  for (let each: Run | undefined = run; each; each = parentOf(thread, each)?.run) {
    const limit = rulesFor(thread, each, root)?.limits.calls ?? 0;
    left = Math.min(left, limit - usedBy(thread, each).calls);
  }
  return left;
}

/**
 * Turns in a row, up to the last whole one, that asked for the same calls with the same input. Whoever lets a call
 * through by hand wants it: a turn with an approval starts the count anew.
 */
export function repeatsOf(run: Run): number {
  const last = lastWhole(run);
  if (!last || last.calls.length === 0 || last.calls.some(isApproved)) return 0;
  let count = 1;
  for (let index = run.turns.length - (last === run.turn ? 1 : 2); index >= 0; index--) {
    const turn = run.turns[index];
    if (!turn || turn.calls.some(isApproved) || !sameCalls(turn.calls, last.calls)) break;
    count++;
  }
  return count;
}

/** Where a repetition ends the run; Infinity where it never does. */
export function repeatsEnd({ repeats }: Rules["limits"]): number {
  if (!repeats || repeats.follows === "warn") return Number.POSITIVE_INFINITY;
  return repeats.follows === "stop" ? repeats.count : repeats.count * 2;
}

/** Calls that failed in a row: a turn with a success, or one in which nothing ran, ends the row. */
export function failuresOf(run: Run, except: readonly string[]): number {
  let count = 0;
  const last = lastWhole(run);
  let index = last === run.turn ? run.turns.length - 1 : run.turns.length - 2;
  for (let turn = last; turn; turn = run.turns[index--]) {
    if (turn.calls.some((call) => call.status === "succeeded")) break;
    const failed = turn.calls.filter((call) => call.status === "failed");
    if (failed.length === 0) break;
    count += failed.filter((call) => !except.includes(call.tool)).length;
  }
  return count;
}

/** The last turn that came to its end. */
export function lastWhole(run: Run): Turn | undefined {
  return run.turn?.status === "ended" ? run.turn : run.turns.at(-1);
}

/** How far a run has got, in the unit of a limit. */
export function countOf(limit: LimitName, thread: Thread, run: Run, rules: Rules | undefined): number {
  switch (limit) {
    case "calls":
      return usedBy(thread, run).calls;
    case "tokens":
      return usedBy(thread, run).tokens;
    case "time":
      return Math.round(thread.activeMs - run.activeFrom);
    case "repeats":
      return repeatsOf(run);
    case "failures":
      return failuresOf(run, rules?.limits.failures?.except ?? []);
    case "depth":
      return run.depth + 1;
    case "log-size":
      return thread.seq;
    case "completion":
      return gateRefusals(run);
    default:
      return lastWhole(run)?.turn ?? 0; // turns
  }
}

/** How often the completion gate asked for another answer. */
export function gateRefusals(run: Run): number {
  const earlier = run.turns.filter((turn) => turn.judged?.verdict === "again").length;
  return run.turn?.judged?.verdict === "again" ? earlier + 1 : earlier;
}

function isApproved(call: Call): boolean {
  return call.decision?.action === "approve" || call.earlier.some(({ action }) => action === "approve");
}

function sameCalls(left: readonly Call[], right: readonly Call[]): boolean {
  return (
    left.length === right.length &&
    left.every((call, index) => {
      const other = right[index];
      return other !== undefined && call.tool === other.tool && sameJson(asWritten(call), asWritten(other));
    })
  );
}

/** What the model wrote, whatever a policy made of it. */
function asWritten(call: Call): Json {
  return call.changed ? call.changed.from : call.input;
}

/** Equal but for the order of keys. */
function sameJson(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, index) => sameJson(item, right[index] as Json)); // as long as the other
  }
  const [one, two] = [left as { [key: string]: Json }, right as { [key: string]: Json }]; // neither is a list
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(two).length &&
    keys.every((key) => Object.hasOwn(two, key) && sameJson(one[key] as Json, two[key] as Json)) // both have it
  );
}
