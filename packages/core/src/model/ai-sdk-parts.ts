import type { Json, Usage } from "../protocol/values.ts";
import { type AnswerPart, mergeMetadata, type ProviderMetadata } from "./ai-sdk-replay.ts";
import { ModelError, type ModelPart } from "./model.ts";
import { rulesOf } from "./provider-rules.ts";

/** What we read of a stream part of any AI SDK spec; parts of other types are passed over. */
interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly providerExecuted?: boolean;
  readonly kind?: string;
  readonly providerMetadata?: ProviderMetadata;
  readonly sourceType?: string;
  readonly url?: string;
  readonly title?: string;
  readonly mediaType?: string;
  readonly data?: unknown;
  readonly finishReason?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
}

/**
 * Makes the translator of one answer's stream: from the parts of an AI SDK model to ours. It returns true at the
 * part that makes the answer whole. What the provider wants to see again (reasoning, signatures, item ids) is
 * collected on the way and comes as one opaque block before the end: complete, or not at all.
 * @throws ModelError or what the provider put into its `error` part.
 */
export function createPartMapper(origin: string): (part: unknown, parts: ModelPart[]) => boolean {
  const { events } = rulesOf(origin);
  const answer: AnswerPart[] = [];
  const open = new Map<string, Extract<AnswerPart, { type: "text" | "reasoning" }>>();
  const foreignCalls = new Set<string>();
  const calls = new Map<string, string>(); // id → name and arguments
  let unnamed = 0;
  let replayable = true;

  /** A call without an id gets one: only those of one call are linked by it, and they come one after the other. */
  const idOf = (id: string | undefined): string => id || `call_${unnamed}`;
  const segment = (type: "text" | "reasoning", part: StreamPart, delta: string): void => {
    const key = `${type}:${part.id}`;
    let known = open.get(key);
    if (!known) {
      known = type === "text" ? { type, length: 0, metadata: undefined } : { type, text: "", metadata: undefined };
      open.set(key, known);
      answer.push(known);
    }
    if (part.providerMetadata) known.metadata = mergeMetadata(known.metadata, part.providerMetadata);
    if (delta === "") return;
    if (known.type === "reasoning") known.text += delta;
    else known.length += delta.length;
    // A text is found again by its place: only in order can that be.
    if (type === "text" && known !== answer.findLast((other) => other.type === "text")) replayable = false;
  };

  return (value, parts) => {
    const part = value as StreamPart; // the spec's shape; every field is checked where it matters
    switch (part.type) {
      case "text-delta": {
        const delta = part.delta ?? "";
        segment("text", part, delta);
        if (delta !== "") parts.push({ type: "text", text: delta });
        return false;
      }
      case "reasoning-delta": {
        const delta = part.delta ?? "";
        segment("reasoning", part, delta);
        if (delta !== "") parts.push({ type: "reasoning", text: delta });
        return false;
      }
      case "text-start":
      case "text-end":
        segment("text", part, "");
        return false;
      case "reasoning-start":
      case "reasoning-end":
        segment("reasoning", part, "");
        return false;
      case "tool-input-start":
        if (part.providerExecuted) foreignCalls.add(part.id ?? "");
        else parts.push({ type: "call-start", id: idOf(part.id), name: part.toolName ?? "" });
        return false;
      case "tool-input-delta":
        if (part.delta && !foreignCalls.has(part.id ?? "")) {
          parts.push({ type: "call-input", id: idOf(part.id), text: part.delta });
        }
        return false;
      case "tool-call": {
        if (part.providerExecuted) {
          replayable = false; // the provider ran it: not ours to run, and its result is not ours to send back
          return false;
        }
        const name = part.toolName ?? "";
        const input = typeof part.input === "string" ? part.input : (JSON.stringify(part.input) ?? "");
        let id = idOf(part.toolCallId);
        if (!part.toolCallId) unnamed++;
        // Some servers give every call of an answer one id: the same call again is one call, another is another.
        const content = `${name} ${input}`;
        while (calls.has(id) && calls.get(id) !== content) id += "_2";
        if (calls.has(id)) return false;
        calls.set(id, content);
        answer.push({ type: "call", id, metadata: part.providerMetadata });
        parts.push({ type: "call", id, name, input });
        return false;
      }
      case "custom":
        if (part.kind !== OPENING) replayable = false;
        return false;
      case "tool-approval-request":
      case "reasoning-file":
        replayable = false;
        return false;
      case "source":
        if (part.url) parts.push({ type: "source", url: part.url, title: part.title });
        return false;
      case "file": {
        const mediaType = part.mediaType ?? "application/octet-stream";
        const url = toUrl(part.data, mediaType);
        if (url) parts.push({ type: "file", url, mediaType });
        return false;
      }
      case "error":
        if (isNewEvent(part.error, events)) return false;
        throw part.error;
      case "finish": {
        const usage = usageOf(part.usage);
        const reason = reasonOf(part.finishReason, usage);
        if (reason === undefined) return false;
        const data = replayable ? dataOf(answer) : undefined;
        if (data !== undefined) parts.push({ type: "opaque", block: { origin, data } });
        parts.push({ type: "end", reason, usage });
        return true;
      }
      default:
        return false;
    }
  };
}

/** Says that an answer begins, and is no part of it: without it the answer goes back whole. */
const OPENING = "anthropic.message_start";

/** A package may take an event it does not know yet for an error. One that is known and not understood is one. */
function isNewEvent(error: unknown, events: ReadonlySet<string> | undefined): boolean {
  if (!events || !(error instanceof Error) || error.name !== "AI_TypeValidationError") return false;
  const { value } = error as { value?: unknown }; // what did not fit, checked next
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  return typeof type === "string" && !events.has(type);
}

const REASONS: Readonly<Record<string, string>> = { "tool-calls": "tools", "content-filter": "filter" };

/**
 * Providers that read to the end of the stream say `other` (`unknown` in v2) with nothing of the model's own when
 * the stream broke off, or `interrupted` (v4): that is no end. The loop then treats the answer as a failed attempt.
 */
function reasonOf(finishReason: unknown, usage: Usage | undefined): string | undefined {
  const { unified, raw } =
    typeof finishReason === "object" && finishReason !== null
      ? (finishReason as { unified?: unknown; raw?: unknown }) // v3 and v4; v2 has the word alone
      : { unified: finishReason, raw: finishReason === "unknown" ? undefined : finishReason };
  if (unified === "error")
    throw new ModelError("The model ended its answer with an error.", { retryable: true, usage });
  const isNone = unified === "other" || unified === "unknown" || unified === undefined;
  if (unified === "interrupted" || (isNone && !raw)) {
    if (usage) throw new ModelError("The answer broke off before its end.", { retryable: true, usage });
    return undefined;
  }
  const reason = String(unified);
  return Object.hasOwn(REASONS, reason) ? REASONS[reason] : reason === "other" ? String(raw) : reason;
}

/** Counts as v2 (numbers) and v3/v4 (totals with parts) report them; what nobody reported stays out. */
function usageOf(usage: unknown): Usage | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = usage as Record<string, unknown>; // read below
  const counts = {
    inputTokens: countOf(inputTokens, "total"),
    outputTokens: countOf(outputTokens, "total"),
    reasoningTokens: countOf(reasoningTokens, "total") ?? countOf(outputTokens, "reasoning", false),
    cachedInputTokens: countOf(cachedInputTokens, "total") ?? countOf(inputTokens, "cacheRead", false),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

function countOf(value: unknown, field: string, plain = true): number | undefined {
  const count = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : value; // checked next
  return typeof count === "number" && Number.isFinite(count) && (plain || count !== value) ? count : undefined;
}

/** A generated file as an address: v2 and v3 give base64 or bytes, v4 wraps them or gives a URL. */
function toUrl(data: unknown, mediaType: string): string | undefined {
  if (typeof data === "string") return /^(https?|data):/i.test(data) ? data : `data:${mediaType};base64,${data}`;
  if (data instanceof Uint8Array) return `data:${mediaType};base64,${toBase64(data)}`;
  if (data instanceof URL) return data.href;
  if (typeof data !== "object" || data === null) return undefined;
  const { url, data: inner } = data as { url?: unknown; data?: unknown }; // v4; both are checked by the call below
  return toUrl(url ?? inner, mediaType);
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(index, index + 0x8000));
  }
  return btoa(text);
}

/** The block to keep, as plain JSON; nothing when there is nothing a provider would miss. */
function dataOf(answer: readonly AnswerPart[]): Json | undefined {
  if (!answer.some((part) => part.type === "reasoning" || part.metadata)) return undefined;
  try {
    return JSON.parse(JSON.stringify(answer)); // drops what is undefined, as the log does
  } catch {
    return undefined;
  }
}
