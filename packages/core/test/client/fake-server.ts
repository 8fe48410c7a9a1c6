import type { EventDraft, ThreadEvent } from "../../src/protocol/event.ts";
import { toFrame } from "../../src/protocol/frame.ts";
import { projectEvent, projectThread } from "../../src/protocol/project.ts";
import { findCall } from "../../src/protocol/read-thread.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import { viewStep } from "../../src/protocol/step.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread, openAsk, rootOf } from "../../src/protocol/thread.ts";
import type { Json } from "../../src/protocol/values.ts";

export interface SeenRequest {
  readonly method: string;
  /** Below `/threads`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a test does to a request: a response, or a network that loses the request or its reply. */
export type Fault = Response | "lose-request" | "lose-reply" | undefined;

export interface FakeServer {
  readonly fetch: typeof globalThis.fetch;
  readonly requests: readonly SeenRequest[];
  readonly thread: Thread;
  readonly openStreams: number;
  /** Appends to the log and sends one frame to every open stream. */
  append(...drafts: readonly EventDraft[]): void;
  /** Sends raw bytes to every open stream. */
  sendRaw(text: string): void;
  /** Breaks every open stream. */
  cut(): void;
  /** Ends every open stream cleanly. */
  end(): void;
  /** Asked before each request is handled. */
  fault: (request: SeenRequest) => Fault | Promise<Fault>;
  /** Whom snapshots are for; without one, tabs share no stream. */
  viewer: string | undefined;
  /** Changes the bytes a new stream starts with. */
  backlog: (bytes: Uint8Array) => { readonly chunks: readonly Uint8Array[]; readonly cut?: boolean };
}

const encoder = new TextEncoder();
const user = { id: "u1" };

/** The wire contract over an in-process log: real events, real reducer, real projection, real frames. */
export function createFakeServer(id = "t1"): FakeServer {
  let thread = emptyThread(id);
  const log: ThreadEvent[] = [];
  const requests: SeenRequest[] = [];
  const replies = new Map<string, { status: number; body: unknown }>();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let removed = false;

  const server: FakeServer = {
    fetch: async (input, init) => {
      const url = new URL(String(input), "http://test");
      const seen: SeenRequest = {
        method: init?.method ?? "GET",
        path: url.pathname.split("/threads")[1] + url.search,
        body: typeof init?.body === "string" ? JSON.parse(init.body) : {},
      };
      requests.push(seen);
      const fault = await server.fault(seen);
      if (fault instanceof Response) return fault;
      if (fault === "lose-request") throw new TypeError("Load failed");
      const response = handle(seen, url, init?.signal ?? undefined);
      if (fault === "lose-reply") throw new TypeError("Load failed");
      return response;
    },
    requests,
    get thread() {
      return thread;
    },
    get openStreams() {
      return streams.size;
    },
    append,
    sendRaw: (text) => each((stream) => stream.enqueue(encoder.encode(text))),
    cut: () => each((stream) => drop(stream, () => stream.error(new TypeError("Load failed")))),
    end: () => each((stream) => drop(stream, () => stream.close())),
    fault: () => undefined,
    viewer: undefined,
    backlog: (bytes) => ({ chunks: [bytes] }),
  };

  function each(act: (stream: ReadableStreamDefaultController<Uint8Array>) => void): void {
    for (const stream of [...streams]) act(stream);
  }

  function drop(stream: ReadableStreamDefaultController<Uint8Array>, close: () => void): void {
    streams.delete(stream);
    close();
  }

  function append(...drafts: readonly EventDraft[]): void {
    const from = thread.seq + 1;
    for (const draft of drafts) {
      const event = sealEvent(draft, thread.seq + 1, Date.now());
      log.push(event);
      thread = reduceThread(thread, event);
    }
    const text = frameText(from);
    each((stream) => stream.enqueue(encoder.encode(text)));
    if (rootOf(thread)?.status !== "running") server.end();
  }

  function frameText(from: number): string {
    const events = log.filter((event) => event.seq >= from);
    const projected = events.flatMap((event) => projectEvent(event) ?? []);
    const frame = toFrame(from, thread.seq, log.at(-1)?.at ?? 0, projected);
    return `id: ${thread.seq}\ndata: ${JSON.stringify(frame)}\n\n`;
  }

  function handle({ method, path, body }: SeenRequest, url: URL, signal: AbortSignal | undefined): Response {
    const key = typeof body.key === "string" ? body.key : undefined;
    const known = key === undefined ? undefined : replies.get(key);
    if (known) return json(known.status, known.body);
    const reply = (status: number, value: unknown): Response => {
      if (key !== undefined) replies.set(key, { status, body: value });
      return json(status, value);
    };
    const [, threadId, verb] = (path.split("?")[0] ?? "").split("/");
    if (threadId !== undefined && (threadId !== id || removed)) return json(404, refusal("not-found"));
    if (method === "DELETE") {
      removed = true;
      server.sendRaw("event: removed\ndata: {}\n\n");
      return new Response(null, { status: 204 });
    }
    if (method === "GET" && threadId === undefined) return json(200, { rows: [rowOf(thread)] });
    if (verb === "events") return follow(Number(url.searchParams.get("after")), signal);
    if (method === "GET") return json(200, { ...snapshotOf(thread), viewer: server.viewer });
    return write(verb ?? "threads", body, reply);
  }

  function write(
    verb: string,
    body: SeenRequest["body"],
    reply: (status: number, value: unknown) => Response,
  ): Response {
    const root = rootOf(thread);
    switch (verb) {
      case "threads":
      case "messages": {
        const message = body.message as { text: string }; // the client under test wrote it
        if (verb === "threads") append({ type: "thread-created", owner: user.id, agent: "shop", title: message.text });
        append({
          type: "message-added",
          messageId: `m${thread.seq}`,
          parts: [{ type: "text", text: message.text }],
          by: user,
          key: String(body.key),
          bodyHash: "h",
        });
        if (!root) append(startRun(`r${thread.seq}`));
        return reply(verb === "threads" ? 201 : 202, {
          threadId: id,
          runId: rootOf(thread)?.runId,
          seq: thread.seq,
        });
      }
      case "decisions":
        return decide(body, reply);
      case "stop":
        if (root?.runId !== body.runId) return reply(409, refusal("not-waiting"));
        append({ type: "stop-requested", runId: root?.runId, by: user, key: String(body.key), bodyHash: "h" });
        return reply(202, { seq: thread.seq });
      case "title":
        append({ type: "thread-renamed", title: String(body.title), by: user, key: String(body.key), bodyHash: "h" });
        return reply(200, { seq: thread.seq });
      case "continue":
        append(startRun(`r${thread.seq}`));
        return reply(202, { threadId: id, seq: thread.seq });
      default:
        return reply(200, { seq: thread.seq });
    }
  }

  function decide(body: SeenRequest["body"], reply: (status: number, value: unknown) => Response): Response {
    const decisions = body.decisions as FakeDecision[]; // ours
    const results = decisions.map(({ callId, digest, action, value, error }) => {
      const found = findCall(thread, callId);
      if (!found || !openAsk(found.call) || found.call.digest !== digest) {
        const code = !found ? "not-found" : found.call.digest === digest ? "decided" : "stale";
        const step = found && viewStep(thread, found.call);
        return { callId, ok: false, error: { ...refusal(code).error, step } };
      }
      const { runId } = found.run;
      append({
        type: "decision-recorded",
        runId,
        callId,
        digest,
        action,
        value,
        error,
        by: user,
        via: "browser",
        key: String(body.key),
        bodyHash: "h",
      });
      const settled = { type: "call-settled", runId, callId } as const;
      if (error !== undefined) append({ ...settled, outcome: "failed", error: { code: "tool-error", message: error } });
      else if (action === "answer") append({ ...settled, outcome: "succeeded", output: value ?? null });
      else if (action === "skip") append({ ...settled, outcome: "not-run", reason: "skipped" });
      if (rootOf(thread)?.status !== "waiting") append({ type: "run-resumed", runId, why: "decision", driverId: "d" });
      return { callId, ok: true };
    });
    const first = results.find((result) => !result.ok);
    if (first && results.every((result) => !result.ok)) return reply(409, { error: first.error, results });
    return reply(200, { seq: thread.seq, results });
  }

  function follow(after: number, signal: AbortSignal | undefined): Response {
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        own = stream;
        const text = `: toolrun\n\n${after < thread.seq ? frameText(after + 1) : ""}`;
        const { chunks, cut } = server.backlog(encoder.encode(text));
        for (const chunk of chunks) stream.enqueue(chunk);
        // An error throws away what was not read yet, as a broken connection may.
        if (cut) setTimeout(() => stream.error(new TypeError("Load failed")), 5);
        else if (rootOf(thread)?.status === "running") streams.add(stream);
        else stream.close();
      },
      cancel() {
        if (own) streams.delete(own);
      },
    });
    signal?.addEventListener("abort", () => {
      if (own && streams.delete(own)) own.error(signal.reason);
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  return server;
}

interface FakeDecision {
  readonly callId: string;
  readonly digest: string;
  readonly action: "approve" | "deny" | "answer" | "skip";
  readonly value?: Json;
  readonly error?: string;
}

/** The body of `GET /threads/:id`. */
export function snapshotOf(thread: Thread): Record<string, unknown> {
  const access = { send: true, decide: true, remove: true };
  return { seq: thread.seq, now: Date.now(), access, thread: projectThread(thread) };
}

export function startRun(runId: string): EventDraft {
  return { type: "run-started", runId, trigger: "message", depth: 0, agentVersion: "1", driverId: "d", epoch: 1 };
}

export function startTurn(runId: string, turn = 1): EventDraft {
  return { type: "turn-started", runId, turn, attempt: 1, model: "m" };
}

export function text(runId: string, value: string, turn = 1): EventDraft {
  return { type: "text-added", runId, turn, attempt: 1, text: value };
}

/** A turn that ends with one call per id, each waiting for approval, and the run waiting for them. */
export function askFor(runId: string, callIds: readonly string[], turn = 1): EventDraft[] {
  return [
    { type: "turn-ended", runId, turn, attempt: 1, finishReason: "tool-calls" },
    ...callIds.flatMap((callId): EventDraft[] => [
      {
        type: "call-ready",
        runId,
        callId,
        turn,
        tool: "refundOrder",
        input: { orderId: callId, amount: 49.9 },
        toolHash: "th",
        salt: "s",
        digest: `d-${callId}`,
      },
      { type: "call-judged", runId, callId, verdict: "ask", by: "default", digest: `d-${callId}` },
      { type: "decision-requested", runId, callId, kind: "approval", digest: `d-${callId}` },
    ]),
    { type: "run-waiting", runId, for: [...callIds] },
  ];
}

/** A turn that ends with one call per id, each waiting for a browser, and the run waiting for them. */
export function askBrowserFor(runId: string, callIds: readonly string[], about: AskBrowser = {}): EventDraft[] {
  const { turn = 1, tool = "pickLocation", expiresAt } = about;
  return [
    { type: "turn-ended", runId, turn, attempt: 1, finishReason: "tool-calls" },
    ...callIds.flatMap((callId): EventDraft[] => {
      const digest = `d-${callId}`;
      const call = { runId, callId, turn, tool, input: { precise: true }, toolHash: "th", salt: "s", digest };
      return [
        { type: "call-ready", ...call },
        { type: "call-judged", runId, callId, verdict: "allow", by: "default", digest },
        { type: "decision-requested", runId, callId, kind: "browser", digest, expiresAt },
      ];
    }),
    { type: "run-waiting", runId, for: [...callIds] },
  ];
}

interface AskBrowser {
  readonly turn?: number;
  readonly tool?: string;
  readonly expiresAt?: number;
}

export function endRun(runId: string, answer = ""): EventDraft {
  return { type: "run-ended", runId, outcome: "completed", text: answer, usage: {} };
}

function refusal(code: string): { error: { code: string; message: string } } {
  return { error: { code, message: `Refused: ${code}.` } };
}

function rowOf(thread: Thread): Record<string, unknown> {
  return { id: thread.id, title: thread.title, status: "running", pending: 0, updatedAt: thread.at };
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}
