import type { RegisteredAgent } from "../protocol/typed.ts";
import type { DecisionScope } from "../protocol/values.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { BrowserTools } from "./browser-tools.ts";
import { createBrowserTools } from "./browser-tools.ts";
import type { DecisionBody, StepRef } from "./decide.ts";
import { createDecider } from "./decide.ts";
import type { OutgoingMessage, Unsent } from "./outbox.ts";
import { toUnsent, unsentOf } from "./outbox.ts";
import { overlayView } from "./overlay.ts";
import type { ActionResult, Reply } from "./post.ts";
import { createPost, refuse, toResult } from "./post.ts";
import type { ThreadSnapshot } from "./snapshot.ts";
import type { StoreOptions } from "./thread-store.ts";
import { createThreadStore } from "./thread-store.ts";

export interface ThreadClientOptions<Agent = RegisteredAgent> extends StoreOptions {
  /** What this page does for the agent's browser tools. */
  readonly tools?: BrowserTools<Agent> | undefined;
  /** The first message made a thread: keep its id to come back to it. */
  readonly onThread?: ((threadId: string) => void) | undefined;
}

/**
 * What a person can do in a thread. Every action resolves to `{ ok: true }` or to a refusal, never throws,
 * and is the same function for the life of the client. Actions on steps take the step that was rendered:
 * its digest says what the person saw, and the server refuses when that is not what would run.
 */
export interface ThreadActions<Given = StepRef> {
  /** Without a thread the first message makes one. `pending: "deny"` denies open approvals first. */
  send(message: string | OutgoingMessage, options?: SendOptions): Promise<ActionResult>;
  approve(steps: Given | readonly Given[], options?: ApproveOptions): Promise<ActionResult>;
  /** `reason` is told to the model; with `stop` the run ends as well. */
  deny(steps: Given | readonly Given[], reason?: string | DenyOptions): Promise<ActionResult>;
  /** Answers a question, a link or a browser tool. */
  answer(step: Given, answer: Answer): Promise<ActionResult>;
  /** Runs an interrupted step again. */
  retry(step: Given): Promise<ActionResult>;
  /** Goes on without an interrupted step. */
  skip(step: Given): Promise<ActionResult>;
  /** "Keep waiting": gives a question that runs out its time again. */
  extend(step: Given): Promise<ActionResult>;
  /** Ends the run on the server. */
  stop(): Promise<ActionResult>;
  /** Goes on after a limit, with `turns` more turns. */
  continue(options?: { readonly turns?: number | undefined }): Promise<ActionResult>;
  rename(title: string): Promise<ActionResult>;
  /** Ends a remembered approval. */
  revoke(grantId: string): Promise<ActionResult>;
  /** Deletes the thread for everybody. */
  remove(): Promise<ActionResult>;
  /** Reads the thread anew. */
  refresh(): Promise<ActionResult>;
}

export interface SendOptions {
  readonly pending?: "deny" | undefined;
}
export interface ApproveOptions<Input = unknown> {
  /** Replaces the whole input; the server checks it as it checked the model's. */
  readonly input?: Input | undefined;
  /** @defaultValue "once" */
  readonly scope?: DecisionScope | undefined;
}
export interface DenyOptions {
  readonly reason?: string | undefined;
  readonly scope?: DecisionScope | undefined;
  readonly stop?: boolean | undefined;
}
export type Answer = { readonly value: unknown } | { readonly error: string };

/** One thread in one browser tab: an external store and its actions. */
export interface ThreadClient extends ThreadActions {
  /** The first subscriber connects; when the last has left, nothing stays open. */
  subscribe(listener: () => void): () => void;
  /** The same value until the next notification; there is at most one notification per frame. */
  getSnapshot(): ThreadSnapshot;
  /** The state at creation: what a server render shows. */
  getServerSnapshot(): ThreadSnapshot;
  /**
   * Lets another part of the page do browser tools, for as long as the returned function is not called. `tools` is
   * asked at each use, so that functions can change. A tool that two parts offer is done by the later one.
   */
  offerTools(tools: () => BrowserTools<unknown> | undefined): () => void;
  readonly threadId: string | undefined;
  /** Final: disconnects, and notifies nobody any more. */
  close(): void;
}

/** Creates a client. Does nothing, and needs no browser, until somebody subscribes or acts. */
export function createThreadClient<Agent = RegisteredAgent>(options: ThreadClientOptions<Agent> = {}): ThreadClient {
  const post = createPost(options);
  let outbox: readonly Unsent[] = [];
  let delivered: Promise<unknown> = Promise.resolve();
  let stopping: string | undefined; // the run that this tab has asked to stop
  const underWay = new Map<string, Promise<ActionResult>>();

  const decider = createDecider({
    post: (body) => write("/decisions", body),
    refresh: () => store.reread(),
    onChange: () => store.changed(),
  });
  const watchers = new Set<() => void>();
  const browserTools = createBrowserTools({
    // Only while somebody looks on: creating a client, or rendering on a server, starts nothing.
    pending: () => (watchers.size > 0 && store.getSnapshot().access.decide ? viewThread(store.thread).pending : []),
    reread: () => store.reread(),
    answer: (given) => decider.decideEach(given.map(([step, answer]) => [step, { action: "answer", ...answer }])),
    onChange: () => store.changed(),
    clockOffsetMs: () => store.getSnapshot().clockOffsetMs,
  });
  const store = createThreadStore(options, (view, thread) => {
    outbox = outbox.filter(({ seq }) => seq > thread.seq);
    const marked = overlayView(view, {
      isSending: decider.sendingAt(thread.seq),
      messages: unsentOf(outbox, thread).map((unsent) => unsent.view),
    });
    const isStopping = stopping !== undefined && stopping === view.runId && view.status !== "ended";
    return { ...marked, browserSteps: browserTools.claims(), stopping: isStopping || marked.stopping };
  });

  // Each gets the input of its own tool: the server validated it.
  if (options.tools) browserTools.offer(() => options.tools as BrowserTools<unknown>);

  /** A write to the thread; what it added to the log is then fetched. */
  async function write(path: string, body: Readonly<Record<string, unknown>>, method?: string): Promise<Reply> {
    if (store.threadId === undefined) return { ...refuse("not-found", "There is no thread yet."), body: {} };
    const reply = await post(`/${store.threadId}${path}`, body, method);
    const { seq } = reply.body;
    if (typeof seq === "number") store.recorded(seq);
    return reply;
  }

  /** An action that is not about a step; pressed again while under way, it is the same action. */
  function act(path: string, body: Readonly<Record<string, unknown>>, method?: string): Promise<ActionResult> {
    const id = JSON.stringify([path, body]);
    const known = underWay.get(id);
    if (known !== undefined) return known;
    const result = write(path, body, method).then((reply) => {
      underWay.delete(id);
      return finish(reply);
    });
    underWay.set(id, result);
    return result;
  }

  function finish(reply: Reply): ActionResult {
    const result = toResult(reply);
    store.acted(result);
    if (!result.ok && result.code !== "network") void store.reread();
    return result;
  }

  /** One after the other: messages arrive in the order they were written, and only the first makes a thread. */
  function send(message: string | OutgoingMessage, { pending }: SendOptions = {}): Promise<ActionResult> {
    const { text, files }: OutgoingMessage = typeof message === "string" ? { text: message } : message;
    const outgoing = { text, files };
    if (text.trim() === "" && !files?.length) {
      return Promise.resolve(refuse("bad-request", "The message is empty."));
    }
    const { clockOffsetMs, seq } = store.getSnapshot();
    const unsent = toUnsent(outgoing, Date.now() + clockOffsetMs, seq);
    outbox = [...outbox, unsent];
    store.changed();
    const result = delivered.then(() => deliver(unsent, { message: outgoing, pending }));
    delivered = result;
    return result;
  }

  async function deliver(unsent: Unsent, body: Readonly<Record<string, unknown>>): Promise<ActionResult> {
    const isFirst = store.threadId === undefined;
    const reply = isFirst ? await post("", body) : await write("/messages", body);
    const { threadId, seq } = reply.body;
    if (reply.ok && typeof seq === "number") unsent.seq = seq;
    else outbox = outbox.filter((other) => other !== unsent);
    if (isFirst && reply.ok && typeof threadId === "string" && typeof seq === "number") {
      store.created(threadId);
      store.recorded(seq);
      queueMicrotask(() => options.onThread?.(threadId)); // what it throws is the app's, not this message's
    }
    return finish(reply);
  }

  /** An action on the run that is shown. */
  async function actOnRun(path: string, more: Readonly<Record<string, unknown>> = {}): Promise<ActionResult> {
    const { runId } = store.getSnapshot();
    return runId === undefined ? refuse("not-waiting", "There is no run yet.") : act(path, { runId, ...more });
  }

  const decide = (steps: StepRef | readonly StepRef[], body: DecisionBody): Promise<ActionResult> =>
    decider.decide(steps, body);

  return {
    subscribe(listener) {
      // Browser tools start here, where the store has news for somebody: never in a render.
      const stop = store.subscribe(() => {
        browserTools.look();
        listener();
      });
      watchers.add(stop);
      browserTools.look();
      return () => {
        watchers.delete(stop);
        stop();
      };
    },
    offerTools: browserTools.offer,
    getSnapshot: store.getSnapshot,
    getServerSnapshot: store.getServerSnapshot,
    get threadId() {
      return store.threadId;
    },
    close() {
      browserTools.close();
      store.close();
    },
    refresh: store.refresh,
    send,
    approve: (steps, { input, scope } = {}) => decide(steps, { action: "approve", input, scope }),
    deny(steps, given = {}) {
      const { reason, scope, stop } = typeof given === "string" ? { reason: given } : given;
      return decide(steps, { action: "deny", reason, scope, stop });
    },
    answer: (step, answer) => decide(step, { action: "answer", ...answer }),
    retry: (step) => decide(step, { action: "retry" }),
    skip: (step) => decide(step, { action: "skip" }),
    extend: (step) => decide(step, { action: "extend" }),
    async stop() {
      stopping = store.getSnapshot().runId;
      store.changed();
      const result = await actOnRun("/stop");
      if (!result.ok) stopping = undefined;
      store.changed();
      return result;
    },
    continue: ({ turns } = {}) => actOnRun("/continue", { turns }),
    rename: (title) => act("/title", { title }),
    revoke: (grantId) => act("/revoke", { grantId }),
    async remove() {
      const result = await act("", {}, "DELETE");
      if (result.ok) store.removed();
      return result;
    },
  };
}
