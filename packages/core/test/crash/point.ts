/**
 * How a server dies.
 *
 * - `before`: an append is on its way; the log has nothing of it.
 * - `inside`: the append is in the log, and nobody on the server hears of it.
 * - `after`: the server heard of it and has just begun what follows.
 * - `effect`: a tool did its work; the log has no result.
 * - `lost`: it does not die. The append is in the log, and its reply is lost.
 */
export const KINDS = ["before", "inside", "after", "effect", "lost"] as const;
export type Kind = (typeof KINDS)[number];

/** What the person does about a call that was cut off. */
export const ANSWERS = ["retry", "skip", "answer"] as const;

/** Where a server dies, and how its person goes on. */
export interface Point {
  readonly kind: Kind;
  /** The append that brings this event; of an effect, which execution of the run. */
  readonly at: number;
  readonly answer: (typeof ANSWERS)[number];
}

/** A point with an answer that goes round. */
export function pointAt(kind: Kind, at: number): Point {
  return { kind, at, answer: ANSWERS[at % ANSWERS.length] ?? "retry" };
}
