import { reduceFrame } from "../protocol/frame.ts";
import type { Thread } from "../protocol/thread.ts";
import { emptyThread, rootOf } from "../protocol/thread.ts";
import type { ThreadView } from "../protocol/view-thread.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { Browser } from "./browser.ts";
import { listenToBrowser, onNextFrame } from "./browser.ts";
import type { Connection, ConnectionEvent } from "./connection-state.ts";
import { nextConnection } from "./connection-state.ts";
import { createFollower } from "./follow.ts";
import type { ActionResult, Refusal, WireOptions } from "./post.ts";
import { refuse, request } from "./post.ts";
import type { Access, InitialThread, ThreadBody, ThreadSnapshot } from "./snapshot.ts";
import { readThreadBody } from "./snapshot.ts";

/** Servers' and browsers' clocks are compared over a network: less than this is noise. */
const CLOCK_NOISE_MS = 500;

/** What a store begins with. */
export interface StoreOptions extends WireOptions {
  readonly threadId?: string | undefined;
  /** The body of `GET /threads/:id`, or the projected thread alone: shown at once, also by a server render. */
  readonly initial?: InitialThread | undefined;
}

/** One thread as this tab knows it: folded outside any framework, read through immutable snapshots. */
export interface ThreadStore {
  subscribe(listener: () => void): () => void;
  getSnapshot(): ThreadSnapshot;
  getServerSnapshot(): ThreadSnapshot;
  /** Reads the thread anew; joins a reading that is under way. */
  refresh(): Promise<ActionResult>;
  /** Like refresh, but certainly begun after now. */
  reread(): Promise<ActionResult>;
  close(): void;
  readonly thread: Thread;
  readonly threadId: string | undefined;
  /** The server gave the thread its id. */
  created(threadId: string): void;
  /** The server accepted a write: what it added to the log, up to `seq`, is ours to fetch. */
  recorded(seq: number): void;
  removed(): void;
  /** What an action that is not about a step came to. */
  acted(result: ActionResult): void;
  /** Something the overlay shows changed. */
  changed(): void;
}

/** Creates the store; nothing is read or opened before somebody subscribes. */
export function createThreadStore(
  options: StoreOptions,
  overlay: (view: ThreadView, thread: Thread) => ThreadView & Pick<ThreadSnapshot, "browserSteps">,
): ThreadStore {
  const initial = readThreadBody(options.initial);
  const listeners = new Set<() => void>();
  let threadId = options.threadId ?? initial?.thread.id;
  let thread = initial?.thread.id === threadId ? initial?.thread : undefined;
  let known = 0; // seq that exists in the log, as far as we have heard
  let connection: Connection = { status: "idle" };
  let readError: Refusal | undefined;
  let actionError: Refusal | undefined;
  let access: Access = initial?.access ?? { send: true, decide: true, remove: true };
  let viewer = initial?.viewer;
  let clockOffsetMs = 0;
  let browser: Browser | undefined;
  let attached = false;
  let reading: Promise<ActionResult> | undefined;
  let dirty = false;

  const frame = onNextFrame(() => {
    current = build();
    for (const listener of [...listeners]) listener();
  });
  const follower = createFollower({
    wire: options,
    wants() {
      const { status } = connection;
      if (!attached || threadId === undefined || status === "removed" || status === "closed") return undefined;
      if (!thread) return "load";
      return known > thread.seq || rootOf(thread)?.status === "running" ? "stream" : undefined;
    },
    shared: () => (viewer ? browser?.share?.(viewer, seqNow) : undefined),
    path: () => `/${threadId}/events?after=${seqNow()}`,
    seq: seqNow,
    load: refresh,
    attempt: () => connection.attempt ?? 0,
    onConnection: dispatch,
    onRefused,
    onFrame(next) {
      const folded = thread && reduceFrame(thread, next);
      if (!folded) return false;
      if (folded !== thread) changed();
      thread = folded;
      return true;
    },
    onReset(body, seq) {
      const read = readThreadBody(body);
      // Older than what the stream was asked for: the server's log is another one now. Else it may have been overtaken.
      if (read) adopt(read, Date.now(), read.thread.seq < seq);
      return read !== undefined;
    },
  });
  let current = build();
  const server = current;

  function build(): ThreadSnapshot {
    dirty = false;
    const shown = thread ?? emptyThread(threadId ?? "");
    const error = actionError ?? readError;
    return {
      ...overlay(viewThread(shown), shown),
      threadId,
      connection,
      error: error ? { code: error.code, message: error.message, reference: error.reference } : null,
      loading: threadId !== undefined && !thread && connection.status !== "removed",
      access,
      clockOffsetMs,
    };
  }

  function seqNow(): number {
    return thread?.seq ?? 0;
  }

  function changed(): void {
    dirty = true;
    if (listeners.size > 0) frame.request();
  }

  function dispatch(event: ConnectionEvent): void {
    if (event.type === "rest") browser?.rest();
    const next = nextConnection(connection, event);
    if (next === connection) return;
    connection = next;
    if (next.status === "live") readError = undefined;
    changed();
  }

  function onRefused(refusal: Refusal): void {
    readError = refusal;
    if (refusal.code === "not-found") dispatch({ type: "removed" });
    changed();
  }

  function refresh(): Promise<ActionResult> {
    reading ??= reread().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function reread(): Promise<ActionResult> {
    if (threadId === undefined) return { ok: true };
    const askedAt = Date.now();
    const reply = await request(options, `/${threadId}`);
    const read = reply.ok ? readThreadBody(reply.body) : undefined;
    if (read) {
      adopt(read, (askedAt + Date.now()) / 2);
      return { ok: true };
    }
    const refusal = reply.ok ? refuse("internal", "The server's answer is not a thread.") : reply;
    onRefused(refusal);
    return refusal;
  }

  /** Only a newer state is taken: replies may overtake each other, and the stream may overtake them. */
  function adopt(read: ThreadBody, at: number, force = false): void {
    if (force || !thread || read.thread.seq > thread.seq) {
      thread = read.thread;
      if (force) known = thread.seq;
      changed();
    }
    const { access: may, now } = read;
    if (may && JSON.stringify(may) !== JSON.stringify(access)) {
      access = may;
      changed();
    }
    if (now !== undefined && Math.abs(now - at - clockOffsetMs) > CLOCK_NOISE_MS) {
      clockOffsetMs = now - at;
      changed();
    }
    if (readError) changed();
    readError = undefined;
    if (read.viewer !== viewer) {
      viewer = read.viewer;
      if (browser?.share) follower.wake(true); // what streams now is not shared, or with others
    }
    follower.start();
  }

  function heard(seq: number): void {
    known = Math.max(known, seq);
    follower.start();
  }

  function attach(): void {
    if (attached || connection.status === "closed") return;
    attached = true;
    browser = listenToBrowser(options.endpoint ?? "", () => threadId, { onWake: follower.wake, onChanged: heard });
    follower.start();
  }

  function detach(): void {
    attached = false;
    follower.stop();
    browser?.stop();
    browser = undefined;
    frame.cancel();
  }

  return {
    subscribe(listener) {
      const own = (): void => listener();
      listeners.add(own);
      attach();
      if (dirty) frame.request();
      return () => {
        listeners.delete(own);
        // Not at once: StrictMode and a moving component unsubscribe and subscribe again within one task.
        queueMicrotask(() => {
          if (listeners.size === 0 && attached) detach();
        });
      };
    },
    getSnapshot() {
      if (dirty && listeners.size === 0) current = build();
      return current;
    },
    getServerSnapshot: () => server,
    refresh,
    reread,
    close() {
      dispatch({ type: "closed" });
      listeners.clear();
      detach();
    },
    get thread() {
      return thread ?? emptyThread(threadId ?? "");
    },
    get threadId() {
      return threadId;
    },
    created(id) {
      threadId = id;
      thread = emptyThread(id);
      changed();
    },
    recorded(seq) {
      heard(seq);
      changed();
      if (threadId !== undefined) browser?.tell(threadId, seq);
    },
    removed() {
      dispatch({ type: "removed" });
      // The other tabs look for what they miss and learn that the thread is gone.
      if (threadId !== undefined) browser?.tell(threadId, Number.MAX_SAFE_INTEGER);
    },
    acted(result) {
      actionError = result.ok ? undefined : result;
      changed();
    },
    changed,
  };
}
