import * as z from "zod/mini";
import type { DecisionAction, DecisionScope, Json } from "./values.ts";
import { json, pin } from "./values-schema.ts";

const KILOBYTE = 1024;
const MAX_TEXT_BYTES = 64 * KILOBYTE;
const MAX_DATA_URL = 256 * KILOBYTE;
const MAX_URL = 8 * KILOBYTE;
const MAX_FILES = 20;
const encoder = new TextEncoder();

/** A file as the browser sends it: a link, or a small data URL. */
export interface FileBody {
  readonly url: string;
  readonly mediaType: string;
  readonly name?: string | undefined;
}
/** Body of `POST /threads` and `POST /threads/:id/messages`. */
export interface MessageBody {
  readonly message: { readonly text: string; readonly files?: readonly FileBody[] | undefined };
  /** `deny`: settles open approvals first, instead of queueing behind them. */
  readonly pending?: "deny" | undefined;
  readonly key: string;
}
export interface DecisionBody {
  readonly callId: string;
  /** Of the step that was on screen. */
  readonly digest: string;
  /** `extend` decides nothing: it gives the question more time. */
  readonly action: DecisionAction | "extend";
  readonly input?: Json | undefined;
  readonly reason?: string | undefined;
  readonly scope?: DecisionScope | undefined;
  readonly value?: Json | undefined;
  readonly error?: string | undefined;
  readonly stop?: boolean | undefined;
}
/** Body of `POST /threads/:id/decisions`. */
export interface DecisionsBody {
  readonly decisions: readonly DecisionBody[];
  readonly key: string;
}
/** Body of `POST /threads/:id/stop`. */
export interface StopBody {
  readonly runId: string;
  readonly reason?: string | undefined;
  readonly key: string;
}
/** Body of `POST /threads/:id/continue`. */
export interface ContinueBody {
  readonly runId: string;
  /** How many more turns. */
  readonly turns?: number | undefined;
  readonly key: string;
}
/** Body of `POST /threads/:id/title`. */
export interface TitleBody {
  readonly title: string;
  readonly key: string;
}
/** Body of `POST /threads/:id/revoke`. */
export interface RevokeBody {
  readonly grantId: string;
  readonly key: string;
}

const text = (from: number, to: number): z.ZodMiniType<string> =>
  z
    .string()
    .check(
      z.minLength(from, `must have at least ${from} character`),
      z.maxLength(to, `must have at most ${to} characters`),
    );
const id = text(1, 200);
const key = id;
const reason = z.optional(text(0, 2000));

const messageText = text(0, MAX_TEXT_BYTES).check(
  z.refine((value) => value.length * 3 <= MAX_TEXT_BYTES || encoder.encode(value).length <= MAX_TEXT_BYTES, {
    error: `must have at most ${MAX_TEXT_BYTES} bytes`,
  }),
);

const fileUrl = z.string().check(
  z.refine((value) => isWebUrl(value) || /^data:[^,]*,/i.test(value), { error: "must be an http, https or data URL" }),
  z.refine((value) => value.length <= (value.slice(0, 5).toLowerCase() === "data:" ? MAX_DATA_URL : MAX_URL), {
    error: `must have at most ${MAX_DATA_URL} characters as a data URL, ${MAX_URL} as a link`,
  }),
);

function isWebUrl(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value);
}

const file = z.strictObject({
  url: fileUrl,
  mediaType: z
    .string()
    .check(z.maxLength(200), z.regex(/^[\w.+-]+\/[\w.+*-]+(?:;.*)?$/, "must be a media type such as image/png")),
  name: z.optional(text(1, 255)),
});

export const messageBody: z.ZodMiniType<MessageBody> = pin<MessageBody>()(
  z.strictObject({
    message: z
      .strictObject({
        text: messageText,
        files: z.optional(
          z.readonly(z.array(file).check(z.maxLength(MAX_FILES, `must have at most ${MAX_FILES} files`))),
        ),
      })
      .check(
        z.refine(({ text, files }) => text !== "" || Boolean(files?.length), {
          error: "must have text or files",
          path: ["text"],
        }),
      ),
    pending: z.optional(z.literal("deny")),
    key,
  }),
);

const decision = z.strictObject({
  callId: id,
  digest: id,
  action: z.enum(["approve", "deny", "answer", "retry", "skip", "extend"]),
  input: z.optional(json),
  reason,
  scope: z.optional(z.enum(["once", "run", "thread"])),
  value: z.optional(json),
  error: reason,
  stop: z.optional(z.boolean()),
});

export const decisionsBody: z.ZodMiniType<DecisionsBody> = pin<DecisionsBody>()(
  z.strictObject({
    decisions: z.readonly(
      z
        .array(decision)
        .check(z.minLength(1, "must have at least 1 decision"), z.maxLength(100, "must have at most 100 decisions")),
    ),
    key,
  }),
);

export const stopBody: z.ZodMiniType<StopBody> = pin<StopBody>()(z.strictObject({ runId: id, reason, key }));

export const continueBody: z.ZodMiniType<ContinueBody> = pin<ContinueBody>()(
  z.strictObject({
    runId: id,
    turns: z.optional(z.int().check(z.minimum(1, "must be from 1 to 100"), z.maximum(100, "must be from 1 to 100"))),
    key,
  }),
);

export const titleBody: z.ZodMiniType<TitleBody> = pin<TitleBody>()(z.strictObject({ title: text(1, 200), key }));

export const revokeBody: z.ZodMiniType<RevokeBody> = pin<RevokeBody>()(z.strictObject({ grantId: id, key }));
