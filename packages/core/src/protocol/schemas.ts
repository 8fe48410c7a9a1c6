import * as z from "zod/mini";
import { callEventSchemas } from "./call-event-schema.ts";
import type { EventOf } from "./envelope-schema.ts";
import { envelope, writeKey } from "./envelope-schema.ts";
import type { EventType } from "./event.ts";
import { actor, count, json, messagePart, opaqueBlocks, ordinal, pin, usage } from "./values-schema.ts";

const optionalText = z.optional(z.string());
const optionalTime = z.optional(z.number());
const limit = z.enum(["turns", "calls", "tokens", "time", "repeats", "failures", "depth", "completion", "log-size"]);

/**
 * A schema for every kind of event, each tied to its type in event.ts: a kind without a schema, or a schema
 * that says more or less than the type, does not compile. For checks and tests; logs are read by parseEvent.
 */
export const eventSchemas: { readonly [Type in EventType]: z.ZodMiniType<EventOf<Type>> } = {
  ...callEventSchemas,
  "thread-created": pin<EventOf<"thread-created">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("thread-created"),
      owner: z.string(),
      agent: z.string(),
      title: z.string(),
    }),
  ),
  "thread-renamed": pin<EventOf<"thread-renamed">>()(
    z.strictObject({ ...envelope, ...writeKey, type: z.literal("thread-renamed"), title: z.string(), by: actor }),
  ),
  "message-added": pin<EventOf<"message-added">>()(
    z.strictObject({
      ...envelope,
      ...writeKey,
      type: z.literal("message-added"),
      messageId: z.string(),
      parts: z.readonly(z.array(messagePart)),
      by: actor,
    }),
  ),
  "run-started": pin<EventOf<"run-started">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("run-started"),
      trigger: z.enum(["message", "call", "continue"]),
      depth: count,
      parentCallId: optionalText,
      agentVersion: z.string(),
      user: z.optional(json),
      driverId: optionalText,
      continues: optionalText,
      turnLimit: z.optional(count),
      by: z.optional(actor),
      key: optionalText,
      bodyHash: optionalText,
    }),
  ),
  "run-resumed": pin<EventOf<"run-resumed">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("run-resumed"),
      driverId: z.string(),
      why: z.enum(["decision", "takeover", "hand-over", "continue"]),
    }),
  ),
  "run-waiting": pin<EventOf<"run-waiting">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("run-waiting"),
      for: z.readonly(z.array(z.string())),
      dueAt: optionalTime,
    }),
  ),
  "run-handed-over": pin<EventOf<"run-handed-over">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("run-handed-over"),
      why: z.enum(["budget", "shutdown"]),
      dueAt: optionalTime,
    }),
  ),
  "stop-requested": pin<EventOf<"stop-requested">>()(
    z.strictObject({ ...envelope, ...writeKey, type: z.literal("stop-requested"), by: actor, reason: optionalText }),
  ),
  "run-ended": pin<EventOf<"run-ended">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("run-ended"),
      outcome: z.enum(["completed", "limited", "stopped", "failed"]),
      limit: z.optional(limit),
      code: optionalText,
      reason: optionalText,
      text: z.string(),
      usage,
    }),
  ),
  "turn-started": pin<EventOf<"turn-started">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("turn-started"),
      turn: ordinal,
      attempt: ordinal,
      model: z.string(),
      toolsOff: z.optional(z.boolean()),
      offered: z.optional(z.readonly(z.array(z.string()))),
      note: optionalText,
    }),
  ),
  "text-added": pin<EventOf<"text-added">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("text-added"),
      turn: ordinal,
      attempt: ordinal,
      kind: z.optional(z.literal("reasoning")),
      text: z.string(),
    }),
  ),
  "part-added": pin<EventOf<"part-added">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("part-added"),
      turn: ordinal,
      attempt: ordinal,
      part: z.discriminatedUnion("type", [
        z.strictObject({ type: z.literal("source"), url: z.string(), title: optionalText }),
        z.strictObject({ type: z.literal("file"), url: z.string(), mediaType: z.string() }),
      ]),
    }),
  ),
  "turn-ended": pin<EventOf<"turn-ended">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("turn-ended"),
      turn: ordinal,
      attempt: ordinal,
      finishReason: z.string(),
      usage: z.optional(usage),
      opaque: z.optional(opaqueBlocks),
    }),
  ),
  "turn-judged": pin<EventOf<"turn-judged">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("turn-judged"),
      turn: ordinal,
      verdict: z.enum(["pass", "stop", "again", "failed"]),
      reason: optionalText,
    }),
  ),
  "grant-revoked": pin<EventOf<"grant-revoked">>()(
    z.strictObject({ ...envelope, ...writeKey, type: z.literal("grant-revoked"), grantId: z.string(), by: actor }),
  ),
  "attempt-failed": pin<EventOf<"attempt-failed">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("attempt-failed"),
      definite: z.optional(z.boolean()),
      callId: optionalText,
      turn: z.optional(ordinal),
      attempt: ordinal,
      error: z.strictObject({ code: z.string(), message: z.string() }),
      retryAt: optionalTime,
      usage: z.optional(usage),
    }),
  ),
  "limit-reached": pin<EventOf<"limit-reached">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("limit-reached"),
      limit,
      count,
      follows: z.enum(["answer", "stop", "note", "warn"]),
    }),
  ),
};
