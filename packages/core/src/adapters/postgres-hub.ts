import type { StoredEvent } from "../store/thread-store.ts";

/** Where a thread's log ends, or that it was removed. */
export type ThreadEnd = number | "removed";

/** What all followers of one thread in this process share. */
export interface Hub {
  /** Grows with everything that may have changed: who read at this version has read all that is known. */
  readonly version: number;
  /** Calls once, when the version grows. */
  onChange(callback: () => void): void;
  offChange(callback: () => void): void;
  /** What some read found: who waits elsewhere may not know yet. */
  saw(end: ThreadEnd | undefined): void;
  /** The events behind a cursor, where this process wrote them itself a moment ago. */
  written(cursor: number): readonly StoredEvent[] | undefined;
  /** Call it now and then while waiting: a look that never came back must not be the last one. */
  nudge(): void;
  /** The same question at the same version is asked once. */
  shared<Value>(question: string, ask: () => Promise<Value>): Promise<Value>;
  leave(): void;
}

/** A hub as those see it who look after all of them. */
export interface OpenHub extends Hub {
  followers: number;
  /** The last end that anybody saw. */
  end: ThreadEnd | undefined;
  pollMs: number;
  dueAt: number;
  lookedAt: number;
  wake(): void;
  keep(events: readonly StoredEvent[]): void;
}

export const FIRST_POLL_MS = 150;
const KEPT_EVENTS = 64;

export function openHub(close: () => void, nudge: () => void): OpenHub {
  const callbacks = new Set<() => void>();
  const questions = new Map<string, { readonly version: number; readonly answer: Promise<unknown> }>();
  let version = 0;
  let kept: readonly StoredEvent[] = []; // in the log, one behind the other
  const hub: OpenHub = {
    get version() {
      return version;
    },
    followers: 0,
    end: undefined,
    pollMs: FIRST_POLL_MS,
    dueAt: Number.POSITIVE_INFINITY,
    lookedAt: performance.now(),
    nudge,
    wake() {
      version++;
      const waiting = [...callbacks];
      callbacks.clear();
      for (const callback of waiting) callback();
    },
    saw(end) {
      if (hub.end === end) return;
      hub.end = end;
      hub.wake();
    },
    keep(events) {
      // Replies may overtake each other: then the newer events stand alone, and what is between is read.
      const joins = kept.at(-1)?.seq === (events[0]?.seq ?? 0) - 1 && kept.length < KEPT_EVENTS;
      kept = joins ? [...kept, ...events] : events;
    },
    written(cursor) {
      if (kept.at(-1)?.seq !== hub.end) return undefined; // somebody else wrote behind them
      const first = kept[0]?.seq ?? Number.POSITIVE_INFINITY;
      const behind = first <= cursor + 1 ? kept.slice(cursor + 1 - first) : [];
      return behind.length > 0 ? behind : undefined;
    },
    onChange: (callback) => callbacks.add(callback),
    offChange: (callback) => callbacks.delete(callback),
    shared<Value>(question: string, ask: () => Promise<Value>): Promise<Value> {
      const known = questions.get(question);
      if (known?.version === version) return known.answer as Promise<Value>; // one question has one type of answer
      const asked = { version, answer: ask() };
      questions.set(question, asked);
      const forget = (): void => {
        if (questions.get(question) === asked) questions.delete(question);
      };
      asked.answer.then(forget, forget);
      return asked.answer;
    },
    leave() {
      hub.followers--;
      if (hub.followers === 0) close();
    },
  };
  return hub;
}
