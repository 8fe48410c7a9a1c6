import type { Clock } from "../loop/clock.ts";
import { systemClock } from "../loop/clock.ts";
import type { Model, ModelPart, ModelRequest } from "../model/model.ts";
import { ModelError } from "../model/model.ts";
import type { Json } from "../protocol/values.ts";
import { readConversation, type ScriptedConversation, type ScriptedResult } from "./scripted-result.ts";

/** One thing a scripted answer does: any model part, or a pause, a failure, a broken connection. */
export type ScriptedPart =
  | ModelPart
  | { readonly type: "delay"; readonly ms: number }
  | { readonly type: "fail"; readonly error: Error }
  | { readonly type: "cut" };

/** One answer. Its `end` is added where the script gives none. */
export type ScriptedTurn = ScriptedPart | readonly ScriptedPart[];

/** An answer, or how to make it of what the model was told. */
export type ScriptEntry = ScriptedTurn | ((results: readonly ScriptedResult[], request: ModelRequest) => ScriptedTurn);

/** Answers in order, one for each request; or one function that answers them all. */
export type Script = readonly ScriptEntry[] | ((conversation: ScriptedConversation & ModelRequest) => ScriptedTurn);

export interface ScriptedModelOptions {
  /** @defaultValue "scripted" */
  readonly id?: string | undefined;
  /**
   * Pause before each piece of text or arguments.
   * @defaultValue 0
   */
  readonly delayMs?: number | undefined;
  /** @defaultValue the system's clock */
  readonly clock?: Pick<Clock, "after"> | undefined;
}

export interface ScriptedModel extends Model {
  /** The requests so far, the last thousand of them: what the model was told. */
  readonly requests: readonly ModelRequest[];
}

const REQUESTS_KEPT = 1000;

/**
 * A model that plays a script: for tests of your own tools, and for a demo without a key. It streams text and
 * arguments in pieces, as real models do, and stops when it is told to.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const { id = "scripted", delayMs = 0, clock = systemClock() } = options;
  const requests: ModelRequest[] = [];
  let requestCount = 0;
  let callCount = 0;
  return {
    id,
    requests,
    async *stream(request, signal) {
      signal.throwIfAborted();
      requests.push(request);
      if (requests.length > REQUESTS_KEPT) requests.shift();
      const turn = turnOf(script, request, ++requestCount);
      let reason = "stop";
      for (const part of "type" in turn ? [turn] : turn) {
        signal.throwIfAborted();
        if (part.type === "cut") return;
        if (part.type === "fail") throw part.error;
        if (part.type === "delay") {
          await sleep(part.ms, signal, clock);
          continue;
        }
        if (part.type === "call") reason = "tools";
        for (const piece of piecesOf(part, () => `call_${++callCount}`)) {
          if (delayMs > 0) await sleep(delayMs, signal, clock);
          signal.throwIfAborted();
          yield piece;
        }
        if (part.type === "end") return;
      }
      yield { type: "end", reason };
    },
  };
}

/** Says a text. */
export function say(text: string): ScriptedPart {
  return { type: "text", text };
}

/** Calls a tool. For arguments that are no JSON, write the part out: `{ type: "call", id, name, input: '{"a":' }`. */
export function call(name: string, input: Json): ScriptedPart {
  return { type: "call", id: "", name, input: JSON.stringify(input) };
}

/** Several calls of one answer: they may run side by side. */
export function calls(...parts: readonly ScriptedPart[]): ScriptedTurn {
  return parts;
}

/** Fails the attempt here; a text is a failure that is worth another attempt. */
export function fail(error: Error | string): ScriptedPart {
  return { type: "fail", error: typeof error === "string" ? new ModelError(error, { retryable: true }) : error };
}

/** Waits; `Infinity` until the attempt is stopped. */
export function delay(ms: number): ScriptedPart {
  return { type: "delay", ms };
}

/** Breaks off here without an end, as a dropped connection does. */
export function cut(): ScriptedPart {
  return { type: "cut" };
}

function turnOf(script: Script, request: ModelRequest, count: number): ScriptedTurn {
  const conversation = readConversation(request.messages);
  if (typeof script === "function") return script({ ...request, ...conversation });
  const entry = script[count - 1];
  if (entry === undefined) {
    const length = script.length;
    throw new ModelError(`The script has ${length} answers and was asked for answer ${count}.`, { retryable: false });
  }
  return typeof entry === "function" ? entry(conversation.results, request) : entry;
}

/** Words of a text, and a call's arguments a dozen characters at a time. */
function piecesOf(part: ModelPart, newId: () => string): readonly ModelPart[] {
  if (part.type === "text" || part.type === "reasoning") {
    const words = part.text.match(/\s*\S+\s*/g) ?? [part.text];
    return words.map((text) => ({ type: part.type, text }));
  }
  if (part.type !== "call") return [part];
  const id = part.id || newId();
  const pieces = part.input.match(/[\s\S]{1,12}/g) ?? [];
  return [
    { type: "call-start", id, name: part.name },
    ...pieces.map((text) => ({ type: "call-input", id, text }) as const),
    { ...part, id },
  ];
}

function sleep(ms: number, signal: AbortSignal, clock: Pick<Clock, "after">): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const end = (): void => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    const onAbort = (): void => {
      cancel?.();
      reject(signal.reason);
    };
    const cancel = Number.isFinite(ms) ? clock.after(ms, end) : undefined;
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
