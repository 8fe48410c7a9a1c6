import type { Agent, DynamicSource, Tool } from "../agent/agent.ts";
import { withTools } from "../agent/dynamic-tools.ts";
import { toolRules } from "../agent/rules.ts";
import type { Run, Thread } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Action } from "./action.ts";
import { agentFor } from "./agent-for.ts";
import type { Clock } from "./clock.ts";
import type { DriveContext } from "./context.ts";
import { inTime, RULE_MS } from "./in-time.ts";

/** The dynamic tools of one drive: which agents have theirs, and what has to wait for them. */
export interface LoadedTools {
  /** The outermost agent with all that is loaded now, into its sub-agents too. */
  readonly agent: Agent;
  /** True while an action has to wait for tools. They are being loaded then; the queue is poked when they are there. */
  delays(action: Action, thread: Thread): boolean;
  /** True when the tools for this attempt of a model call could not be loaded. */
  failedFor(action: Action & { readonly type: "call-model" }, agent: Agent): boolean;
  /** Ends what is still being loaded. */
  close(): void;
}

/** Where an agent's dynamic tools stand. */
interface Load {
  given: Readonly<Record<string, Tool>>;
  busy: boolean;
  /** The turn they were loaded for last. */
  turn: string;
  /** The attempt for which that failed last. */
  failed: string;
}

/** What may be said of tools that could not be loaded. */
export const TOOLS_FAILED = { code: "tools-failed", message: "The tools could not be loaded." } as const;

const FIRST_PAUSE_MS = 500;

/** How long after a failed attempt to load tools the next one is due. */
export function toolsPauseMs(attempt: number): number {
  return Math.min(30_000, FIRST_PAUSE_MS * 2 ** (attempt - 1));
}

export function createLoadedTools(given: DriveContext): LoadedTools {
  const { clock, queue, user, onError } = given;
  const loads = new Map<DynamicSource, Load>();
  const abort = new AbortController();
  let agent = given.agent;

  const begin = (source: DynamicSource, load: (signal: AbortSignal) => Promise<Load["given"]>, to: Partial<Load>) => {
    const state = loads.get(source) ?? { given: {}, busy: true, turn: "", failed: "" };
    state.busy = true;
    loads.set(source, state);
    load(abort.signal)
      .then((tools) => {
        agent = assembled(given.agent, new Map(loads).set(source, { ...state, given: tools }), onError); // may throw
        state.given = tools;
        state.turn = to.turn ?? "";
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        state.failed = to.failed ?? "";
        onError(error);
      })
      .finally(() => {
        state.busy = false;
        if (!abort.signal.aborted) queue.push(); // look again
      });
  };

  /** How long there is to load: what follows must still fit into the request. */
  const timeFor = (leftForMs: number): number =>
    Math.min(RULE_MS, Math.max(1, given.budgetEndsAt - clock.monotonic() - leftForMs));

  const once = (source: DynamicSource, run: Run, thread: Thread, ms: number) => (signal: AbortSignal) =>
    loadOnce(source, { user, threadId: thread.id, runId: run.runId }, { clock, ms, signal });

  const delaysTurn = (action: Action & { type: "call-model" }, own: Agent, thread: Thread): boolean => {
    const { dynamicTools: source } = own;
    if (!source || action.last) return false; // a last answer has no tools
    const state = loads.get(source);
    if (state?.busy) return true;
    if (state?.turn === turnOf(action) || state?.failed === attemptOf(action)) return false;
    const ms = timeFor(own.rules.modelTimeoutMs);
    begin(source, once(source, action.run, thread, ms), { turn: turnOf(action), failed: attemptOf(action) });
    return true;
  };

  /** What waited is there from before this drive: its tools are looked up again, whoever drives now. */
  const delaysCalls = (action: Action & { type: "judge" | "start" | "interrupt" }, own: Agent, thread: Thread) => {
    const { dynamicTools: source } = own;
    if (!source || action.calls.every(({ tool }) => own.tools.has(tool))) return false;
    const state = loads.get(source);
    if (state) return state.busy;
    const load = async (signal: AbortSignal): Promise<Load["given"]> => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await once(source, action.run, thread, timeFor(0))(signal);
        } catch (error) {
          if (attempt >= own.rules.modelAttempts || signal.aborted) throw error;
          onError(error);
          await new Promise<void>((resolve) => clock.after(toolsPauseMs(attempt), resolve));
        }
      }
    };
    begin(source, load, {});
    return true;
  };

  return {
    get agent() {
      return agent;
    },
    delays(action, thread) {
      if (!("run" in action)) return false;
      const own = agentFor(thread, action.run, agent);
      if (!own?.dynamicTools) return false;
      if (action.type === "call-model") return delaysTurn(action, own, thread);
      if (action.type !== "judge" && action.type !== "start" && action.type !== "interrupt") return false;
      return delaysCalls(action, own, thread);
    },
    failedFor(action, { dynamicTools }) {
      return dynamicTools !== undefined && !action.last && loads.get(dynamicTools)?.failed === attemptOf(action);
    },
    close: () => abort.abort(new DOMException("Nobody waits for it.", "AbortError")),
  };
}

function turnOf({ run, turn }: Action & { type: "call-model" }): string {
  return `${run.runId} ${turn}`;
}

function attemptOf(action: Action & { type: "call-model" }): string {
  return `${turnOf(action)} ${action.attempt}`;
}

const LATE = Symbol("late");

/**
 * Asks an agent for its dynamic tools.
 * @throws what it threw, or what is wrong with what it returned.
 */
export async function loadOnce(
  { load }: DynamicSource,
  about: { readonly user: User; readonly threadId: string; readonly runId: string },
  { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
): Promise<Readonly<Record<string, Tool>>> {
  const own = new AbortController();
  const onAbort = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const given = await inTime(clock, Promise.resolve(load({ ...about, signal: own.signal })), ms, LATE);
    if (given === LATE) throw new Error(`dynamicTools did not answer within ${ms} ms.`);
    if (typeof given !== "object" || given === null) throw new TypeError("dynamicTools returned no record of tools.");
    return given;
  } catch (error) {
    own.abort(error);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** An agent and those below it with their dynamic tools; the very same object where there are none. */
function assembled(agent: Agent, loads: ReadonlyMap<DynamicSource, Load>, onError: (error: unknown) => void): Agent {
  const load = agent.dynamicTools && loads.get(agent.dynamicTools);
  const own = load ? withTools(agent, load.given, onError) : agent;
  const below = [...agent.tools.values()].flatMap((known) => {
    const made = known.tool.agent && assembled(known.tool.agent, loads, onError);
    return made && made !== known.tool.agent ? [{ ...known, tool: { ...known.tool, agent: made } }] : [];
  });
  if (below.length === 0) return own;
  const rules = below.map(({ name, tool }) => [name, { ...toolRules(own.rules, name), agent: tool.agent?.rules }]);
  return {
    ...own,
    tools: new Map([...own.tools, ...below.map((known) => [known.name, known] as const)]),
    rules: { ...own.rules, tools: { ...own.rules.tools, ...Object.fromEntries(rules) } },
  };
}
