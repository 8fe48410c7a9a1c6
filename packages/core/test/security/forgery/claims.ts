import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { Honest } from "./honest.ts";
import { inOrder } from "./own-rules.ts";
import type { Sent } from "./sent.ts";

/** What the server answered. */
export interface Answered {
  readonly status: number;
  readonly text: string;
}

type Claims = (
  sent: Sent,
  answered: Answered,
  logOf: (threadId: string) => readonly ThreadEvent[] | undefined,
  removed: ReadonlySet<string>,
) => string | undefined;

/** Holds the server to its answers: what it says it accepted is in the log, by this user, and under a key once. */
export function createClaims(past: readonly Honest[]): Claims {
  const bodies = new Map(past.map(({ user, path, body }) => [placeOf(user, path, body), bodyOf(body)]));
  return (sent, { status, text }, logOf, removed) => {
    const { method, user, action, body } = sent;
    if (status >= 300 || method === "GET" || method === "HEAD") return undefined;
    if (method === "DELETE") return removed.has(sent.threadId ?? "") ? undefined : "it says removed";
    const threadId = sent.threadId ?? String(JSON.parse(text).threadId);
    const log = logOf(threadId) ?? [];
    const mine = log.filter(
      (event) => "key" in event && event.key === body?.key && "by" in event && event.by?.id === user,
    );
    if (action === "decisions") {
      const { results } = JSON.parse(text) as { results: { callId: string; ok: boolean }[] };
      const isThere = (callId: string): boolean => mine.some((event) => "callId" in event && event.callId === callId);
      return results.every(({ callId, ok }) => !ok || isThere(callId)) ? undefined : "it says recorded";
    }
    if (action === "stop") {
      // Of a run that has ended or is stopped already any stop is right.
      const isOver = ({ type, runId }: ThreadEvent): boolean =>
        (type === "stop-requested" || type === "run-ended") && runId === body?.runId;
      return log.some(isOver) ? undefined : "it says stopped";
    }
    if (mine.length === 0) return "it says accepted";
    const place = placeOf(user, sent.threadId === undefined ? "" : `/${threadId}`, body);
    const known = bodies.get(place) ?? bodyOf(body);
    bodies.set(place, known);
    return known === bodyOf(body) ? undefined : "the same key took another body";
  };
}

/** Where a key counts: for its user, in its conversation. */
function placeOf(user: string | undefined, path: string, body: Sent["body"]): string {
  return [user, path.split("/")[1], body?.key].join(" ");
}

function bodyOf(body: Sent["body"]): string {
  return inOrder({ ...body, key: undefined });
}
