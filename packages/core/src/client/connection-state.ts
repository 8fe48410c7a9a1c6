/**
 * How this tab hears of the thread; never how the run is doing.
 *
 * - `idle`: nothing to hear: no thread yet, the run waits for a person or has ended, or nobody subscribed.
 * - `connecting` / `live`: the first try / bytes arrive.
 * - `reconnecting`: try number `attempt` is under way, or starts at `nextAt`.
 * - `offline`: the browser says so; goes on by itself.
 * - `removed`: the thread is gone · `closed`: this client was closed. Both are final.
 */
export type ConnectionStatus = "idle" | "connecting" | "live" | "reconnecting" | "offline" | "closed" | "removed";

export interface Connection {
  readonly status: ConnectionStatus;
  /** Failed tries in a row. */
  readonly attempt?: number | undefined;
  /** Time of the next try, on this browser's clock. */
  readonly nextAt?: number | undefined;
}

/** `moved` is real progress (a frame): only that forgets the failed tries before it. */
export type ConnectionEvent =
  | { readonly type: "open" | "opened" | "moved" | "offline" | "rest" | "removed" | "closed" }
  | { readonly type: "lost"; readonly nextAt: number };

/** The connection's only transition function; the same object when nothing changes. */
export function nextConnection(now: Connection, event: ConnectionEvent): Connection {
  const { status, attempt } = now;
  if (status === "closed" || (status === "removed" && event.type !== "closed")) return now;
  switch (event.type) {
    case "open":
      return attempt === undefined ? move(now, "connecting") : move(now, "reconnecting", attempt);
    case "opened":
      return move(now, "live", attempt);
    case "moved":
      return move(now, "live");
    case "lost":
      return { status: "reconnecting", attempt: (attempt ?? 0) + 1, nextAt: event.nextAt };
    case "offline":
      return move(now, "offline", attempt);
    case "rest":
      return move(now, "idle");
    case "removed":
    case "closed":
      return move(now, event.type);
    default:
      event satisfies never;
      return now;
  }
}

function move(now: Connection, status: ConnectionStatus, attempt?: number): Connection {
  if (now.status === status && now.attempt === attempt && now.nextAt === undefined) return now;
  return attempt === undefined ? { status } : { status, attempt };
}
