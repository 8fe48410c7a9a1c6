import type { Agent } from "../agent/agent.ts";
import type { ToolRules } from "../agent/rules.ts";
import { ToolRunError } from "../errors.ts";
import { newId, systemClock } from "../loop/clock.ts";
import type { ThreadEvent } from "../protocol/event.ts";
import type { User, View } from "../protocol/typed.ts";
import type { ThreadView } from "../protocol/view-thread.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { ThreadStore } from "../store/thread-store.ts";
import type { AccessRequest, Engine } from "./engine.ts";
import { errorResponse } from "./errors-on-the-wire.ts";
import type { HttpOptions } from "./handle-request.ts";
import { handleRequest } from "./handle-request.ts";
import { createRecentBatches } from "./recent-batches.ts";
import { findRuntime } from "./runtime.ts";
import type { Verbs } from "./verbs.ts";
import { createVerbs } from "./verbs.ts";

/** Settings of a tool run endpoint; only `agent` is needed in development. */
export interface ToolRunOptions {
  /** The agent, or a function that gives each user theirs. */
  readonly agent: Agent | ((context: { readonly user: User }) => Agent | Promise<Agent>);
  /**
   * Where threads live. In development a memory store that loses everything with the process, and on Next's
   * edge runtime is seen by this route file only. Production needs a named one.
   */
  readonly store?: ThreadStore | undefined;
  /** Who asks: your session's user, or null for nobody. Production needs it. */
  readonly identify?: ((request: Request) => User | null | undefined | Promise<User | null | undefined>) | undefined;
  /** Who may read, send, decide, remove. @defaultValue the thread's owner */
  readonly authorize?: ((request: AccessRequest) => boolean | Promise<boolean>) | undefined;
  /** Keeps work alive after a response, such as Next's `after`. Found by itself where the platform has one. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Called when a run was handed over: fetch the thread's events from somewhere, now or at `dueAt`. */
  readonly wake?: Engine["wake"];
  /** Sees every event of this server's writes, and the thread after it. Cannot change anything. */
  readonly onEvent?: ((event: ThreadEvent, thread: View) => void) | undefined;
  /** Gets every error with the reference a person sees. @defaultValue console.error */
  readonly onError?: ((error: unknown, context: { readonly reference: string }) => void) | undefined;
  /** How long one request may run on this platform. @defaultValue no limit */
  readonly maxRequestMs?: number | undefined;
  /** How long a silent driver counts as alive. @defaultValue 30,000 */
  readonly leaseMs?: number | undefined;
  /** Other origins whose pages may write. @defaultValue none */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** @defaultValue 5 */
  readonly maxActiveRuns?: number | undefined;
}

type Handler = (request: Request) => Promise<Response>;

/** A chat endpoint that acts: handlers for a catch-all route, and the same verbs for code. */
export interface ToolRun extends Verbs {
  readonly GET: Handler;
  readonly POST: Handler;
  readonly DELETE: Handler;
}

/**
 * Makes the endpoint. Nothing runs before the first request.
 * @throws `invalid-config` for contradicting or impossible settings.
 */
export function createToolRun(options: ToolRunOptions): ToolRun {
  const runtime = findRuntime();
  const missing = missingSetting(options, runtime.production);
  const engine = createEngine(options, runtime);
  const http: HttpOptions = {
    identify: async (request) => {
      if (!options.identify) return { id: "dev" } as User; // development only: see missingSetting
      return (await options.identify(request)) ?? null;
    },
    allowedOrigins: options.allowedOrigins ?? [],
  };
  const handler: Handler = (request) =>
    missing ? Promise.resolve(errorResponse(missing)) : handleRequest(engine, http, request);
  return { GET: handler, POST: handler, DELETE: handler, ...createVerbs(engine) };
}

/** The parts of the server, wired; tests hand in their own clock and ids. */
export function createEngine(
  options: ToolRunOptions,
  runtime: ReturnType<typeof findRuntime>,
  ports: Partial<Pick<Engine, "clock" | "newId">> = {},
): Engine {
  const { maxRequestMs = Number.POSITIVE_INFINITY, leaseMs = 30_000, onEvent } = options;
  if (!(leaseMs >= 30)) throw new ToolRunError("invalid-config", `leaseMs must be at least 30; it is ${leaseMs}.`);
  if (!(maxRequestMs >= 1_000)) {
    throw new ToolRunError("invalid-config", `maxRequestMs must be at least 1000; it is ${maxRequestMs}.`);
  }
  const { maxActiveRuns = 5 } = options;
  if (!(Number.isInteger(maxActiveRuns) && maxActiveRuns >= 1)) {
    throw new ToolRunError(
      "invalid-config",
      `maxActiveRuns must be a whole number of at least 1; it is ${maxActiveRuns}.`,
    );
  }
  const waitUntil = options.waitUntil ?? runtime.waitUntil;
  const agentFor = agentsOf(options, maxRequestMs);
  return {
    store: options.store ?? memoryStore({ shared: true }),
    clock: ports.clock ?? systemClock(),
    newId: ports.newId ?? newId,
    agentFor,
    authorize: options.authorize ?? (({ user, owner }) => user.id === owner),
    leaseMs,
    maxRequestMs,
    livesOn: runtime.livesOn,
    drivesPosts: waitUntil !== undefined || runtime.livesOn,
    background: (work) => {
      const kept = work.catch((error: unknown) => void report(options, error));
      try {
        waitUntil?.(kept);
      } catch (error) {
        report(options, error);
      }
    },
    wake: options.wake,
    onEvent: onEvent && ((event, thread) => onEvent(event, thread as ThreadView as View)), // the registered agent's thread
    report: (error) => report(options, error),
    drivers: new Map(),
    starting: new Map(),
    recent: createRecentBatches(),
    maxActiveRuns,
  };
}

/** Each user's agent, with times that fit into a request. */
function agentsOf({ agent }: ToolRunOptions, maxRequestMs: number): Engine["agentFor"] {
  if (typeof agent === "function") {
    if (maxRequestMs === Number.POSITIVE_INFINITY) return (user) => agent({ user });
    return async (user) => fit(await agent({ user }), maxRequestMs);
  }
  checkBudget(agent, maxRequestMs);
  const fitted = fit(agent, maxRequestMs);
  return () => fitted;
}

function report(options: ToolRunOptions, error: unknown): string {
  const reference = newId().slice(0, 10);
  try {
    if (options.onError) Promise.resolve(options.onError(error, { reference }) as unknown).catch(() => undefined);
    else console.error(`[toolrun ${reference}]`, error);
  } catch {
    // an error reporter that fails must not fail what it reports on
  }
  return reference;
}

/** Memory and the development user must never reach production by accident. */
function missingSetting(options: ToolRunOptions, production: boolean): ToolRunError | undefined {
  if (!production) return undefined;
  if (!options.identify) {
    return new ToolRunError(
      "misconfigured",
      "createToolRun needs identify in production: identify: async (request) => your session's user, or null.",
    );
  }
  if (!options.store) {
    return new ToolRunError(
      "misconfigured",
      "createToolRun needs a store in production. To keep threads in this process's memory, write store: memoryStore().",
    );
  }
  return undefined;
}

/** What one effect may take of a request: its driver has spent some of the time before the effect can start. */
function longestEffect(maxRequestMs: number): number {
  return maxRequestMs * 0.75;
}

/** What cannot fit into one request would be handed over for ever. */
function checkBudget({ tools }: Agent, maxRequestMs: number): void {
  const longestMs = longestEffect(maxRequestMs);
  for (const { name, tool } of tools.values()) {
    if (tool.agent) checkBudget(tool.agent, maxRequestMs);
    if (!tool.ownTimeout || tool.timeoutMs <= longestMs) continue;
    throw new ToolRunError(
      "invalid-config",
      `maxRequestMs is ${maxRequestMs}, but the tool ${name} may take ${tool.timeoutMs} ms: give it a timeoutMs of at most ${Math.floor(longestMs)}.`,
    );
  }
}

/** An agent whose times fit into a request. */
function fit(agent: Agent, maxRequestMs: number): Agent {
  const longestMs = longestEffect(maxRequestMs);
  if (longestMs === Number.POSITIVE_INFINITY) return agent;
  const cut = (ms: number): number => Math.min(ms, longestMs);
  const fitted = new Map(
    [...agent.tools].map(([name, known]) => [
      name,
      known.tool.agent ? { ...known, tool: { ...known.tool, agent: fit(known.tool.agent, maxRequestMs) } } : known,
    ]),
  );
  const tools = Object.entries(agent.rules.tools).map(([name, rules]): [string, ToolRules] => [
    name,
    { ...rules, timeoutMs: cut(rules.timeoutMs), agent: fitted.get(name)?.tool.agent?.rules },
  ]);
  return {
    ...agent,
    tools: fitted,
    maxToolMs: longestMs,
    modelSilenceMs: cut(agent.modelSilenceMs),
    rules: { ...agent.rules, modelTimeoutMs: cut(agent.rules.modelTimeoutMs), tools: Object.fromEntries(tools) },
  };
}
