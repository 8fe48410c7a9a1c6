import { wellFormed } from "../protocol/copy-json.ts";
import type { Json } from "../protocol/values.ts";

/** At most this much of a tool's output is kept; the rest is cut, and says so. */
export const MAX_OUTPUT_CHARS: number = 512 * 1024;

/** Any value as JSON: total, so that a tool can return what it likes and the run goes on. */
export function encodeResult(value: unknown, maxChars: number = MAX_OUTPUT_CHARS): Json {
  const text = stringify(value);
  const whole = text.includes("\\ud") ? text.replace(HALF_CHARACTER, "$1\uFFFD") : text;
  if (text.length <= maxChars) return JSON.parse(whole) as Json; // it was made by JSON.stringify
  const long = typeof value === "string" ? value : text;
  return `${wellFormed(long.slice(0, maxChars))}… [cut: ${long.length - maxChars} more characters]`;
}

/** JSON.stringify escapes half characters, and only those: whoever reads the history later must not fail on them. */
const HALF_CHARACTER = /(?<!\\)((?:\\\\)*)\\ud[0-9a-f]{3}/g;

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    try {
      return JSON.stringify(value, tolerant()) ?? "null";
    } catch {
      return JSON.stringify("[This result could not be read.]");
    }
  }
}

/** Replaces what JSON cannot carry: cycles and bigints. */
function tolerant(): (this: unknown, key: string, value: unknown) => unknown {
  const path: unknown[] = [];
  return function replace(this: unknown, _key, value) {
    if (typeof value === "bigint") return value.toString();
    if (typeof value !== "object" || value === null) return value;
    while (path.length > 0 && path.at(-1) !== this) path.pop();
    if (path.includes(value)) return "[circular]";
    path.push(value);
    return value;
  };
}
