import type { Json } from "./values.ts";

/**
 * A copy that shares nothing. What the log holds is handed to an app's own code only as a copy: a tool or a rule
 * that changes its input must not change what was approved. Much faster than structuredClone for what calls carry.
 */
export function copyJson(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  // fromEntries defines own properties, also one named __proto__.
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyJson(inner)]));
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Text that every provider takes: half characters, as cutting leaves them, become U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, "\uFFFD");
}
