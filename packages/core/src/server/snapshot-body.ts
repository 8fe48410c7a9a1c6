import { projectThread } from "../protocol/project.ts";
import type { Thread } from "../protocol/thread.ts";
import { withoutLinks } from "../protocol/without-links.ts";
import type { Access } from "./access.ts";

/** Body of `GET /threads/:id`: the projected thread at a seq, and what this user may do with it. */
export interface SnapshotBody {
  readonly seq: number;
  /** The server's clock, so that a browser can show times and expiries right. */
  readonly now: number;
  readonly access: Access;
  readonly thread: Thread;
}

/** What may leave the server of a thread, for this user. */
export function snapshotBody(thread: Thread, access: Access, now: number): SnapshotBody {
  const open = projectThread(thread);
  return { seq: thread.seq, now, access, thread: access.decide ? open : withoutLinks(open) };
}
