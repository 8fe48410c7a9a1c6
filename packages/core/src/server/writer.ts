import { ToolRunError } from "../errors.ts";
import { canonicalJson, hashText } from "../protocol/digest.ts";
import type { KeyRecord, Thread } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";

/** Who writes, and the identity of the write. */
export interface Writer {
  readonly user: User;
  readonly key: string;
  /** Hash of the body without its key. */
  readonly bodyHash: string;
}

/** A writer for a body; its key makes a repeated request the same request. */
export function writerOf(user: User, key: string, body: unknown): Writer {
  return { user, key, bodyHash: hashText(canonicalJson(body)) };
}

/** The id of the thread a first message creates: the same request again finds the same thread. */
export function newThreadId(user: User, key: string): string {
  return hashText(canonicalJson(["thread", user.id, key])).slice(0, 24);
}

/** Where a write is in the log: the same for the request that made it and for the same request again. */
export function landedAt(thread: Thread, writer: Writer): number | undefined {
  return recordOf(thread, writer)?.seq;
}

function recordOf(thread: Thread, { key, user }: Writer): KeyRecord | undefined {
  return thread.keys.findLast((known) => known.key === key && known.userId === user.id);
}

/**
 * Answers a write that was accepted before, by its key, before anything is validated.
 * @throws `key-reused` when the key came with another body.
 */
export function replayed(thread: Thread, writer: Writer): KeyRecord | undefined {
  const record = recordOf(thread, writer);
  if (record && record.bodyHash !== writer.bodyHash) {
    throw new ToolRunError("key-reused", "This key was used for another request; use a new key for each write.");
  }
  return record;
}
