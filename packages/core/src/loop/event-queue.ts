import type { EventDraft } from "../protocol/event.ts";
import { isControl } from "../protocol/event.ts";
import type { Clock } from "./clock.ts";

/**
 * Many producers, one reader: what model and tools report, until the loop takes it. Deltas that arrive
 * while an append is under way become one event (group commit without timers).
 */
export interface EventQueue {
  /** Wakes the reader even with nothing: it is to ask again. */
  push(...drafts: readonly EventDraft[]): void;
  /** Wakes the reader: something changed in the log, it is to look there. */
  poke(): void;
  /** True when there is something to take, and none of it is urgent. */
  hasOnlyDeltas(): boolean;
  /** Everything since the last call. */
  take(): { readonly drafts: EventDraft[]; readonly poked: boolean };
  /** Resolves when there is something to take, or at `until` (wall clock). */
  wait(until: number | null, clock: Clock): Promise<void>;
}

export function createEventQueue(): EventQueue {
  let drafts: EventDraft[] = [];
  let poked = false;
  let wake: (() => void) | undefined;
  let woken = false;
  const notify = (): void => {
    if (!wake) woken = true;
    wake?.();
    wake = undefined;
  };
  return {
    push(...added) {
      for (const draft of added) {
        const merged = merge(drafts.at(-1), draft);
        if (merged) drafts[drafts.length - 1] = merged;
        else drafts.push(draft);
      }
      notify();
    },
    poke() {
      poked = true;
      notify();
    },
    hasOnlyDeltas: () => drafts.length > 0 && !poked && !drafts.some(isControl),
    take() {
      woken = false;
      const taken = { drafts, poked };
      drafts = [];
      poked = false;
      return taken;
    },
    wait(until, clock) {
      if (drafts.length > 0 || poked || woken) return Promise.resolve();
      return new Promise((resolve) => {
        const cancel = until === null ? undefined : clock.after(Math.max(0, until - clock.now()), notify);
        wake = () => {
          cancel?.();
          resolve();
        };
      });
    },
  };
}

/** One event for two neighbouring deltas of the same text or call. */
function merge(last: EventDraft | undefined, next: EventDraft): EventDraft | undefined {
  if (last === undefined || last.runId !== next.runId) return undefined;
  if (last.type === "text-added" && next.type === "text-added") {
    const same = last.kind === next.kind && last.turn === next.turn && last.attempt === next.attempt;
    return same ? { ...last, text: last.text + next.text } : undefined;
  }
  if (last.type === "call-input-added" && next.type === "call-input-added" && last.callId === next.callId) {
    return { ...last, text: last.text + next.text };
  }
  return undefined;
}

/**
 * Drops what a turn's end in the same batch makes unnecessary: arguments shown while they were written. A
 * proposed call stays where text follows it, because it holds the call's place among the parts.
 */
export function withoutSuperseded(drafts: EventDraft[]): EventDraft[] {
  return drafts.filter((draft, index) => {
    if (draft.type !== "call-input-added" && draft.type !== "call-proposed") return true;
    const isOf =
      (type: string) =>
      (other: EventDraft): boolean =>
        other.type === type && other.runId === draft.runId;
    if (drafts.findLastIndex(isOf("turn-ended")) < index) return true;
    return draft.type === "call-proposed" && index < drafts.findLastIndex(isOf("text-added"));
  });
}
