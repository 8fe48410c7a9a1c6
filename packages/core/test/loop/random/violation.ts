/** One broken invariant. */
export interface Violation {
  /** Its name, as `INVARIANTS` explains it. */
  readonly invariant: Invariant;
  readonly message: string;
}

export type Fail = (invariant: Invariant, message: string) => void;

/** What holds in every run, whatever model, tools and people do. */
export const INVARIANTS = {
  paired: "a request has every call of ended turns once, whole, in order, and its result right behind it",
  told: "a request holds every message and every note that came before it, and the results the log holds",
  heard: "a turn in the log is what the model said in that answer, up to its end",
  ends: "each run that began ends exactly once, nothing of it comes later, and its outcome is the true one",
  settles: "each call settles exactly once, and the reducer takes every event",
  limits: "no limit is exceeded",
  refused: "nothing starts after a refusal, a stop or an end, or before it was allowed",
  judged: "the app's conditions see each whole turn once, before anything follows from it",
  approved: "what runs is what was last approved, under its digest and its key",
  once: "an attempt runs at most once, after its start is in the log",
  replay: "the log folds to the same state again, in the browser too, and every event fits its schema",
  waits: "a run waits only for somebody, and only when it can do nothing else",
  live: "every run comes to its end",
  clean: "no timer is left, no rejection unhandled, no error of our own",
  answered: "who wrote was told what the log says",
} as const;

export type Invariant = keyof typeof INVARIANTS;
