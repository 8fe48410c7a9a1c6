import type { AskRequest } from "../agent/ask.ts";
import { askedIn, promptText, questionKey } from "../agent/ask.ts";
import { isDefiniteFailure } from "../agent/tool.ts";
import { isUnknownEffect } from "../agent/unknown-effect.ts";
import { MAX_RESULT_CHARS, shapeResult } from "../model/shape-result.ts";
import { wellFormed } from "../protocol/copy-json.ts";
import type { EventDraft } from "../protocol/event.ts";
import { askDigest, effectSoFar } from "../protocol/read-thread.ts";
import type { Json, StepError } from "../protocol/values.ts";
import type { Ending, RunCall } from "./attempt.ts";
import { encodeResult, encodeSized } from "./encode-result.ts";
import { triesOf } from "./startable.ts";

/** How long `results.extract` may take. */
const EXTRACT_MS = 60_000;

/** One call may ask this often; what asks on and on never gets done. */
const MAX_QUESTIONS = 8;

/** The event an ending becomes: a question, a failed attempt that may be tried again, or the settlement of the call. */
export function endingEvent(end: Ending, options: RunCall): EventDraft | Promise<EventDraft> {
  switch (end.type) {
    case "returned": {
      const question = askedIn(end.output);
      return question ? questionEvent(question, options) : succeeded(end.output, options);
    }
    case "stopped":
      return failed(options, "stopped", "Stopped while it ran; it may have had an effect.", "unknown");
    case "not-started":
      return failed(options, "stopped", "Stopped before it could start.", "none");
    case "hook-failed":
      options.onError(end.error);
      return failed(options, "tool-error", "A check of the app failed.", end.ran ? "unknown" : "none");
    case "timed-out":
      return attemptEvent(end, options, "timed-out", `It took longer than ${options.timeoutMs} ms.`);
    case "threw":
      options.onError(end.error);
      return attemptEvent(end, options, "tool-error", messageOf(end.error));
    default:
      return end satisfies never;
  }
}

function failed(
  { runId, call }: RunCall,
  code: StepError["code"],
  message: string,
  effect?: "unknown" | "none",
): EventDraft {
  const { callId, attempt } = call;
  return { type: "call-settled", runId, callId, attempt, outcome: "failed", error: { code, message }, effect };
}

/** Tried again while tries are left; what may have had its effect only where the same key makes that safe. */
function attemptEvent(
  end: Ending & { type: "timed-out" | "threw" },
  options: RunCall,
  code: "timed-out" | "tool-error",
  message: string,
): EventDraft {
  const { runId, call, clock } = options;
  const { tool } = options.tool;
  const unknown = end.type === "timed-out" || isUnknownEffect(end.error);
  const definite = end.type === "threw" && isDefiniteFailure(end.error) ? end.error : undefined;
  const tries = triesOf(call);
  const mayRetry = tries <= tool.maxRetries && definite?.retry !== false && (tool.idempotent || !unknown);
  if (!mayRetry || !isWorthIt(end, options)) {
    const effect = tool.readOnly ? "none" : "unknown";
    return failed(options, code, message, unknown ? effect : undefined);
  }
  const { delayMs, factor, maxDelayMs, jitter } = tool.retry;
  const pause = Math.min(maxDelayMs, delayMs * factor ** (tries - 1)) * (1 - jitter * clock.random());
  const { callId, attempt } = call;
  const retryAt = clock.now() + Math.round(pause);
  return {
    type: "attempt-failed",
    runId,
    callId,
    attempt,
    error: { code, message },
    retryAt,
    definite: definite && true,
  };
}

function isWorthIt(end: Ending & { type: "timed-out" | "threw" }, { tool, call, onError }: RunCall): boolean {
  try {
    const error = end.type === "threw" ? end.error : new DOMException("The tool took too long.", "TimeoutError");
    return tool.tool.retry.when(error, call.attempt);
  } catch (error) {
    onError(error);
    return false;
  }
}

/** A tool that needs a person. The same question again, after its answer, would be asked for ever. */
function questionEvent(asked: AskRequest, options: RunCall): EventDraft {
  const { kind, prompt, schema, url, expiresInMs } = asked;
  const { runId, call, clock } = options;
  const text = promptText(prompt);
  const key = questionKey(asked);
  const answered = call.decision?.action === "answer" ? call.decision.digest : "";
  const same = answered.endsWith(`.${key}`) && call.ask?.url === url;
  if (same || call.earlier.length >= MAX_QUESTIONS) {
    return failed(options, "unresolved", `It asked again what was answered already: ${text}`, effectSoFar(call));
  }
  const forMs = Number.isFinite(expiresInMs) ? Math.max(0, expiresInMs ?? 0) : undefined;
  return {
    type: "decision-requested",
    runId,
    callId: call.callId,
    kind,
    digest: `${askDigest(call)}.${key}`,
    prompt: text,
    schema,
    url,
    expiresAt: forMs === undefined ? undefined : clock.now() + forMs,
    extendMs: forMs,
  };
}

/** The output is what a person sees; the model reads it through the tool's `toModel` and the agent's `results`. */
function succeeded(output: unknown, options: RunCall): EventDraft | Promise<EventDraft> {
  const { runId, call, tool, agent, onError } = options;
  const { callId, attempt } = call;
  const { json, chars } = encodeSized(output);
  const settled = (toModel: Json | undefined): EventDraft => ({
    ...{ type: "call-settled", runId, callId, attempt, outcome: "succeeded", output: json },
    toModel,
  });
  let toModel: Json | undefined;
  try {
    toModel = tool.tool.toModel ? encodeResult(tool.tool.toModel(output)) : undefined;
  } catch (error) {
    onError(error); // the effect happened; the model reads the plain output instead
  }
  const { process, extract, maxChars = MAX_RESULT_CHARS } = agent.results;
  if (toModel === undefined && !process && !extract && chars <= maxChars) return settled(undefined);
  const abort = new AbortController();
  const work = { tool: call.tool, input: call.input, question: options.question(), encode: encodeResult, onError };
  const shaped = shapeResult(toModel === undefined ? json : toModel, { ...work, signal: abort.signal }, agent.results);
  if (!(shaped instanceof Promise)) return settled(shaped === undefined ? toModel : shaped);
  // An excerpt is a model call's work; a stop, or its time, ends the wait and the model reads the output.
  const { clock, stop } = options;
  const cancel = clock.after(EXTRACT_MS, () => abort.abort(new DOMException("Too slow.", "TimeoutError")));
  stop.listener = () => abort.abort(stop.reason);
  if (stop.reason) stop.listener();
  return shaped
    .finally(() => {
      cancel();
      stop.listener = undefined;
    })
    .then((value) => settled(value === undefined ? toModel : value));
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
