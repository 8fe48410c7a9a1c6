import type { Json, OpaqueBlock } from "../protocol/values.ts";
import type { ModelMessage } from "./model.ts";

/** Per provider, what it wants back: signatures, item ids, encrypted reasoning. */
export type ProviderMetadata = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * One part of an answer in the order the provider gave it, as kept in an opaque block. Texts are kept by their
 * length and calls by their id: both are in the history already.
 */
export type AnswerPart =
  | { readonly type: "text"; length: number; metadata: ProviderMetadata | undefined }
  | { readonly type: "reasoning"; text: string; metadata: ProviderMetadata | undefined }
  | { readonly type: "call"; readonly id: string; readonly metadata: ProviderMetadata | undefined };

/** A part to send back: the call or text itself, or reasoning, with what its provider wants beside it. */
export type ReplayPart =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly metadata: ProviderMetadata | undefined }
  | { readonly type: "call"; readonly call: CallPart; readonly metadata: ProviderMetadata | undefined };

type AssistantMessage = Extract<ModelMessage, { role: "assistant" }>;
type CallPart = Extract<AssistantMessage["parts"][number], { type: "call" }>;

/**
 * An assistant's message as its own provider gave it, reasoning and signatures in their places. Undefined when the
 * message came from another provider or is not the one the block was made of: half a block is worse than none.
 */
export function replayOf(message: AssistantMessage, origin: string): readonly ReplayPart[] | undefined {
  const answer = answerOf(message.opaque?.find((block) => block.origin === origin));
  if (!answer) return undefined;
  let text = "";
  const calls: CallPart[] = [];
  for (const part of message.parts) {
    if (part.type === "text") text += part.text;
    else calls.push(part);
  }
  const parts: ReplayPart[] = [];
  let at = 0;
  let next = 0;
  for (const part of answer) {
    if (part.type === "call") {
      const call = calls[next++];
      if (call?.id !== part.id) return undefined;
      parts.push({ type: "call", call, metadata: part.metadata });
    } else if (part.type === "text") {
      parts.push({ type: "text", text: text.slice(at, at + part.length), metadata: part.metadata });
      at += part.length;
    } else {
      parts.push({ type: "reasoning", text: part.text, metadata: part.metadata });
    }
  }
  return at === text.length && next === calls.length ? parts : undefined;
}

/** What a later part of the same text or reasoning adds; it never takes away another provider's entry. */
export function mergeMetadata(known: ProviderMetadata | undefined, added: ProviderMetadata): ProviderMetadata {
  if (!known) return added;
  const merged: Record<string, Readonly<Record<string, unknown>>> = { ...known };
  for (const [provider, values] of Object.entries(added)) merged[provider] = { ...merged[provider], ...values };
  return merged;
}

/** The block's parts, if it is one of ours. */
function answerOf(block: OpaqueBlock | undefined): readonly AnswerPart[] | undefined {
  if (!block || !Array.isArray(block.data)) return undefined;
  return block.data.every(isAnswerPart) ? (block.data as unknown as AnswerPart[]) : undefined; // every part was just checked
}

function isAnswerPart(value: Json): boolean {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type === "text") return typeof value.length === "number";
  if (value.type === "reasoning") return typeof value.text === "string";
  return value.type === "call" && typeof value.id === "string";
}
