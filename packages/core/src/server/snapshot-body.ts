import { canonicalJson, hashText } from "../protocol/digest.ts";
import { projectThread } from "../protocol/project.ts";
import type { Thread } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import { withoutLinks } from "../protocol/without-links.ts";
import type { Access } from "./access.ts";

/** Body of `GET /threads/:id`: the projected thread at a seq, and what this user may do with it. */
export interface SnapshotBody {
  readonly seq: number;
  /** The server's clock, so that a browser can show times and expiries right. */
  readonly now: number;
  readonly access: Access;
  /** Equal where the same user may do the same with this thread: such tabs may share one stream. Says nothing else. */
  readonly viewer: string;
  readonly thread: Thread;
}

/** What may leave the server of a thread, for this user. */
export function snapshotBody(thread: Thread, user: User, access: Access, now: number): SnapshotBody {
  const open = projectThread(thread);
  const viewer = hashText(canonicalJson([thread.id, user.id, access]));
  return { seq: thread.seq, now, access, viewer, thread: access.decide ? open : withoutLinks(open) };
}
