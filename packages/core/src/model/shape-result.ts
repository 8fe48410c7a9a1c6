import { ToolRunError } from "../errors.ts";
import { copyJson, wellFormed } from "../protocol/copy-json.ts";
import type { Json } from "../protocol/values.ts";
import { textOf, tokensOf } from "./estimate-tokens.ts";
import { isThenable, orAbort } from "./or-abort.ts";

/** About 16,000 tokens, a whole answer of most APIs: several such results fit into every model's window. */
export const MAX_RESULT_CHARS: number = 64 * 1024;

/** Which call a result is of. */
export interface ResultInfo {
  readonly tool: string;
  readonly input: Json;
  /** The person's latest message. */
  readonly question: string;
}

/** What the model reads of a successful result. What a person sees, and what the log keeps, stays the output. */
export interface ResultOptions {
  /** Another value for the model, made at once. Undefined keeps the output. */
  readonly process?: ((output: Json, info: ResultInfo) => Json | undefined) | undefined;
  /** What matters of a large result, such as another model's excerpt. Undefined keeps it whole. */
  readonly extract?:
    | ((output: Json, info: ResultInfo, signal: AbortSignal) => Json | undefined | Promise<Json | undefined>)
    | undefined;
  /** Smaller results are not extracted from. @defaultValue 15,000 */
  readonly extractAboveTokens?: number | undefined;
  /** Longer results lose their middle. @defaultValue 65,536 */
  readonly maxChars?: number | undefined;
}

/** A result on its way to the model. */
export interface ResultWork extends ResultInfo {
  /** Makes JSON of what an app's function returned, whatever it is. */
  readonly encode: (value: unknown) => Json;
  /** Gets what `process` or `extract` threw; the model then reads what came in. */
  readonly onError: (error: unknown) => void;
  /** Ends the wait for `extract`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes a successful result through `process`, `extract` and the cut; synchronous where they are. Undefined when the
 * model reads the output as it is. Never throws or rejects.
 */
export function shapeResult(
  output: Json,
  work: ResultWork,
  options: ResultOptions,
): Json | undefined | Promise<Json | undefined> {
  const { process, extract, extractAboveTokens = 15_000, maxChars = MAX_RESULT_CHARS } = options;
  let value = output;
  const take = (made: unknown): void => {
    if (made !== undefined) value = work.encode(made);
  };
  const finish = (): Json | undefined => {
    const shaped = cutMiddle(value, maxChars) ?? value;
    if (shaped === output || JSON.stringify(shaped) === JSON.stringify(output)) return undefined;
    return shaped;
  };
  const fail = (error: unknown): Json | undefined => {
    work.onError(error);
    return finish();
  };
  try {
    if (process) take(atOnce(process(copyJson(value), infoOf(work))));
  } catch (error) {
    work.onError(error);
  }
  if (!extract || tokensOf(value) <= extractAboveTokens) return finish();
  try {
    const signal = work.signal ?? new AbortController().signal;
    const made: unknown = extract(copyJson(value), infoOf(work), signal);
    if (isThenable(made)) return orAbort(made, signal).then(take).then(finish, fail);
    take(made);
    return finish();
  } catch (error) {
    return fail(error);
  }
}

function atOnce(made: unknown): unknown {
  if (!isThenable(made)) return made;
  made.then(undefined, () => undefined); // nobody waits for it, so nobody else would catch it
  throw new TypeError("process must return at once; use extract for what takes time.");
}

/** Only a copy: what the log holds must not change under an app's hands. */
function infoOf({ tool, input, question }: ResultWork): ResultInfo {
  return { tool, input: copyJson(input), question };
}

/** Beginning and end of a long text, where most texts say what they are and how they end; undefined for a short one. */
function cutMiddle(value: Json, maxChars: number): string | undefined {
  const text = textOf(value);
  if (text.length <= maxChars) return undefined;
  const half = Math.floor(maxChars / 2);
  const begins = wellFormed(text.slice(0, half));
  return `${begins}\n[… ${text.length - 2 * half} characters were left out here …]\n${wellFormed(text.slice(-half))}`;
}

/** @throws `invalid-config` naming the setting, its value and the fix. */
export function checkResultOptions({ process, extract, extractAboveTokens, maxChars }: ResultOptions): void {
  if (process !== undefined && typeof process !== "function") throw wrong("process", "a function", process);
  if (extract !== undefined && typeof extract !== "function") throw wrong("extract", "a function", extract);
  if (extractAboveTokens !== undefined && !(extractAboveTokens >= 0)) {
    throw wrong("extractAboveTokens", "0 or more", extractAboveTokens);
  }
  if (maxChars !== undefined && !(maxChars >= 100)) {
    throw wrong("maxChars", "at least 100", maxChars);
  }
}

function wrong(name: string, fix: string, value: unknown): ToolRunError {
  return new ToolRunError("invalid-config", `results.${name} must be ${fix}; it is ${String(value)}.`);
}
