import type { AgentTool } from "../agent/define-agent.ts";
import type { ToolContext } from "../agent/tool.ts";
import { isDefiniteFailure } from "../agent/tool.ts";
import type { CallProgressed } from "../protocol/call-event.ts";
import { copyJson, wellFormed } from "../protocol/copy-json.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Call } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Clock } from "./clock.ts";
import type { Stop } from "./context.ts";
import { encodeResult } from "./encode-result.ts";

/** How long a stopped or timed-out tool may take to end by itself before we go on without it. */
const GRACE_MS = 2_000;
const PROGRESS_EVERY_MS = 100;
const MAX_PARTIAL_CHARS = 64 * 1024;

export interface RunCall {
  readonly runId: string;
  readonly threadId: string;
  readonly call: Call;
  readonly tool: AgentTool;
  readonly user: User;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly stop: Stop;
  readonly clock: Clock;
  readonly emit: (draft: EventDraft) => void;
  readonly onError: (error: unknown) => void;
}

/** How an attempt ended, for the loop to record. */
type Ending =
  | { readonly type: "returned"; readonly output: unknown }
  | { readonly type: "threw"; readonly error: unknown }
  | { readonly type: "timed-out" }
  | { readonly type: "stopped" };

/**
 * Runs one attempt of a call; resolves with the event that records its end. `execute` is called
 * synchronously, in the same step as the caller's check of its lease. Never rejects.
 */
export function runCall(options: RunCall): Promise<readonly EventDraft[]> {
  const { call, tool, clock, stop } = options;
  const abort = new AbortController();
  const reports = createReports(options);
  const ending = new Promise<Ending>((resolve) => {
    const onTimeout = (): void => {
      done({ type: "timed-out" });
      abort.abort(new DOMException("The tool took too long.", "TimeoutError"));
    };
    let cancelGrace: (() => void) | undefined;
    const cancelTimeout = clock.after(options.timeoutMs, onTimeout);
    stop.listener = () => {
      cancelGrace = clock.after(GRACE_MS, () => done({ type: "stopped" }));
      abort.abort(stop.reason);
    };
    const done = (end: Ending): void => {
      cancelTimeout();
      cancelGrace?.();
      stop.listener = undefined;
      resolve(end);
    };
    execute(options, reports, abort).then(
      (output) => done({ type: "returned", output }),
      (error) => done(stop.reason ? { type: "stopped" } : { type: "threw", error }),
    );
  });
  return ending.then((end) => {
    reports.close();
    return [settlement(end, call, tool, options)];
  });
}

async function execute(options: RunCall, reports: Reports, abort: AbortController): Promise<unknown> {
  const { call, tool } = options;
  const context: ToolContext = {
    get signal() {
      return abort.signal; // made when a tool looks at it: it costs more than the rest of a small call
    },
    callId: call.callId,
    threadId: options.threadId,
    idempotencyKey: options.idempotencyKey,
    attempt: call.attempt,
    user: options.user,
    progress: ({ value, max, label }) =>
      reports.add({
        value: finite(value),
        max: finite(max),
        label: label === undefined ? undefined : line(label, 200),
      }),
    log: (text) => reports.add({ log: [line(text, 2_000)] }),
    partial: (value) => reports.add({ partial: encodeResult(value, MAX_PARTIAL_CHARS) }),
  };
  const returned = tool.tool.execute(copyJson(call.input), context);
  if (!isAsyncIterable(returned)) return returned;
  let last: unknown;
  for await (const value of returned) {
    last = value;
    context.partial(value);
  }
  return last;
}

function finite(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function line(text: unknown, maxChars: number): string {
  return wellFormed(String(text).slice(0, maxChars));
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The event an ending becomes: a failed attempt that may be tried again, or the settlement of the call. */
function settlement(end: Ending, call: Call, tool: AgentTool, options: RunCall): EventDraft {
  const { runId } = options;
  const { callId, attempt } = call;
  if (end.type === "returned") return succeeded(end.output, call, tool, options);
  const settled = { type: "call-settled", runId, callId, attempt, outcome: "failed" } as const;
  if (end.type === "stopped") {
    const message = "Stopped while it ran; it may have had an effect.";
    return { ...settled, error: { code: "stopped", message }, effect: "unknown" };
  }
  const error =
    end.type === "timed-out"
      ? ({ code: "timed-out", message: `It took longer than ${options.timeoutMs} ms.` } as const)
      : ({ code: "tool-error", message: messageOf(end.error) } as const);
  if (end.type === "threw") options.onError(end.error);
  const definite = end.type === "threw" && isDefiniteFailure(end.error) ? end.error : undefined;
  const mayRetry = attempt <= tool.tool.maxRetries && definite?.retry !== false;
  // What may have had its effect is tried again only where the same key makes that safe.
  if (mayRetry && (tool.tool.idempotent || end.type === "threw")) {
    const retryAt = options.clock.now() + Math.min(30_000, 500 * 2 ** (attempt - 1));
    return { type: "attempt-failed", runId, callId, attempt, error, retryAt, definite: definite && true };
  }
  return { ...settled, error, effect: end.type === "timed-out" ? "unknown" : undefined };
}

function succeeded(output: unknown, { callId, attempt }: Call, tool: AgentTool, options: RunCall): EventDraft {
  const encoded = encodeResult(output);
  let toModel: EventDraft & { type: "call-settled" } extends { toModel?: infer Value } ? Value : never;
  try {
    toModel = tool.tool.toModel ? encodeResult(tool.tool.toModel(output)) : undefined;
  } catch (error) {
    options.onError(error); // the effect happened; the model reads the plain output instead
  }
  const { runId } = options;
  return { type: "call-settled", runId, callId, attempt, outcome: "succeeded", output: encoded, toModel };
}

/** What a tool chose to say: its error's message. A thrown non-error says nothing we could show. */
function messageOf(error: unknown): string {
  try {
    const message = error instanceof Error ? error.message : error;
    if (typeof message === "string" && message !== "") return wellFormed(message.slice(0, 2_000));
  } catch {
    // an error whose message throws says nothing either
  }
  return "The tool failed.";
}

type Report = Pick<CallProgressed, "value" | "max" | "label" | "log" | "partial">;

interface Reports {
  add(report: Report): void;
  close(): void;
}

/** At most ten reports a second reach the log; those between travel together. */
function createReports({ call, clock, emit, runId }: RunCall): Reports {
  let waiting: Report | undefined;
  let nextAt = 0;
  let cancel: (() => void) | undefined;
  let closed = false;
  const flush = (): void => {
    cancel = undefined;
    if (!waiting) return;
    nextAt = clock.monotonic() + PROGRESS_EVERY_MS;
    emit({ runId, type: "call-progressed", callId: call.callId, attempt: call.attempt, ...waiting });
    waiting = undefined;
  };
  return {
    add(report) {
      if (closed) return;
      waiting = { ...waiting, ...defined(report), log: joined(waiting?.log, report.log) };
      const wait = nextAt - clock.monotonic();
      if (wait <= 0) flush();
      else cancel ??= clock.after(wait, flush);
    },
    close() {
      cancel?.();
      flush();
      closed = true;
    },
  };
}

function defined(report: Report): Report {
  return Object.fromEntries(Object.entries(report).filter(([, value]) => value !== undefined));
}

function joined(left: readonly string[] | undefined, right: readonly string[] | undefined): Report["log"] {
  return left && right ? [...left, ...right] : (left ?? right);
}
