import type { Json } from "../protocol/values.ts";

/** Unicode tags and the variation selectors behind the first sixteen: no screen shows them, and models read them. */
const INVISIBLE = /[\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/gu;

/** A text without the characters that only a model sees. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, "");
}

/**
 * A result without the characters that only a model sees, in which a page or a tool server can hide instructions:
 * `defineAgent({ results: { process: withoutInvisible } })`. What a model was talked into still has to pass the
 * policy and the person, with this or without it. Flags of regions lose their region.
 */
export function withoutInvisible(output: Json): Json {
  if (typeof output === "string") return visibleText(output);
  if (typeof output !== "object" || output === null) return output;
  if (Array.isArray(output)) return output.map(withoutInvisible);
  return Object.fromEntries(Object.entries(output).map(([key, value]) => [visibleText(key), withoutInvisible(value)]));
}
