import type { Json } from "../protocol/values.ts";
import type { ModelMessage, ToolResult } from "./model.ts";

const CHARS_PER_TOKEN = 4;

/** A file is not read as text: about what a picture costs, whatever its size as base64. */
const FILE_CHARS = 1_000 * CHARS_PER_TOKEN;

/**
 * About how many tokens messages cost: a quarter of their characters, as every text does. Tools and their schemas are
 * not counted. Each message is measured once.
 */
export function estimateTokens(messages: readonly ModelMessage[]): number {
  let chars = 0;
  for (const message of messages) chars += charsOf(message);
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** About how many tokens the output of a call costs. */
export function tokensOf(output: Json): number {
  return Math.ceil(textOf(output).length / CHARS_PER_TOKEN);
}

/** A result as the model reads it. */
export function textOf(output: Json): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

const measured = new WeakMap<ModelMessage | ToolResult, number>();

function charsOf(message: ModelMessage): number {
  let chars = measured.get(message);
  if (chars === undefined) {
    chars = countChars(message);
    measured.set(message, chars);
  }
  return chars;
}

/** The same for one result. */
export function resultTokens(result: ToolResult): number {
  return Math.ceil(resultChars(result) / CHARS_PER_TOKEN);
}

function resultChars(result: ToolResult): number {
  let chars = measured.get(result);
  if (chars === undefined) {
    chars = textOf(result.output).length;
    measured.set(result, chars);
  }
  return chars;
}

function countChars(message: ModelMessage): number {
  switch (message.role) {
    case "system":
      return message.text.length;
    case "user":
      return sum(message.parts, (part) => (part.type === "text" ? part.text.length : FILE_CHARS));
    case "assistant": {
      const opaque = message.opaque ? JSON.stringify(message.opaque).length : 0; // reasoning goes back with it
      return (
        opaque + sum(message.parts, (part) => (part.type === "text" ? part.text : part.name + part.inputText).length)
      );
    }
    case "tool":
      return sum(message.results, (result) => result.name.length + resultChars(result));
    default:
      message satisfies never;
      return 0;
  }
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
