import type { AskPerson } from "../agent/ask.ts";
import { askedIn, askRequest, questionKey } from "../agent/ask.ts";
import type { ToolContext } from "../agent/tool-context.ts";
import { copyJson, wellFormed } from "../protocol/copy-json.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Call } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { Ending, RunCall } from "./attempt.ts";
import { encodeResult } from "./encode-result.ts";
import type { Reports } from "./reports.ts";
import { createReports } from "./reports.ts";
import { endingEvent } from "./settle-call.ts";

/** How long a stopped or timed-out tool may take to end by itself before we go on without it. */
const GRACE_MS = 2_000;
const MAX_PARTIAL_CHARS = 64 * 1024;

/**
 * Runs one attempt of a call; resolves with the event that records its end. Without a hook before it, `execute` is
 * called synchronously, in the same step as the caller's check of its lease. Never rejects.
 */
export function runCall(options: RunCall): Promise<readonly EventDraft[]> {
  const { clock, stop } = options;
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
    attempt(options, reports, abort).then(done, (error) =>
      done(stop.reason ? { type: "stopped" } : { type: "threw", error }),
    );
  });
  return ending.then(async (end) => {
    reports.close();
    const event = endingEvent(end, options);
    return [event instanceof Promise ? await event : event];
  });
}

/** The hooks around a tool, and the tool. */
async function attempt(options: RunCall, reports: Reports, abort: AbortController): Promise<Ending> {
  const { beforeTool, afterTool } = options.agent.hooks;
  if (beforeTool) {
    try {
      const instead = insteadOf(await beforeTool(hookCall(options)));
      if (instead) return { type: "returned", output: instead.output };
    } catch (error) {
      return { type: "hook-failed", error, ran: false };
    }
    // Its time may be over by now, and its end in the log.
    if (abort.signal.aborted || options.stop.reason || !options.mayStart()) return { type: "not-started" };
  }
  const output = await execute(options, reports, abort);
  if (!afterTool || askedIn(output)) return { type: "returned", output };
  try {
    const instead = insteadOf(await afterTool({ ...hookCall(options), output }));
    return { type: "returned", output: instead ? instead.output : output };
  } catch (error) {
    return { type: "hook-failed", error, ran: true };
  }
}

/** @throws what is neither nothing nor `{ output }`: a hook that was written wrong must not look like a result. */
function insteadOf(returned: unknown): { readonly output: unknown } | undefined {
  if (returned === undefined) return undefined;
  if (typeof returned === "object" && returned !== null && "output" in returned) return returned;
  throw new TypeError("A tool hook returned something else than { output }.");
}

function hookCall({ call, user, threadId, runId }: RunCall): {
  tool: string;
  callId: string;
  input: Json;
  attempt: number;
  user: User;
  threadId: string;
  runId: string;
} {
  const { tool, callId, input, attempt } = call;
  return { tool, callId, input: copyJson(input), attempt, user, threadId, runId };
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
    get answer() {
      return answersOf(call).at(-1);
    },
    get answers() {
      return answersOf(call);
    },
    answerTo: (question) => answerTo(call, question),
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
    if (!askedIn(value)) context.partial(value);
  }
  return last;
}

/** What people answered to this call's questions, in order. */
function answersOf(call: Call): readonly Json[] {
  const decisions = call.decision ? [...call.earlier, call.decision] : call.earlier;
  return decisions.flatMap(({ action, value }) => (action === "answer" ? [copyJson(value ?? null)] : []));
}

/** The digest of a recorded answer ends with the question it was given to. */
function answerTo(call: Call, question: AskPerson): Json | undefined {
  const ending = `.${questionKey(askRequest(question))}`;
  const decisions = call.decision ? [...call.earlier, call.decision] : call.earlier;
  const given = decisions.findLast(({ action, digest }) => action === "answer" && digest.endsWith(ending));
  return given && copyJson(given.value ?? null);
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
