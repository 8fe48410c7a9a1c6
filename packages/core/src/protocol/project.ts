import type { ThreadEvent } from "./event.ts";
import { withoutParts } from "./reduce-turn.ts";
import type { Call, Run, Thread, Turn } from "./thread.ts";

/** What may leave the server of one event; undefined when nothing may. */
export function projectEvent(event: ThreadEvent): ThreadEvent | undefined {
  switch (event.type) {
    case "run-started":
      return without(event, ["user", "driverId", "by", "key", "bodyHash"]);
    case "run-resumed":
      return { ...without(event, []), driverId: "" } as ThreadEvent; // as it was, its driver unnamed
    case "thread-renamed":
    case "message-added":
    case "stop-requested":
    case "grant-revoked":
    case "decision-extended":
      return without(event, ["key", "bodyHash"]);
    case "decision-requested":
      return without(event, ["grantKey"]);
    case "decision-recorded":
      return without(event, ["key", "bodyHash", "grantKey"]);
    case "text-added":
      return event.kind === "reasoning" ? undefined : without(event, []);
    case "turn-ended":
      return without(event, ["opaque"]);
    case "turn-started":
      return without(event, ["note", "offered"]);
    case "turn-judged":
      return undefined; // the app's own conditions
    case "run-ended":
      return without(event, ["reason"]);
    case "call-ready":
      return without(event, ["inputText", "providerId", "opaque", "toolHash", "salt"]);
    case "call-judged":
      // An allowed call goes on: nobody needs to hear it, unless a grant of theirs allowed it.
      return event.verdict === "allow" && event.by !== "grant" ? undefined : without(event, []);
    case "call-started":
      return without(event, ["key", "digest"]);
    case "call-settled":
      return without(event, ["toModel"]);
    default:
      return without(event, []);
  }
}

/**
 * A copy without its epoch and the named fields, made field by field: deleting from a copy makes every later use
 * of it slow. The rest of an event's shape is what a browser reads.
 */
function without(event: ThreadEvent, names: readonly string[]): ThreadEvent {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(event)) {
    if (name !== "epoch" && !names.includes(name)) copy[name] = event[name as keyof ThreadEvent];
  }
  return copy as unknown as ThreadEvent; // the removed fields are documented as server only in event.ts
}

const projectedRuns = new WeakMap<Run, Run>();
const projectedTurns = new WeakMap<Turn, Turn>();
const projectedCalls = new WeakMap<Call, Call>();

/** What may leave the server of a thread: equal to folding the projected events. */
export function projectThread(thread: Thread): Thread {
  return {
    ...thread,
    runs: thread.runs.map(projectRun),
    active: thread.active.map(projectRun),
    grants: thread.grants.map((grant) => ({ ...grant, toolHash: undefined, key: undefined })),
    epoch: 0,
    driverId: null,
    activeMs: 0,
    activeAt: 0,
    keys: [],
    anomalies: 0,
  };
}

function projectRun(run: Run): Run {
  const known = projectedRuns.get(run);
  if (known) return known;
  const turns = run.turns.map(projectTurn);
  const turn = run.turn && projectTurn(run.turn);
  const projected = { ...run, user: undefined, reason: undefined, activeFrom: 0, turns, turn };
  projectedRuns.set(run, projected);
  return projected;
}

function projectTurn(turn: Turn): Turn {
  const known = projectedTurns.get(turn);
  if (known) return known;
  // Reasoning stays on the server; the texts around it become one, as they do in the browser's fold.
  const parts = withoutParts(turn.parts, "reasoning");
  const projected = {
    ...turn,
    note: undefined,
    opaque: undefined,
    judged: undefined,
    parts,
    calls: turn.calls.map(projectCall),
  };
  projectedTurns.set(turn, projected);
  return projected;
}

function projectCall(call: Call): Call {
  const known = projectedCalls.get(call);
  if (known) return known;
  const silent = call.verdict?.verdict === "allow" && call.verdict.by !== "grant";
  const projected: Call = {
    ...call,
    verdict: silent ? null : call.verdict,
    ask: call.ask && { ...call.ask, grantKey: undefined },
    inputText: undefined,
    toModel: undefined,
    providerId: undefined,
    opaque: undefined,
    toolHash: undefined,
    salt: undefined,
  };
  projectedCalls.set(call, projected);
  return projected;
}
