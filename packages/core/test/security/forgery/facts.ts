import type { ThreadEvent } from "../../../src/protocol/event.ts";

/** True for a fact that only a request can make. */
export function isPersons(event: ThreadEvent): boolean {
  switch (event.type) {
    case "decision-recorded":
      return event.action !== "expire";
    case "run-started":
      return event.by !== undefined;
    case "thread-created":
    case "thread-renamed":
    case "message-added":
    case "stop-requested":
    case "grant-revoked":
    case "decision-extended":
      return true;
    default:
      return false;
  }
}
