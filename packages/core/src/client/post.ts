import type { Issue, ToolRunErrorCode } from "../errors.ts";
import { nextDelay } from "./next-delay.ts";

const TRIES = 3;
const REPLY_WITHIN_MS = 15_000;

/** How to reach the server. */
export interface WireOptions {
  /** @defaultValue "/api/toolrun" */
  readonly endpoint?: string | undefined;
  /** @defaultValue the global fetch, looked up at each request */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every request; a function is asked each time, so that a token can change. */
  readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>) | undefined;
}

export type RequestHeaders = Readonly<Record<string, string>>;

/** Why an action did not happen: branch on `code`, show `message`. */
export interface Refusal {
  readonly ok: false;
  readonly code: ToolRunErrorCode;
  readonly message: string;
  readonly issues?: readonly Issue[] | undefined;
  /** Finds the full error in the server's log. */
  readonly reference?: string | undefined;
  /** The real state of the step a decision was refused for. */
  readonly step?: unknown;
}

/** What every action resolves to; actions never throw. */
export type ActionResult = { readonly ok: true } | Refusal;

/** The one success. */
export const DONE: { readonly ok: true } = { ok: true };

/** A refusal of our own. */
export function refuse(code: ToolRunErrorCode, message: string): Refusal {
  return { ok: false, code, message };
}

/** Codes that may be over at the next try. */
const PASSING: ReadonlySet<string> = new Set(["network", "unavailable", "too-many", "internal"]);

/** True for what may succeed when it is tried again. */
export function isPassing(result: ActionResult): boolean {
  return !result.ok && PASSING.has(result.code);
}

type Body = Readonly<Record<string, unknown>>;
export type Reply = { readonly ok: true; readonly body: Body } | (Refusal & { readonly body: Body });

/** A reply without its body: what an action answers. */
export function toResult(reply: Reply): ActionResult {
  if (reply.ok) return DONE;
  const { body: _, ...refusal } = reply;
  return refusal;
}

/** Sends a write with a key of its own, and reads the reply. Never throws. */
export type Post = (path: string, body: Body, method?: string) => Promise<Reply>;

/**
 * One key per write, so that a reply lost on the way is asked for again without doing it twice: by itself
 * a few times, and when the person does the very same again because nobody could say what became of it.
 */
export function createPost(wire: WireOptions): Post {
  const unanswered = new Map<string, { readonly content: string; readonly key: string }>();
  return async (path, body, method = "POST") => {
    const content = toJson([method, body]);
    if (content === undefined)
      return { ...refuse("bad-request", "This cannot be sent: it is not plain JSON."), body: {} };
    const before = unanswered.get(path);
    const key = before?.content === content ? before.key : newKey();
    unanswered.delete(path);
    const reply = await repeat(() => request(wire, path, method, JSON.stringify({ ...body, key })));
    // Also after a 500: it may come from something that lost the answer of a server that did record the write.
    if (isPassing(reply)) unanswered.set(path, { content, key });
    // What is gone is removed: by the try before, whose reply was lost, or by somebody else.
    return !reply.ok && reply.code === "not-found" && method === "DELETE" ? { ok: true, body: {} } : reply;
  };
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

async function repeat(attemptOnce: () => Promise<Reply>): Promise<Reply> {
  for (let attempt = 1; ; attempt++) {
    const reply = await attemptOnce();
    if (!isUnanswered(reply) || attempt === TRIES) return reply;
    await new Promise((resolve) => setTimeout(resolve, nextDelay(attempt, Math.random())));
  }
}

/** True when nobody can say whether the write was recorded. */
function isUnanswered(reply: Reply): boolean {
  return !reply.ok && (reply.code === "network" || reply.code === "unavailable");
}

/** One request and its reply, read and checked. Never throws. */
export async function request(wire: WireOptions, path: string, method = "GET", text?: string): Promise<Reply> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), REPLY_WITHIN_MS);
  try {
    const response = await send(wire, path, timeout.signal, method, text);
    return await readReply(response);
  } catch {
    return { ...refuse("network", "The server could not be reached."), body: {} };
  } finally {
    clearTimeout(timer);
  }
}

/** The one place that calls fetch. */
export async function send(
  { endpoint = "/api/toolrun", fetch = globalThis.fetch, headers }: WireOptions,
  path: string,
  signal: AbortSignal,
  method = "GET",
  body: string | null = null,
): Promise<Response> {
  const own = typeof headers === "function" ? await headers() : headers;
  const type = body === null ? undefined : { "content-type": "application/json" };
  return fetch(`${endpoint}/threads${path}`, {
    method,
    body,
    signal,
    headers: { ...own, ...type },
    cache: "no-store",
    credentials: "same-origin",
  });
}

/** Reads text that has to be whole: what was damaged on the way throws, instead of looking like text. */
export function utf8(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: true });
}

/**
 * A reply as data; what is not the server's own error form becomes one by its status.
 * @throws when its bytes are no text.
 */
export async function readReply(response: Response): Promise<Reply> {
  const { ok, status } = response;
  const body = asRecord(parseJson(utf8().decode(await response.arrayBuffer())));
  if (ok && (body || status === 204)) return { ok, body: body ?? {} };
  const { code, message, issues, reference, step } = asRecord(body?.error) ?? {};
  return {
    ok: false,
    code: (typeof code === "string" ? code : codeOf(status)) as ToolRunErrorCode, // an unknown one is shown like any
    message: typeof message === "string" ? message : `The server answered ${status}.`,
    issues: Array.isArray(issues) ? issues : undefined,
    reference: typeof reference === "string" ? reference : undefined,
    step,
    body: body ?? {},
  };
}

/** 200 with no JSON, 502 to 504: something between us and the server answered, or cut the answer short. */
function codeOf(status: number): ToolRunErrorCode {
  if (status === 401) return "unauthenticated";
  if (status === 403) return "forbidden";
  if (status === 404 || status === 410) return "not-found";
  if (status === 413) return "too-large";
  return status === 429 ? "too-many" : status > 500 || status < 400 ? "unavailable" : "internal";
}

/** The value as an object with string keys, if it is one. */
export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>) // any object can be read by key
    : undefined;
}

/** The JSON value of a text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** 128 random bits. Not randomUUID: that exists on https and localhost only, and phones on a LAN have neither. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
