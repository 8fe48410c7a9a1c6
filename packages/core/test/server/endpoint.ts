import type { Agent } from "../../src/agent/agent.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { ToolRunOptions } from "../../src/server/create-tool-run.ts";
import { createEngine } from "../../src/server/create-tool-run.ts";
import type { Engine } from "../../src/server/engine.ts";
import type { HttpOptions } from "../../src/server/handle-request.ts";
import { handleRequest } from "../../src/server/handle-request.ts";
import type { Verbs } from "../../src/server/verbs.ts";
import { createVerbs } from "../../src/server/verbs.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import { fold } from "../protocol/fold.ts";

export const clerk = { id: "clerk", name: "Clerk" } as const;

export const BASE = "https://shop.test/api/toolrun/threads";

/** One server of the app: its own engine over a store that others may share. */
export interface Endpoint extends Verbs {
  readonly engine: Engine;
  readonly clock: FakeClock;
  readonly store: ThreadStore;
  /** Everything that was reported on the server. */
  readonly errors: unknown[];
  /** A request by the user named in `x-user`, by `clerk` without one; `nobody` is not signed in. */
  handle(request: Request): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  events(threadId: string): Promise<readonly ThreadEvent[]>;
  thread(threadId: string): Promise<Thread>;
}

export interface EndpointOptions extends Partial<Omit<ToolRunOptions, "agent">> {
  readonly agent: Agent;
  readonly clock?: FakeClock | undefined;
  readonly store?: ThreadStore | undefined;
  readonly http?: Partial<HttpOptions> | undefined;
  /** False: a platform where a request's work ends with its response. */
  readonly livesOn?: boolean | undefined;
}

let servers = 0;

export function endpoint(options: EndpointOptions): Endpoint {
  const { clock = fakeClock(), http, livesOn = true, ...rest } = options;
  const store = options.store ?? memoryStore({ clock });
  const errors: unknown[] = [];
  const server = ++servers;
  let ids = 0;
  const engine = createEngine(
    { onError: (error) => errors.push(error), ...rest, store },
    { production: false, livesOn, waitUntil: undefined },
    { clock, newId: () => `s${server}-${++ids}` },
  );
  const identify: HttpOptions["identify"] = async (request) => {
    const id = request.headers.get("x-user") ?? clerk.id;
    return id === "nobody" ? null : id === clerk.id ? clerk : { id };
  };
  const handle = (request: Request): Promise<Response> =>
    handleRequest(engine, { identify, allowedOrigins: options.allowedOrigins ?? [], ...http }, request);
  const events = async (threadId: string): Promise<readonly ThreadEvent[]> => {
    const read = await store.read(threadId);
    if (!read || "gone" in read) return [];
    return read.events.map(({ seq, data }) => parseEvent(data, seq));
  };
  return {
    ...createVerbs(engine),
    engine,
    clock,
    store,
    errors,
    handle,
    get: (path, headers) => handle(new Request(BASE + path, headers ? { headers } : {})),
    post: (path, body, headers) => handle(jsonRequest(path, body, headers)),
    events,
    thread: async (threadId) => fold(await events(threadId), emptyThread(threadId)),
  };
}

export function jsonRequest(path: string, body: unknown, headers: Record<string, string> = {}): Request {
  return new Request(BASE + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
