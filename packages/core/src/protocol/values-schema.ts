import * as z from "zod/mini";
import type { Issue } from "../errors.ts";
import type { Actor, Json, MessagePart, OpaqueBlock, StepError, Usage } from "./values.ts";

/** Deeper JSON is refused: no tool needs it, and recursive code downstream must not run out of stack. */
const MAX_DEPTH = 100;

/** Ties a schema to a type written by hand: it does not compile when either says more than the other. */
export function pin<Value>(): <Schema extends z.ZodMiniType<Value>>(
  schema: Schema & (Value extends z.infer<Schema> ? unknown : "asks for more than the type says"),
) => z.ZodMiniType<Value> {
  return (schema) => schema;
}

/** True for plain JSON of at most 100 levels. Looks, never copies: an own `__proto__` key stays what it was. */
export function isJson(value: unknown, depth = 0): value is Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isJson(item, depth + 1));
}

export const json: z.ZodMiniType<Json> = z.custom<Json>((value) => isJson(value), {
  error: `must be JSON of at most ${MAX_DEPTH} levels`,
});

/** A whole number from 0. */
export const count: z.ZodMiniType<number> = z.int().check(z.minimum(0));

/** A whole number from 1. */
export const ordinal: z.ZodMiniType<number> = z.int().check(z.minimum(1));

export const usage: z.ZodMiniType<Usage> = pin<Usage>()(
  z.strictObject({
    inputTokens: z.optional(count),
    outputTokens: z.optional(count),
    reasoningTokens: z.optional(count),
    cachedInputTokens: z.optional(count),
  }),
);

export const actor: z.ZodMiniType<Actor> = pin<Actor>()(
  z.strictObject({ id: z.string(), name: z.optional(z.string()) }),
);

export const messagePart: z.ZodMiniType<MessagePart> = pin<MessagePart>()(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), text: z.string() }),
    z.strictObject({
      type: z.literal("file"),
      url: z.string(),
      mediaType: z.string(),
      name: z.optional(z.string()),
    }),
  ]),
);

export const opaqueBlocks: z.ZodMiniType<readonly OpaqueBlock[]> = pin<readonly OpaqueBlock[]>()(
  z.readonly(z.array(z.strictObject({ origin: z.string(), data: json }))),
);

const issue = pin<Issue>()(
  z.strictObject({ path: z.readonly(z.array(z.union([z.string(), z.number()]))), message: z.string() }),
);

export const stepError: z.ZodMiniType<StepError> = pin<StepError>()(
  z.strictObject({
    code: z.enum([
      "invalid-input",
      "unknown-tool",
      "tool-error",
      "timed-out",
      "stopped",
      "failed",
      "interrupted",
      "unresolved",
    ]),
    message: z.string(),
    issues: z.optional(z.readonly(z.array(issue))),
  }),
);
