import { ToolRunError } from "../errors.ts";
import type { Thread } from "./thread.ts";

/** A stored state: plain JSON of a version that its snapshot names. */
type State = Readonly<Record<string, unknown>>;

/** Makes a state of the next version. Pure; never changed once it is released. */
export type StateUpgrade = (older: State) => State;

/** In order: the first makes version 2 of version 1. */
const UPGRADES: readonly StateUpgrade[] = [];

/** A folded thread as the opaque text of a snapshot. */
export function serialiseState(thread: Thread): string {
  return JSON.stringify({ v: UPGRADES.length + 1, thread });
}

/**
 * Reads what serialiseState wrote, in this version or an earlier one. Trusted like stored events: the envelope is
 * checked, and that it is the state at this seq.
 * @throws `internal` when it is damaged or no state · `unavailable` when newer code wrote it
 */
export function parseState(text: string, seq: number, upgrades: readonly StateUpgrade[] = UPGRADES): Thread {
  const { v, thread } = envelopeOf(text, seq);
  const newest = upgrades.length + 1;
  if (v > newest) {
    throw new ToolRunError(
      "unavailable",
      `The thread was written by a newer version of toolrun (state ${v}, this one reads up to ${newest}); deploy that one here too.`,
    );
  }
  const state: unknown = upgrades.slice(v - 1).reduce((older, upgrade) => upgrade(older), thread);
  return state as Thread; // written by serialiseState, in today's shape by now
}

function envelopeOf(text: string, seq: number): { readonly v: number; readonly thread: State } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ToolRunError("internal", `The snapshot at ${seq} in the store is not JSON.`, { cause });
  }
  if (isState(value) && Number.isSafeInteger(value.v) && Number(value.v) >= 1 && isState(value.thread)) {
    if (typeof value.thread.id === "string" && value.thread.seq === seq) {
      return { v: Number(value.v), thread: value.thread };
    }
  }
  throw new ToolRunError("internal", `The snapshot at ${seq} in the store is not the state at ${seq}.`);
}

function isState(value: unknown): value is State {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
