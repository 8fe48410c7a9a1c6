import type { AnyStep } from "../protocol/step.ts";
import type { Thread } from "../protocol/thread.ts";
import type { ThreadView } from "../protocol/view-thread.ts";
import type { BrowserClaim } from "./browser-tools.ts";
import type { Connection } from "./connection-state.ts";
import type { Refusal } from "./post.ts";
import { asRecord } from "./post.ts";

/** What this user may do with the thread. */
export interface Access {
  readonly send: boolean;
  readonly decide: boolean;
  readonly remove: boolean;
}

/** All a screen needs to know, in one immutable value. */
export interface ThreadSnapshot<Step = AnyStep> extends ThreadView<Step> {
  /** Undefined until the first message was accepted. */
  readonly threadId: string | undefined;
  readonly connection: Connection;
  /** Why the thread cannot be read, or why the last action that is not about a step failed. */
  readonly error: Pick<Refusal, "code" | "message" | "reference"> | null;
  /** True until the first state of a known thread is there. */
  readonly loading: boolean;
  readonly access: Access;
  /** Steps that wait for a browser and have one, by id: this tab, or another of this browser. */
  readonly browserSteps: Readonly<Record<string, BrowserClaim>>;
  /** Server's clock minus this browser's: add it to Date.now() before comparing with times of the thread. */
  readonly clockOffsetMs: number;
}

/** The body of `GET /threads/:id`. */
export interface ThreadBody {
  readonly thread: Thread;
  readonly access?: Access | undefined;
  /** The server's time. */
  readonly now?: number | undefined;
  /** Equal where the same user may do the same: such tabs may share one stream. */
  readonly viewer?: string | undefined;
}

/** What a server render hands over: what `toolrun.read` returned, a snapshot body, or a projected thread. */
export type InitialThread = Thread | ThreadBody | { readonly id: string; readonly snapshot: ThreadBody };

/** Reads any of these; undefined when it is none. */
export function readThreadBody(value: unknown): ThreadBody | undefined {
  const record = asRecord(value);
  if (!record) return undefined;
  if ("snapshot" in record) return readThreadBody(record.snapshot);
  if (isThread(record)) return { thread: record };
  const { thread, access, now, viewer } = record;
  if (!isThread(thread)) return undefined;
  const may = asRecord(access);
  return {
    thread,
    access: may && { send: may.send === true, decide: may.decide === true, remove: may.remove === true },
    now: typeof now === "number" ? now : undefined,
    viewer: typeof viewer === "string" ? viewer : undefined,
  };
}

/** The lists that every reader walks; the rest of the shape is the server's promise. */
function isThread(value: unknown): value is Thread {
  const { id, seq, messages, runs, active, grants } = asRecord(value) ?? {};
  return typeof id === "string" && Number.isSafeInteger(seq) && [messages, runs, active, grants].every(Array.isArray);
}
