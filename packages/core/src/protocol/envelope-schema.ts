import * as z from "zod/mini";
import type { Envelope, EventBody, EventType } from "./event.ts";
import { count, ordinal } from "./values-schema.ts";

/** An event of one kind, whole. */
export type EventOf<Type extends EventType> = Envelope & Extract<EventBody, { readonly type: Type }>;

interface EnvelopeShape {
  readonly seq: z.ZodMiniType<number>;
  readonly at: z.ZodMiniType<number>;
  readonly v: z.ZodMiniType<number>;
  readonly runId: z.ZodMiniOptional<z.ZodMiniType<string>>;
  readonly epoch: z.ZodMiniOptional<z.ZodMiniType<number>>;
}

/** The fields of every event. */
export const envelope: EnvelopeShape = {
  seq: ordinal,
  at: z.number(),
  v: ordinal,
  runId: z.optional(z.string()),
  epoch: z.optional(count),
};

/** The fields of every write that can be sent again. */
export const writeKey: { readonly key: z.ZodMiniType<string>; readonly bodyHash: z.ZodMiniType<string> } = {
  key: z.string(),
  bodyHash: z.string(),
};
