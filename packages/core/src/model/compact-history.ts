import { wellFormed } from "../protocol/copy-json.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import type { ModelMessage } from "./model.ts";
import { isStopped, isThenable, orAbort } from "./or-abort.ts";
import { NOTE_PREFIX } from "./prompt.ts";

/** When a history is shortened, and to what. */
export interface CompactOptions {
  /** Up to this estimate nothing happens. */
  readonly maxTokens: number;
  /** What is kept of the end, at most; the last message of a person and all after it always are. @defaultValue half of maxTokens */
  readonly keepTokens?: number | undefined;
  /**
   * Puts the left out messages into words; the first may be the note of the time before. Without it, or when it fails,
   * the model is only told how many there were.
   */
  readonly summarise?: ((older: readonly ModelMessage[], signal: AbortSignal) => string | Promise<string>) | undefined;
  /** Said behind every summary: what must not be forgotten. */
  readonly reminder?: string | undefined;
}

/** What surrounds the work on one request. */
export interface CompactWork {
  /** Ends the wait for a summary; the request then goes out with the plain note. */
  readonly signal?: AbortSignal | undefined;
  /** Gets the failure of a summary; a stop is none. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called when messages are left out that were not before. Must not throw. */
  readonly onCompacted?: ((compacted: Compacted) => void) | undefined;
}

export interface Compacted {
  /** Messages left out, those of earlier times included. */
  readonly messages: number;
  /** About how many tokens that saves. */
  readonly savedTokens: number;
}

/** A cut through a history: what the model reads in place of everything before a message. */
interface Cut {
  readonly at: number;
  readonly leftOut: number;
  readonly text: string;
  readonly note: ModelMessage;
}

/** Cuts by the settings they were made with and the first message that is kept. They live as long as both. */
const cuts = new WeakMap<CompactOptions, WeakMap<ModelMessage, Cut>>();

/**
 * A history that fits: system messages as they are, one note about what was left out, and the end, which begins with a
 * message of a person. So no turn is split and no call loses its result, whatever a provider makes of them. A cut is
 * kept until the history outgrows it again: with the same `options` object each summary is paid for once, and requests
 * keep their beginning. Returns `messages` itself when it fits or cannot be cut. Never rejects.
 */
export function compactHistory(
  messages: readonly ModelMessage[],
  options: CompactOptions,
  work: CompactWork = {},
): readonly ModelMessage[] | Promise<readonly ModelMessage[]> {
  const { maxTokens, keepTokens = Math.floor(maxTokens / 2), summarise } = options;
  if (estimateTokens(messages) <= maxTokens) return messages;
  const before = latestCut(messages, options);
  const shorter = before && apply(before, messages);
  if (shorter && estimateTokens(shorter) <= maxTokens) return shorter;
  const at = tailStart(messages, keepTokens);
  const first = messages[at];
  const older = messages.slice(before?.at ?? 0, at).filter(isTalk);
  if (!first || older.length === 0) return shorter ?? messages;

  const leftOut = older.length + (before?.leftOut ?? 0);
  const finish = (text: string, good: boolean): readonly ModelMessage[] => {
    const cut = makeCut({ at, leftOut, text: text.slice(0, 4 * (maxTokens - keepTokens)) }, options);
    if (good) cutsOf(options).set(first, cut); // a failure is not kept: the next request tries again
    const compacted = apply(cut, messages);
    work.onCompacted?.({ messages: leftOut, savedTokens: estimateTokens(messages) - estimateTokens(compacted) });
    return compacted;
  };
  const signal = work.signal ?? new AbortController().signal;
  const fail = (error: unknown): readonly ModelMessage[] => {
    if (!isStopped(signal)) work.onError?.(error);
    return finish(before ? `${before.text}\n${plainText(older.length)}` : plainText(leftOut), false);
  };
  if (!summarise) return finish(plainText(leftOut), true);
  const said = (text: unknown): readonly ModelMessage[] => {
    if (typeof text === "string" && text.trim() !== "") return finish(summaryText(text, leftOut), true);
    return fail(new TypeError("summarise gave no text."));
  };
  let summary: unknown;
  try {
    summary = summarise(before ? [before.note, ...older] : older, signal);
  } catch (error) {
    return fail(error);
  }
  return isThenable(summary) ? orAbort(summary, signal).then(said, fail) : said(summary);
}

function isTalk(message: ModelMessage): boolean {
  return message.role !== "system";
}

/**
 * Where the end begins: the earliest message of a person from which on everything fits, or the last one. Notes of the
 * app stand between an answer and the next, where the question they belong to would be cut off. The length when there
 * is no such message.
 */
function tailStart(messages: readonly ModelMessage[], keepTokens: number): number {
  let start = messages.length;
  let tokens = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index] as ModelMessage; // index is within the list
    tokens += estimateTokens([message]);
    if (tokens > keepTokens && start < messages.length) return start;
    if (isFromPerson(message)) start = index;
  }
  return start;
}

function isFromPerson(message: ModelMessage): boolean {
  if (message.role !== "user") return false;
  const [first] = message.parts;
  return first?.type !== "text" || !first.text.startsWith(NOTE_PREFIX);
}

function cutsOf(options: CompactOptions): WeakMap<ModelMessage, Cut> {
  const known = cuts.get(options) ?? new WeakMap<ModelMessage, Cut>();
  cuts.set(options, known);
  return known;
}

/** The last cut that was made through this history. */
function latestCut(messages: readonly ModelMessage[], options: CompactOptions): Cut | undefined {
  const known = cutsOf(options);
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    const cut = message?.role === "user" ? known.get(message) : undefined;
    // A message may have moved: what stands before it must be as much as was summarised.
    if (!cut || cut.leftOut !== messages.slice(0, at).filter(isTalk).length) continue;
    return { ...cut, at };
  }
  return undefined;
}

function makeCut({ at, leftOut, text }: Pick<Cut, "at" | "leftOut" | "text">, { reminder }: CompactOptions): Cut {
  const words = reminder ? `${text}\n\n${reminder}` : text;
  const note: ModelMessage = { role: "user", parts: [{ type: "text", text: wellFormed(NOTE_PREFIX + words) }] };
  return { at, leftOut, text, note };
}

function apply({ at, note }: Cut, messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return [...messages.slice(0, at).filter((message) => !isTalk(message)), note, ...messages.slice(at)];
}

function plainText(count: number): string {
  return count === 1 ? "1 earlier message was left out." : `${count} earlier messages were left out.`;
}

function summaryText(text: string, leftOut: number): string {
  return `What the ${leftOut} earlier messages said, in short:\n${text}`;
}
