import type { Call, Run, Thread, Turn } from "./thread.ts";
import { openAsk } from "./thread.ts";

/** The run that asked for a sub-agent's run, and the call that did. */
export function parentOf(thread: Thread, run: Run): { readonly run: Run; readonly call: Call } | undefined {
  if (run.parentCallId === undefined) return undefined;
  for (const parent of thread.active) {
    const call = parent.turn?.calls.find(({ callId }) => callId === run.parentCallId);
    if (call) return { run: parent, call };
  }
  return undefined;
}

/** The agent tools a run stands below, the outermost first; none for the root. */
export function pathOf(thread: Thread, run: Run): readonly string[] {
  const parent = parentOf(thread, run);
  return parent ? [...pathOf(thread, parent.run), parent.call.tool] : [];
}

/** Identifies a question about a call that is not its approval: an answer to another one finds no door. */
export function askDigest(call: Call): string {
  return `${call.digest}.a${call.attempt}.${call.earlier.length + (call.decision ? 1 : 0)}`;
}

/** What a turn says, its texts in one. */
export function textOf(turn: Turn): string {
  return turn.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Where a call stands: its run, its turn and itself. Searches active runs first. */
export function findCall(thread: Thread, callId: string): { run: Run; turn: Turn; call: Call } | undefined {
  for (const run of thread.active) {
    const found = findInRun(run, callId);
    if (found) return found;
  }
  for (let index = thread.runs.length - 1; index >= 0; index--) {
    const run = thread.runs[index];
    const found = run && findInRun(run, callId);
    if (found) return found;
  }
  return undefined;
}

/** The current turn first: nearly every call that is looked for is there. */
function findInRun(run: Run, callId: string): { run: Run; turn: Turn; call: Call } | undefined {
  for (let index = run.turns.length; index >= 0; index--) {
    const turn = run.turns[index] ?? run.turn;
    const call = turn?.calls.find((candidate) => candidate.callId === callId);
    if (turn && call) return { run, turn, call };
  }
  return undefined;
}

/**
 * What a call that starts no more may have done. An attempt that failed, or was cut off, leaves that open; one that
 * asked a person on its way had done nothing yet.
 */
export function effectSoFar(call: Call): "unknown" | "none" {
  if (call.attempt === 0) return "none";
  const kinds = [call.ask, call.decision, ...call.earlier].map((each) => each?.kind);
  const hasAsked = kinds.includes("question") || kinds.includes("link");
  return hasAsked && call.lastError === undefined && !kinds.includes("interrupted") ? "none" : "unknown";
}

/** When the first of the questions that are still open runs out. */
export function nextExpiry(thread: Thread): number | undefined {
  const times = thread.active.flatMap((run) =>
    (run.turn?.calls ?? []).flatMap((call) => openAsk(call)?.expiresAt ?? []),
  );
  return times.length > 0 ? Math.min(...times) : undefined;
}
