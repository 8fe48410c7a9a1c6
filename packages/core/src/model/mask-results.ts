import { resultTokens } from "./estimate-tokens.ts";
import type { ModelMessage, ToolResult } from "./model.ts";
import { wireToolName } from "./tool-name.ts";

/** Which old results leave the history. */
export interface MaskOptions {
  /** Results of the last answers are always kept. @defaultValue 2 */
  readonly olderThanTurns?: number | undefined;
  /** Smaller ones are not worth it. @defaultValue 500 */
  readonly atLeastTokens?: number | undefined;
  /** Tools whose results are always kept. @defaultValue those of the agent that are not `readOnly` */
  readonly keep?: readonly string[] | undefined;
}

/** What was masked for the first time. */
export interface Masked {
  readonly results: number;
  /** About how many tokens that saves. */
  readonly savedTokens: number;
}

/**
 * The messages with a short placeholder for every old, large, successful result: the model has read it and can ask
 * again. Calls and results stay paired; messages that do not change stay the same objects, those that do are made
 * once. Returns `messages` itself when nothing is masked.
 * @param onMasked - Called when something is masked for the first time. Must not throw.
 */
export function maskResults(
  messages: readonly ModelMessage[],
  options: MaskOptions,
  onMasked?: (masked: Masked) => void,
): readonly ModelMessage[] {
  const old = oldUntil(messages, options.olderThanTurns ?? 2);
  const fresh = { results: 0, savedTokens: 0 };
  let shaped: ModelMessage[] | undefined;
  for (let index = 0; index < old; index++) {
    const message = messages[index];
    if (message?.role !== "tool") continue;
    const masked = maskMessage(message, options, fresh);
    if (masked === message) continue;
    shaped ??= [...messages];
    shaped[index] = masked;
  }
  if (fresh.results > 0) onMasked?.(fresh);
  return shaped ?? messages;
}

/** Index of the first answer whose results are kept; 0 when all are. */
function oldUntil(messages: readonly ModelMessage[], keptTurns: number): number {
  let turns = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    if (messages[index]?.role === "assistant" && ++turns === keptTurns) return index;
  }
  return 0;
}

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

const maskedMessages = new WeakMap<ToolMessage, ToolMessage>();
const placeholders = new WeakMap<ToolResult, ToolResult>();

function maskMessage(message: ToolMessage, options: MaskOptions, fresh: { results: number; savedTokens: number }) {
  const { atLeastTokens = 500, keep = [] } = options;
  const results = message.results.map((result) => {
    if (result.isError || resultTokens(result) < atLeastTokens || isKept(result, keep)) return result;
    const known = placeholders.get(result);
    if (known) return known;
    const made = placeholderFor(result);
    const savedTokens = resultTokens(result) - resultTokens(made);
    if (savedTokens <= 0) return result;
    placeholders.set(result, made);
    fresh.results++;
    fresh.savedTokens += savedTokens;
    return made;
  });
  if (results.every((result, index) => result === message.results[index])) return message;
  const known = maskedMessages.get(message);
  if (known?.results.every((result, index) => result === results[index])) return known;
  const masked: ToolMessage = { role: "tool", results };
  maskedMessages.set(message, masked);
  return masked;
}

/** A developer writes a tool's own name; a message has the model's. */
function isKept({ name }: ToolResult, keep: readonly string[]): boolean {
  return keep.some((tool) => wireToolName(tool) === name);
}

function placeholderFor(result: ToolResult): ToolResult {
  const output = `[The result of ${result.name}, about ${resultTokens(result)} tokens, was left out to save room. The call succeeded and is done. To read its result again, call ${result.name} again.]`;
  return { ...result, output };
}
