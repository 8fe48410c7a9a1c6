import { ToolRunError } from "../errors.ts";
import type { Json, Usage } from "../protocol/values.ts";

/** What a stop condition sees: after each whole answer, before any of its calls runs. */
export interface StopContext {
  /** 1-based number of the model call. */
  readonly turn: number;
  /** Text of this answer. */
  readonly text: string;
  /** What this answer asks for. */
  readonly calls: readonly { readonly tool: string; readonly input: Json }[];
  /** Of the run so far. */
  readonly usage: Usage;
  /** Calls of earlier turns, those that were not run included. */
  readonly callCount: number;
  /** Results of the turn before, in call order. */
  readonly lastResults: readonly Json[];
  /** Their tools. */
  readonly lastTools: readonly string[];
}

/** True, or a reason, ends the run here: completed, with this answer. */
export type StopWhen = (
  context: StopContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: a condition may just return
) => boolean | string | undefined | void | Promise<boolean | string | undefined | void>;

type Said = Awaited<ReturnType<StopWhen>>;

/** True when a condition said stop. An empty text is no reason: `context.text && "…"` gives one for an empty answer. */
export function saysStop(said: Said): said is true | string {
  return said === true || (typeof said === "string" && said !== "");
}

/** Stops at the answer that follows a call of one of these tools, however the call ended. */
export function afterTool(...names: readonly string[]): StopWhen {
  some("afterTool", names);
  return ({ lastTools }) => sayWhich(lastTools, names, "was called");
}

/** Stops at an answer that calls one of these tools, before it runs: for a tool that only carries the final answer. */
export function toolCalled(...names: readonly string[]): StopWhen {
  some("toolCalled", names);
  return ({ calls }) =>
    sayWhich(
      calls.map(({ tool }) => tool),
      names,
      "is asked for",
    );
}

/** Stops at an answer whose text holds this text, or matches this pattern. */
export function contentMatches(pattern: RegExp | string): StopWhen {
  if (pattern === "")
    throw new ToolRunError("invalid-config", "contentMatches needs a text or a pattern; it is empty.");
  // search, unlike test, does not go on where a pattern with the g flag ended the last time.
  const matches = (text: string): boolean =>
    typeof pattern === "string" ? text.includes(pattern) : text.search(pattern) !== -1;
  return ({ text }) => matches(text) && `The answer matches ${pattern}.`;
}

/** Stops once the run has read and written more tokens than this. */
export function tokensAbove(tokens: number): StopWhen {
  check("tokensAbove", tokens);
  return ({ usage }) => {
    const used = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    return used > tokens && `The run used ${used} tokens, more than ${tokens}.`;
  };
}

/** Stops once the run has made more calls than this. */
export function callsAbove(calls: number): StopWhen {
  check("callsAbove", calls);
  return ({ callCount }) => callCount > calls && `The run made ${callCount} calls, more than ${calls}.`;
}

/** Stops when one of these says so; the first that does gives the reason. */
export function firstOf(...conditions: readonly StopWhen[]): StopWhen {
  some("firstOf", conditions);
  return (context) => ask(conditions, context, saysStop, () => false);
}

/** Stops when each of these says so, with all their reasons. */
export function allOf(...conditions: readonly StopWhen[]): StopWhen {
  some("allOf", conditions);
  return (context) =>
    ask(
      conditions,
      context,
      (said) => !saysStop(said),
      (all) => all.filter((said) => typeof said === "string").join(" ") || true,
    );
}

/** Asks one after the other until one answers like that; waits only for those that take time. */
function ask(
  conditions: readonly StopWhen[],
  context: StopContext,
  isLast: (said: Said) => boolean,
  otherwise: (all: readonly Said[]) => Said,
  before: readonly Said[] = [],
): Said | Promise<Said> {
  const all = [...before];
  for (const condition of conditions.slice(all.length)) {
    const said = condition(context);
    if (said instanceof Promise) {
      return said.then((value) =>
        isLast(value) ? saysStop(value) && value : ask(conditions, context, isLast, otherwise, [...all, value]),
      );
    }
    if (isLast(said)) return saysStop(said) && said;
    all.push(said);
  }
  return otherwise(all);
}

function sayWhich(tools: readonly string[], names: readonly string[], what: string): string | false {
  const found = tools.find((tool) => names.includes(tool));
  return found !== undefined && `The tool ${found} ${what}.`;
}

function some(helper: string, list: readonly unknown[]): void {
  if (list.length === 0) throw new ToolRunError("invalid-config", `${helper}() needs at least one; none is given.`);
}

function check(helper: string, value: number): void {
  if (value >= 0) return;
  throw new ToolRunError("invalid-config", `${helper} needs a number of 0 or more; it is ${value}.`);
}
