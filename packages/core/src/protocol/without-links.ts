import type { ThreadEvent } from "./event.ts";
import type { Run, Thread, Turn } from "./thread.ts";

// A link's address may carry a key: it is for who may answer, and for no other reader.

/** The same event without the address it asks somebody to visit. */
export function withoutLink(event: ThreadEvent): ThreadEvent {
  return event.type === "decision-requested" && event.url !== undefined ? { ...event, url: undefined } : event;
}

/** The same thread without such addresses. */
export function withoutLinks(thread: Thread): Thread {
  return { ...thread, runs: thread.runs.map(runWithout), active: thread.active.map(runWithout) };
}

function runWithout(run: Run): Run {
  return { ...run, turns: run.turns.map(turnWithout), turn: run.turn && turnWithout(run.turn) };
}

function turnWithout(turn: Turn): Turn {
  if (turn.calls.every(({ ask }) => ask?.url === undefined)) return turn;
  return {
    ...turn,
    calls: turn.calls.map((call) => (call.ask ? { ...call, ask: { ...call.ask, url: undefined } } : call)),
  };
}
