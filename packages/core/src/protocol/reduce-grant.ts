import type { ThreadEvent } from "./event.ts";
import type { Grant } from "./grant.ts";
import { runWith, threadWith } from "./one-shape.ts";
import { pathOf } from "./read-thread.ts";
import { withoutGrant } from "./reduce-call.ts";
import type { Call, Run, Thread } from "./thread.ts";

type Recorded = ThreadEvent & { type: "decision-recorded" };

/** Remembers a decision that covers more than its own call. */
export function withGrant(thread: Thread, event: Recorded): Thread {
  if (event.action !== "approve" && event.action !== "deny") return thread;
  if (event.scope !== "run" && event.scope !== "thread") return thread;
  const found = decided(thread, event);
  if (!found) return thread;
  const { run, call } = found;
  const { scope, by, at, reason } = event;
  // What the question said holds for the input it was about.
  const { grant: terms, grantKey: key } = event.input === undefined ? (call.ask ?? event) : event;
  const grant: Grant = {
    grantId: `g-${event.callId}`,
    seq: event.seq,
    verdict: event.action === "approve" ? "allow" : "deny",
    tool: call.tool,
    toolHash: call.toolHash,
    input: call.input,
    key,
    label: terms?.label,
    used: 0,
    uses: event.action === "approve" ? terms?.uses : undefined,
    expiresAt: terms?.forMs === undefined ? undefined : at + terms.forMs,
    reason,
    scope,
    path: pathOf(thread, run),
    runId: thread.active[0]?.runId, // a sub-agent may come and go; the run is the person's
    by,
    at,
  };
  return threadWith(thread, { grants: [...thread.grants, grant] });
}

/** Takes a grant back: a step that it let through and that has not started is to be asked about again. */
export function withoutRevoked(thread: Thread, grantId: string): Thread {
  const isGone = (id: string): boolean => id === grantId;
  return threadWith(thread, {
    grants: thread.grants.filter((grant) => !isGone(grant.grantId)),
    active: thread.active.map((run) => (run.turn ? runWith(run, { turn: withoutGrant(run.turn, isGone) }) : run)),
  });
}

/** Counts a use of a grant. */
export function withUse<Folded extends Thread | undefined>(
  thread: Folded,
  grantId: string | undefined,
): Folded | Thread {
  if (!thread || grantId === undefined) return thread;
  const grants = thread.grants.map((grant) => (grant.grantId === grantId ? { ...grant, used: grant.used + 1 } : grant));
  return threadWith(thread, { grants });
}

/** Remembers for the run that a person denied a tool: saying it otherwise must not get it through. */
export function withDenial(thread: Thread, event: Recorded): Thread {
  const [root, ...others] = thread.active;
  const found = event.action === "deny" ? decided(thread, event) : undefined;
  if (!root || found?.call.ask?.kind !== "approval") return thread;
  const { seq, by, at, reason } = event;
  const denial = { seq, tool: found.call.tool, path: pathOf(thread, found.run), by, at, reason };
  return threadWith(thread, { active: [runWith(root, { denials: [...root.denials, denial] }), ...others] });
}

function decided(thread: Thread, { runId, callId }: Recorded): { run: Run; call: Call } | undefined {
  const run = thread.active.find((candidate) => candidate.runId === runId);
  const call = run?.turn?.calls.find((candidate) => candidate.callId === callId);
  return run && call && { run, call };
}
