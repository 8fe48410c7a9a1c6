import type { ThreadEvent } from "../protocol/event.ts";
import type { Json } from "../protocol/values.ts";
import { outputOf, tokensOf } from "./call-record.ts";
import type { ObservedCall, ObservedRun } from "./observed-run.ts";
import { observedCall, observedRecord, observedRun, observedTurn } from "./observed-run.ts";
import type { ActionRecord, Metric, Observers } from "./observers.ts";

/** What is read of a thread, where there is one: what other servers wrote comes as no event. */
interface SeenThread {
  readonly steps: readonly {
    readonly id: string;
    readonly tool: string;
    readonly input: unknown;
    readonly startedAt?: number | undefined;
    readonly decision: { readonly reason?: string | undefined } | null;
  }[];
}

/** Takes events as they come; the shape of createToolRun's `onEvent`. */
export type Observer = (event: ThreadEvent, thread?: SeenThread) => void;

/**
 * Derives steps, turns, figures and milestones from events: `createToolRun({ onEvent: observe({ onStep }) })`. A server
 * sees the events of its own writes: each counts its part of a run, and the one that ends it its end.
 */
export function observe(observers: Observers): Observer {
  return createObserver(observers).see;
}

/** Runs that are remembered at most: those that another server went on with never end here. */
const MAX_RUNS = 1_000;

/** The same, for who knows when nothing follows. */
export function createObserver(observers: Observers): { readonly see: Observer; close(): void } {
  const { onStep, onText, onTurn, onMetric, onAction } = observers;
  const runs = new Map<string, ObservedRun>();

  const fail = (error: unknown): void => {
    try {
      if (observers.onError) Promise.resolve(observers.onError(error) as unknown).catch(() => undefined);
      else console.error("[toolrun]", error);
    } catch {
      // who reports errors must not fail what it reports on
    }
  };
  const tell = <Values extends readonly unknown[]>(
    observer: ((...values: Values) => unknown) | undefined,
    ...values: Values
  ): void => {
    if (!observer) return;
    try {
      const returned = observer(...values);
      if (returned instanceof Promise) returned.catch(fail);
    } catch (error) {
      fail(error);
    }
  };

  const act = (run: ObservedRun, action: ActionRecord["action"], timestamp: number): void =>
    tell(onAction, { runId: run.runId, action, timestamp });

  const firstChunk = (run: ObservedRun, at: number): void => {
    if (run.spoke) return;
    run.spoke = true;
    act(run, "first-chunk", at);
  };

  const endModelCall = (run: ObservedRun, status: "ok" | "error" | "stopped", at: number, tokens = 0): void => {
    const { modelCall: call, runId } = run;
    if (!call) return;
    run.modelCall = undefined;
    tell(onMetric, { type: "llm", runId, model: call.model, status, ms: at - call.startedAt, tokens });
  };

  const endTurn = (run: ObservedRun): void => {
    const { turn, runId } = run;
    run.turn = observedTurn(0);
    if (onTurn && turn.isWhole) tell(onTurn, observedRecord(turn), { runId });
  };

  const settle = (run: ObservedRun, call: ObservedCall, event: ThreadEvent & { type: "call-settled" }): void => {
    if (call.ending) return; // the first settlement counts
    const { outcome, output, error, reason, at } = event;
    call.ending = outcome;
    call.endedAt = at;
    call.output = outputOf({ outcome, output, error, reason, words: call.words });
    const { callId, tool } = call;
    const isError = outcome !== "succeeded";
    const ms = at - (call.startedAt ?? at);
    tell(onMetric, { type: "tool", runId: run.runId, tool, isError, ms });
    if (!onStep) return;
    tell(onStep, {
      iteration: run.turn.turn - 1,
      toolName: tool,
      toolArguments: JSON.stringify(call.input),
      toolResult: call.output,
      timestamp: at,
      isError,
      durationMs: ms,
      callId,
      ...(run.depth > 0 && { runId: run.runId }),
    });
  };

  const onCall = (run: ObservedRun, call: ObservedCall, event: ThreadEvent): void => {
    const { runId, turn } = run;
    const { at } = event;
    switch (event.type) {
      case "call-judged":
        if (event.input !== undefined) call.input = event.input;
        if (event.verdict === "deny") call.words = event.reason;
        break;
      case "decision-requested": {
        const ms = at - (call.startedAt ?? at);
        tell(onMetric, { type: "tool", runId, tool: call.tool, isError: false, ms, pending: true });
        break;
      }
      case "decision-recorded":
        if (event.input !== undefined) call.input = event.input;
        call.words = event.reason;
        break;
      case "call-started":
        call.startedAt ??= at;
        if (!turn.ranTools) act(run, "calling-tools", at);
        turn.ranTools = true;
        break;
      case "call-settled":
        settle(run, call, event);
        break;
      default:
        break;
    }
  };

  const onModel = (run: ObservedRun, event: ThreadEvent): void => {
    const { at } = event;
    switch (event.type) {
      case "turn-started":
        endModelCall(run, "error", at); // its request died without a word
        endTurn(run);
        run.turn = observedTurn(event.turn);
        run.modelCall = { model: event.model, startedAt: at };
        act(run, "calling-model", at);
        break;
      case "text-added": {
        const { kind = "text", text, turn, attempt } = event;
        firstChunk(run, at);
        if (onTurn) run.turn[kind] += text;
        if (kind === "text") tell(onText, text, { runId: run.runId, turn, attempt });
        break;
      }
      case "part-added":
      case "call-proposed":
        firstChunk(run, at);
        break;
      case "turn-ended":
        firstChunk(run, at);
        run.turns++;
        run.tokens += tokensOf(event.usage);
        run.turn.isWhole = true;
        run.turn.usage = event.usage;
        endModelCall(run, "ok", at, tokensOf(event.usage));
        break;
      case "attempt-failed":
        run.tokens += tokensOf(event.usage);
        endModelCall(run, "error", at, tokensOf(event.usage));
        break;
      default:
        break;
    }
  };

  const onEnd = (run: ObservedRun, event: ThreadEvent & { type: "run-ended" }): void => {
    const { at, outcome, code = "internal", usage } = event;
    endModelCall(run, "stopped", at);
    endTurn(run);
    act(run, "finished", at);
    const figures = figuresOf(run, at, tokensOf(usage));
    tell(onMetric, outcome === "failed" ? { ...figures, error: code } : figures);
    runs.delete(run.runId);
  };

  const watch = (event: ThreadEvent): ObservedRun | undefined => {
    const { runId, type } = event;
    if (runId === undefined || type === "message-added") return undefined;
    const known = runs.get(runId);
    if (known) return known;
    const [oldest] = runs.keys();
    if (runs.size >= MAX_RUNS && oldest !== undefined) runs.delete(oldest);
    const run = observedRun(event, runId);
    runs.set(runId, run);
    return run;
  };

  const see: Observer = (event, thread) => {
    const run = watch(event);
    if (!run) return;
    run.lastAt = event.at;
    const callId = "callId" in event ? event.callId : undefined;
    if (event.type === "run-started") act(run, "start", event.at);
    else if (event.type === "run-ended") onEnd(run, event);
    else if (event.type === "call-ready") {
      run.calls++;
      run.turn.calls.set(event.callId, observedCall(event.callId, event.tool, event.input));
    } else if (callId !== undefined && OF_CALLS.has(event.type)) {
      const call = callOf(run, callId, thread);
      if (call) onCall(run, call, event);
    } else if (callId === undefined || event.type === "call-proposed") onModel(run, event);
  };

  return {
    see,
    close() {
      // A run that waits has no event at which it could be counted.
      for (const run of runs.values()) tell(onMetric, figuresOf(run, run.lastAt, run.tokens));
      runs.clear();
    },
  };
}

const OF_CALLS: ReadonlySet<ThreadEvent["type"]> = new Set([
  "call-judged",
  "decision-requested",
  "decision-recorded",
  "call-started",
  "call-settled",
]);

/** A call as it was seen, or as the thread shows it: another server may have asked for it, or decided about it. */
function callOf(run: ObservedRun, callId: string, thread: SeenThread | undefined): ObservedCall | undefined {
  const known = run.turn.calls.get(callId);
  const step = thread?.steps.findLast(({ id }) => id === callId);
  if (!step) return known;
  const call = known ?? observedCall(callId, step.tool, null);
  if (!known) run.turn.calls.set(callId, call);
  call.input = step.input as Json; // a step's input is JSON, whatever its type says
  call.startedAt ??= step.startedAt;
  call.words ??= step.decision?.reason;
  return call;
}

function figuresOf({ runId, turns, calls, startedAt }: ObservedRun, at: number, totalTokens: number): Metric {
  return { type: "run", runId, turns, toolCalls: calls, totalTokens, ms: at - startedAt };
}
