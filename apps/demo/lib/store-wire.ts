import type { AppendResult, FollowChange, LeaseResult, ThreadPage, ThreadRead } from "toolrun/server";
import { z } from "zod";

/**
 * What `http-store.ts` and `store-api.ts` say to each other: a POST for each of the six methods, JSON both ways. The
 * text of events and snapshots travels as JSON strings, which give every character back as it was, half a surrogate
 * pair too.
 */

const seq = z.int().nonnegative();
const id = z.string();
const event = z.object({ seq, batch: z.string(), control: z.boolean(), data: z.string() });
const row = z.object({
  id,
  owner: z.string(),
  title: z.string(),
  status: z.enum(["idle", "running", "waiting", "ended"]),
  pending: z.int(),
  dueAt: z.number().optional(),
  updatedAt: z.number(),
});
const read = z.object({
  head: seq,
  control: seq,
  snapshot: z.object({ seq, data: z.string() }).optional(),
  events: z.array(event),
});

/** What each method is asked with. */
export const storeRequest = {
  read: z.object({ id, after: seq.optional() }),
  append: z.object({
    id,
    position: z.union([z.object({ at: seq }), z.object({ atControl: seq })]),
    append: z.object({
      batch: z.string(),
      events: z.array(event.pick({ control: true, data: true })),
      lease: z
        .union([z.object({ driverId: z.string(), ttlMs: z.number() }), z.object({ release: z.string() })])
        .optional(),
      snapshot: z.string().optional(),
      row: row.optional(),
    }),
  }),
  follow: z.object({ id, after: seq }),
  lease: z.object({ id, driverId: z.string(), ttlMs: z.number() }),
  list: z.object({
    owner: z.string().optional(),
    cursor: z.string().optional(),
    filter: z
      .object({ status: row.shape.status.optional(), dueBefore: z.number().optional(), limit: z.int().optional() })
      .optional(),
  }),
  remove: z.object({ id }),
};

/** What each method answers. */
export const storeAnswer = {
  read: z.union([read, z.object({ gone: z.literal(true) }), z.null()]) satisfies z.ZodType<
    ThreadRead | { readonly gone: true } | null
  >,
  append: z.discriminatedUnion("status", [
    z.object({ status: z.literal("ok"), first: seq, head: seq }),
    read.extend({ status: z.literal("conflict") }),
    z.object({ status: z.literal("held"), until: z.number() }),
    z.object({ status: z.literal("gone") }),
  ]) satisfies z.ZodType<AppendResult>,
  lease: z.discriminatedUnion("status", [
    z.object({ status: z.literal("ok"), head: seq, control: seq }),
    z.object({ status: z.literal("lost") }),
  ]) satisfies z.ZodType<LeaseResult>,
  list: z.object({ rows: z.array(row), cursor: z.string().optional() }) satisfies z.ZodType<ThreadPage>,
  remove: z.null(),
};

/** One frame of `follow`. */
export const storeChange = z.discriminatedUnion("type", [
  z.object({ type: z.literal("events"), events: z.array(event) }),
  z.object({ type: z.literal("reset") }),
  z.object({ type: z.literal("removed") }),
]) satisfies z.ZodType<FollowChange>;

/** Why a method failed, where that is known. Without it, whether it was done is unknown too. */
export const storeError = z.object({
  error: z.object({ code: z.enum(["bad-request", "internal", "misconfigured", "unavailable"]), message: z.string() }),
});
