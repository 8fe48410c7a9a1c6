import { checkCall, cutOff } from "../agent/check-call.ts";
import type { ModelPart, ToolChoice } from "../model/model.ts";
import { ModelError } from "../model/model.ts";
import { wireToolName } from "../model/tool-name.ts";
import { copyJson, wellFormed } from "../protocol/copy-json.ts";
import { digestCall } from "../protocol/digest.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Json, OpaqueBlock, Usage } from "../protocol/values.ts";
import { failedAttempt } from "./failed-model-call.ts";
import { inTime, RULE_MS } from "./in-time.ts";
import type { CallModel } from "./model-call.ts";
import { hooked, messagesFor, stopped } from "./model-hooks.ts";
import { scopedClock } from "./scoped-clock.ts";

/** A call as the model wrote it; real only once the turn ended. */
interface Proposed {
  readonly callId: string;
  readonly providerId: string;
  name: string;
  input: string;
  complete: boolean;
  opaque: readonly OpaqueBlock[] | undefined;
}

/** What a stream added up to. */
interface Turn {
  readonly calls: Map<string, Proposed>;
  readonly opaque: OpaqueBlock[];
  text: string;
  end: { readonly reason: string; readonly usage?: Usage | undefined } | undefined;
  stray: boolean;
}

/**
 * One model call, from request to recorded end. Text goes out as it comes; `turn-ended` and its calls are
 * one batch, so that nobody is asked about a call of a turn that is then repeated. Resolves with the events
 * that record its end, none when it was stopped: the text so far stays. Never rejects.
 */
export async function callModel(given: CallModel): Promise<readonly EventDraft[]> {
  const scope = scopedClock(given.clock); // what still thinks when it ends holds no timer
  const options = { ...given, clock: scope.clock };
  const abort = new AbortController();
  const { stop } = options;
  stop.listener = () => abort.abort(stop.reason);
  const turn: Turn = { calls: new Map(), opaque: [], text: "", end: undefined, stray: false };
  try {
    await readAnswer(options, turn, abort);
    if (!turn.end) throw new ModelError("The answer broke off before its end.", { retryable: true });
    return await Promise.race([closingEvents(options, turn), stopped(abort.signal)]);
  } catch (error) {
    if (stop.reason) return [];
    const used = turn.end?.usage ?? (error instanceof ModelError ? error.usage : undefined);
    return [failedAttempt(options, error, usageOf(used))];
  } finally {
    stop.listener = undefined;
    scope.close();
    abort.abort(OVER);
  }
}

/** Why a model's signal aborts when nothing more is read of it. One for all: an error with its stack is dear. */
const OVER = new DOMException("The answer is over.", "AbortError");

/** Reads to the end part. Silence is a failure: before the first part and between any two. */
async function readAnswer(options: CallModel, turn: Turn, abort: AbortController): Promise<void> {
  const { agent, plan, toolsOff, clock } = options;
  const cutOff = stopped(abort.signal);
  const messages = await Promise.race([messagesFor(options, abort.signal), cutOff]);
  abort.signal.throwIfAborted(); // stopped while the history was made
  const tools = toolsOff ? [] : agent.specs;
  const request = tools.length > 0 ? { messages, tools, toolChoice: choiceOf(plan) } : { messages, tools };
  const silenceMs = agent.modelSilenceMs;
  let heardAt = clock.monotonic();
  let cancel: () => void = () => undefined;
  // One timer for the whole answer, moved on only when it fires: a delta costs no timer.
  const watch = (ms: number): void => {
    cancel = clock.after(ms, () => {
      const left = heardAt + silenceMs - clock.monotonic();
      if (left > 0) return watch(left);
      abort.abort(new ModelError(`The model was silent for ${silenceMs} ms.`, { retryable: true, status: 408 }));
    });
  };
  watch(silenceMs);
  const read = async (): Promise<void> => {
    for await (const parts of plan.model.model.stream(request, abort.signal)) {
      if (abort.signal.aborted) return;
      heardAt = clock.monotonic();
      for (const part of isList(parts) ? parts : [parts]) {
        take(part, options, turn);
        if (turn.end) return;
      }
    }
  };
  try {
    await Promise.race([read(), cutOff]);
  } finally {
    cancel();
  }
}

/** A tool by the name the model knows it by. */
function choiceOf({ toolChoice }: CallModel["plan"]): ToolChoice | undefined {
  return typeof toolChoice === "object" ? { tool: wireToolName(toolChoice.tool) } : toolChoice;
}

function isList(parts: ModelPart | readonly ModelPart[]): parts is readonly ModelPart[] {
  return Array.isArray(parts);
}

function take(part: ModelPart, options: CallModel, turn: Turn): void {
  const { runId, turn: number, attempt, emit } = options;
  const at = { runId, turn: number, attempt };
  switch (part.type) {
    case "text":
      if (!part.text) return;
      turn.text += part.text;
      emit({ type: "text-added", ...at, text: part.text });
      return;
    case "reasoning":
      if (part.text) emit({ type: "text-added", ...at, kind: "reasoning", text: part.text });
      return;
    case "source":
    case "file":
      emit({ type: "part-added", ...at, part });
      return;
    case "opaque":
      turn.opaque.push(part.block);
      return;
    case "call-start":
      propose(part.id, part.name, options, turn);
      return;
    case "call-input": {
      const call = turn.calls.get(part.id);
      if (!call || call.complete || !part.text) return;
      call.input += part.text;
      emit({ type: "call-input-added", runId, callId: call.callId, text: part.text });
      return;
    }
    case "call": {
      const known = turn.calls.get(part.id);
      if (known?.complete && known.name === agentName(part.name, options) && known.input === part.input) return; // the same call again
      // Some servers give every call of an answer one id: what differs is another call.
      const key = known?.complete ? `${part.id}#${turn.calls.size}` : part.id;
      const call = propose(key, part.name, options, turn, part.id);
      if (!call) return;
      call.name = agentName(part.name, options); // whole, it says best what it is
      call.input = part.input;
      call.complete = true;
      call.opaque = part.opaque;
      return;
    }
    case "end":
      turn.end = part;
      return;
    default:
      part satisfies never; // parts this version does not know are passed over
  }
}

/** The agent's own name of a tool; one it does not have stays as the model wrote it. */
function agentName(name: string, { agent }: CallModel): string {
  return agent.wireNames.get(name) ?? name;
}

/** More calls than any model means; each costs work before a limit can refuse it. */
const MAX_CALLS = 500;

/** Mints our own id at first sight: the provider's is a hint that links the parts of one stream. */
function propose(key: string, name: string, options: CallModel, turn: Turn, providerId = key): Proposed | undefined {
  if (options.toolsOff) {
    turn.stray = true; // the last answer has no tools: a call in it is dropped
    return undefined;
  }
  const known = turn.calls.get(key);
  if (known) return known;
  if (turn.calls.size >= MAX_CALLS) {
    throw new ModelError(`The model asked for more than ${MAX_CALLS} calls in one answer.`, { retryable: true });
  }
  const callId = options.newId();
  const tool = agentName(name, options);
  const call: Proposed = { callId, providerId, name: tool, input: "", complete: false, opaque: undefined };
  turn.calls.set(key, call);
  const { runId, turn: number, attempt } = options;
  options.emit({ type: "call-proposed", runId, callId, turn: number, attempt, name: tool });
  return call;
}

/** Counts only: a number that is none would switch the limit of tokens off. */
function usageOf(usage: Usage | undefined): Usage | undefined {
  if (!usage) return undefined;
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => Number.isFinite(count) && Number(count) >= 0));
}

async function closingEvents(options: CallModel, turn: Turn): Promise<EventDraft[]> {
  const { runId, turn: number, attempt } = options;
  const calls = [...turn.calls.values()];
  const half = calls.find((call) => !call.complete);
  if (half) throw new ModelError(`The answer ended inside the arguments of ${half.name}.`, { retryable: true });
  const ended: EventDraft & { type: "turn-ended" } = {
    type: "turn-ended",
    runId,
    turn: number,
    attempt,
    finishReason: turn.stray ? "dropped-calls" : (turn.end?.reason ?? "stop"),
    usage: usageOf(turn.end?.usage),
    opaque: turn.opaque.length > 0 ? turn.opaque : undefined,
  };
  const { afterModel } = options.agent.hooks;
  if (afterModel) {
    const { threadId, user } = options;
    const asked = calls.map(({ name, input }) => ({ tool: name, input }));
    const { finishReason } = ended;
    const usage = ended.usage && { ...ended.usage };
    await hooked(options.clock, () =>
      afterModel({ user, threadId, runId, turn: number, text: turn.text, calls: asked, finishReason, usage }),
    );
  }
  const events: EventDraft[] = [ended];
  for (const call of calls) {
    const checked = readyEvents(call, turn.end?.reason === "length", options);
    events.push(...(checked instanceof Promise ? await checked : checked));
  }
  return events;
}

/** `call-ready`, and its settlement at once when it cannot be a call: nobody is asked about it. */
function readyEvents(
  call: Proposed,
  isCapped: boolean,
  options: CallModel,
): readonly EventDraft[] | Promise<readonly EventDraft[]> {
  const { agent, runId, turn, newId } = options;
  const cut = isCapped ? cutOff(call.name, call.input) : undefined;
  const checked = cut ?? checkCall(agent, call.name, call.input);
  const toEvents = (result: Awaited<typeof checked>): readonly EventDraft[] => {
    const { callId, name, providerId, opaque } = call;
    const tool = result.ok ? result.tool : undefined;
    const toolHash = tool?.hash ?? "";
    const salt = newId();
    const [digested, canonical] = result.ok ? [result.input, result.canonical] : [null, "null"];
    // One literal: in V8 a spread that is then added to costs more than the digest.
    const ready: EventDraft = {
      type: "call-ready",
      runId,
      callId,
      turn,
      tool: name,
      providerId,
      opaque,
      title: tool?.tool.title,
      summary: tool && summaryOf(tool.tool.summary, result.input, options),
      destructive: tool?.tool.destructive || undefined,
      input: result.input,
      inputText: result.ok && canonical === call.input ? undefined : call.input,
      toolHash,
      salt,
      digest: digestCall({ tool: name, toolHash, input: digested, salt, canonical }),
    };
    if (result.ok) return [ready];
    return [ready, { type: "call-settled", runId, callId, outcome: "failed", error: result.error, effect: "none" }];
  };
  if (!(checked instanceof Promise)) return toEvents(checked);
  const message = `The arguments of ${call.name} could not be checked in time.`;
  const late = { ok: false, input: null, error: { code: "invalid-input", message } } as const;
  return inTime(options.clock, checked, RULE_MS, late).then(toEvents);
}

function summaryOf(
  summary: ((input: unknown) => string) | undefined,
  input: Json,
  options: CallModel,
): string | undefined {
  try {
    return summary && wellFormed(summary(copyJson(input)).slice(0, 200));
  } catch (error) {
    options.onError(error); // a card without its line is still a card
    return undefined;
  }
}
