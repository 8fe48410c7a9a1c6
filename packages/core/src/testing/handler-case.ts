import type { Call, Thread } from "../protocol/thread.ts";
import { emptyThread, openAsk, turnsOf } from "../protocol/thread.ts";
import type { ErrorBody } from "../server/errors-on-the-wire.ts";
import { linkSignals } from "../server/link-signals.ts";
import type { SnapshotBody } from "../server/snapshot-body.ts";
import type { Receipt } from "../server/threads.ts";
import type { EventStream } from "./handler-stream.ts";
import { isAtRest, readEvents } from "./handler-stream.ts";
import { check, eventually, same, within } from "./store-case.ts";

/** One rule of the HTTP protocol, as a check that throws when the rule is broken. */
export interface HandlerCase {
  readonly name: string;
  run(context: HandlerCaseContext): Promise<void>;
}

/** An answer that was read. Its body is what the case says it is. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

/** What a case works with: an endpoint, spoken to over HTTP only, by a user nobody else is. */
export interface HandlerCaseContext {
  /** Where the endpoint is mounted: `…/api/toolrun`, without a slash at its end. */
  readonly url: string;
  readonly patienceMs: number;
  /** Aborted when the case is over. */
  readonly signal: AbortSignal;
  newId(): string;
  /** The same endpoint for another user. */
  as(user: string): HandlerCaseContext;
  /** Any request below `…/threads`; the body is not read. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** How a case reaches its endpoint. */
export interface Connection {
  readonly url: string;
  readonly patienceMs: number;
  /** Aborts everything that is still open. */
  readonly signal: AbortSignal;
  fetch(request: Request): Promise<Response>;
}

export function contextFor(connection: Connection, user: string = crypto.randomUUID()): HandlerCaseContext {
  const { url, patienceMs, signal } = connection;
  const newId = (): string => crypto.randomUUID();
  return {
    url,
    patienceMs,
    signal,
    newId,
    as: (other) => contextFor(connection, other),
    fetch(path, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("x-user")) headers.set("x-user", user);
      const request = new Request(`${url}/threads${path}`, { signal, ...init, headers });
      return within({ patienceMs }, `${request.method} ${path}`, connection.fetch(request));
    },
  };
}

export async function get<Body>(
  context: HandlerCaseContext,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> {
  return readAnswer(context, await context.fetch(path, { headers }));
}

/** A write as a page sends it; a text goes as it is. */
export async function post<Body>(
  context: HandlerCaseContext,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
  return readAnswer(context, await context.fetch(path, init));
}

export async function readAnswer<Body>(context: HandlerCaseContext, response: Response): Promise<Answer<Body>> {
  const text = await within(context, "the body of an answer", response.text());
  const { status, headers } = response;
  if (text === "") return { status, headers, text, body: undefined as Body }; // of a case that expects none
  const type = headers.get("content-type") ?? "";
  check(type.startsWith("application/json"), `an answer of ${status} is ${type}, not JSON: ${text.slice(0, 200)}`);
  check(headers.get("cache-control")?.includes("no-store") ?? false, `an answer of ${status} may be kept`);
  return { status, headers, text, body: JSON.parse(text) };
}

/** Insists on a refusal that says what it is, and nothing of the server's inside. */
export function refused(answer: Answer, status: number, code: ErrorBody["code"]): ErrorBody {
  const { error } = answer.body as { readonly error?: ErrorBody }; // checked below
  same([answer.status, error?.code], [status, code], `an answer: ${answer.text.slice(0, 200)}`);
  check(!!error?.message, "an error has a message");
  check(!/\n\s+at |\.[cm]?[jt]s:\d+|node_modules/.test(answer.text), `a stack leaves the server: ${answer.text}`);
  const known = ["code", "message", "issues", "reference", "step"];
  same(
    Object.keys(error).filter((name) => !known.includes(name)),
    [],
    "unknown fields of an error",
  );
  return error;
}

/** Sends a message; without a thread it begins one. */
export async function send(context: HandlerCaseContext, text: string, threadId?: string): Promise<Receipt> {
  const path = threadId === undefined ? "" : `/${threadId}/messages`;
  const answer = await post<Receipt>(context, path, { message: { text }, key: context.newId() });
  same(answer.status, threadId === undefined ? 201 : 202, `status of a message: ${answer.text.slice(0, 200)}`);
  return answer.body;
}

export interface StreamOptions {
  /** What the reader knows already. */
  readonly from?: Thread | undefined;
  readonly headers?: Record<string, string> | undefined;
  /** Of the address, with its question mark. */
  readonly query?: string | undefined;
}

/** Opens a thread's event stream. */
export async function stream(
  context: HandlerCaseContext,
  threadId: string,
  { from = emptyThread(threadId), headers, query }: StreamOptions = {},
): Promise<EventStream> {
  const gone = linkSignals(context.signal);
  const response = await context.fetch(`/${threadId}/events${query ?? `?after=${from.seq}`}`, {
    headers: headers ?? {},
    signal: gone.signal,
  });
  same(response.status, 200, "status of a stream");
  return readEvents({ response, from, patienceMs: context.patienceMs, leave: () => gone.abort() });
}

/** Follows a thread until it ended or waits, as a browser does: a stream that ends before is opened again. */
export async function follow(context: HandlerCaseContext, threadId: string, from?: Thread): Promise<Thread> {
  let thread = from ?? emptyThread(threadId);
  do {
    thread = await (await stream(context, threadId, { from: thread })).rest();
  } while (!isAtRest(thread));
  return thread;
}

/** Sends a message and follows it to its end, or to where it waits. */
export async function play(context: HandlerCaseContext, text: string, threadId?: string): Promise<Thread> {
  return follow(context, (await send(context, text, threadId)).threadId);
}

export async function snapshot(context: HandlerCaseContext, threadId: string): Promise<SnapshotBody> {
  const answer = await get<SnapshotBody>(context, `/${threadId}`);
  same(answer.status, 200, `status of a snapshot: ${answer.text.slice(0, 200)}`);
  return answer.body;
}

/** Asks the snapshot until it shows something. */
export async function shows(
  context: HandlerCaseContext,
  threadId: string,
  what: string,
  holds: (thread: Thread) => boolean,
): Promise<void> {
  await eventually(context, async () => check(holds((await snapshot(context, threadId)).thread), what));
}

/** What a tool of the endpoint counted: asked in a thread of its own. */
export async function count(context: HandlerCaseContext, question: string): Promise<unknown> {
  const thread = await play(context, question);
  return thread.runs[0]?.turns[0]?.calls[0]?.output;
}

/** Calls that wait for a person, each with the digest of its question. */
export function waiting(thread: Thread): readonly Call[] {
  const all = thread.active.flatMap((run) => turnsOf(run).flatMap(({ calls }) => calls));
  return all.flatMap((call) => {
    const ask = openAsk(call);
    return ask ? [{ ...call, digest: ask.digest }] : [];
  });
}

/** The one call that waits. */
export function oneWaiting(thread: Thread): Call {
  const [call, ...others] = waiting(thread);
  check(call !== undefined && others.length === 0, `${others.length + (call ? 1 : 0)} calls wait, not one`);
  return call;
}

/** Posts decisions about one call. */
export function decide(
  context: HandlerCaseContext,
  { id }: Thread,
  { callId, digest }: Pick<Call, "callId" | "digest">,
  decision: Readonly<Record<string, unknown>>,
  key: string = context.newId(),
): Promise<Answer> {
  return post(context, `/${id}/decisions`, { decisions: [{ callId, digest, ...decision }], key });
}
