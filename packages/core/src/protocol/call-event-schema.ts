import * as z from "zod/mini";
import type { EventOf } from "./envelope-schema.ts";
import { envelope, writeKey } from "./envelope-schema.ts";
import type { EventType } from "./event.ts";
import { actor, count, json, opaqueBlocks, ordinal, pin, stepError } from "./values-schema.ts";

const scope = z.enum(["once", "run", "thread"]);
const optionalText = z.optional(z.string());
const optionalTime = z.optional(z.number());
const terms = z.strictObject({ label: optionalText, uses: z.optional(z.number()), forMs: optionalTime });

type CallEventType = Extract<EventType, `call-${string}` | `decision-${string}`>;

/** Schemas of the events of one call, from proposal to settlement. */
export const callEventSchemas: { readonly [Type in CallEventType]: z.ZodMiniType<EventOf<Type>> } = {
  "call-proposed": pin<EventOf<"call-proposed">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("call-proposed"),
      callId: z.string(),
      turn: ordinal,
      attempt: ordinal,
      name: z.string(),
    }),
  ),
  "call-input-added": pin<EventOf<"call-input-added">>()(
    z.strictObject({ ...envelope, type: z.literal("call-input-added"), callId: z.string(), text: z.string() }),
  ),
  "call-ready": pin<EventOf<"call-ready">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("call-ready"),
      callId: z.string(),
      turn: ordinal,
      tool: z.string(),
      title: optionalText,
      summary: optionalText,
      input: json,
      inputText: optionalText,
      providerId: optionalText,
      opaque: z.optional(opaqueBlocks),
      toolHash: z.string(),
      salt: z.string(),
      digest: z.string(),
      destructive: z.optional(z.boolean()),
    }),
  ),
  "call-judged": pin<EventOf<"call-judged">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("call-judged"),
      callId: z.string(),
      verdict: z.enum(["allow", "ask", "deny", "modify"]),
      by: z.enum(["policy", "tool", "grant", "denied", "default"]),
      digest: z.string(),
      input: z.optional(json),
      reason: optionalText,
      grantId: optionalText,
    }),
  ),
  "decision-requested": pin<EventOf<"decision-requested">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("decision-requested"),
      callId: z.string(),
      kind: z.enum(["approval", "question", "link", "browser"]),
      digest: z.string(),
      prompt: optionalText,
      schema: z.optional(json),
      url: optionalText,
      editable: z.optional(z.union([z.boolean(), z.readonly(z.array(z.string()))])),
      scopes: z.optional(z.readonly(z.array(scope))),
      grant: z.optional(terms),
      grantKey: optionalText,
      reason: optionalText,
      denied: z.optional(z.strictObject({ by: z.optional(actor), at: z.number(), reason: optionalText })),
      expiresAt: optionalTime,
      extendMs: optionalTime,
    }),
  ),
  "decision-extended": pin<EventOf<"decision-extended">>()(
    z.strictObject({
      ...envelope,
      ...writeKey,
      type: z.literal("decision-extended"),
      callId: z.string(),
      digest: z.string(),
      expiresAt: z.number(),
      by: actor,
      via: z.enum(["browser", "code"]),
    }),
  ),
  "decision-recorded": pin<EventOf<"decision-recorded">>()(
    z.strictObject({
      ...envelope,
      ...writeKey,
      type: z.literal("decision-recorded"),
      callId: z.string(),
      action: z.enum(["approve", "deny", "answer", "retry", "skip", "expire"]),
      by: z.optional(actor),
      via: z.enum(["browser", "code", "clock"]),
      digest: z.string(),
      input: z.optional(json),
      newDigest: optionalText,
      value: z.optional(json),
      error: optionalText,
      reason: optionalText,
      scope: z.optional(scope),
      grant: z.optional(terms),
      grantKey: optionalText,
      grantId: optionalText,
      stop: z.optional(z.boolean()),
    }),
  ),
  "call-started": pin<EventOf<"call-started">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("call-started"),
      callId: z.string(),
      attempt: ordinal,
      digest: z.string(),
      key: z.string(),
    }),
  ),
  "call-progressed": pin<EventOf<"call-progressed">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("call-progressed"),
      callId: z.string(),
      attempt: ordinal,
      value: z.optional(z.number()),
      max: z.optional(z.number()),
      label: optionalText,
      log: z.optional(z.readonly(z.array(z.string()))),
      partial: z.optional(json),
    }),
  ),
  "call-interrupted": pin<EventOf<"call-interrupted">>()(
    z.strictObject({ ...envelope, type: z.literal("call-interrupted"), callId: z.string(), attempt: ordinal }),
  ),
  "call-settled": pin<EventOf<"call-settled">>()(
    z.strictObject({
      ...envelope,
      type: z.literal("call-settled"),
      callId: z.string(),
      attempt: z.optional(count),
      outcome: z.enum(["succeeded", "failed", "not-run"]),
      output: z.optional(json),
      toModel: z.optional(json),
      error: z.optional(stepError),
      reason: z.optional(z.enum(["denied", "expired", "stopped", "skipped", "blocked"])),
      effect: z.optional(z.enum(["unknown", "none"])),
      late: z.optional(z.boolean()),
    }),
  ),
};
