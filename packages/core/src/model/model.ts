import type { Json, MessagePart, OpaqueBlock, Usage } from "../protocol/values.ts";

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: Json;
}

/** One message of the history, provider-neutral. Every call has exactly one result, in order. */
export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly parts: readonly MessagePart[] }
  | {
      readonly role: "assistant";
      readonly parts: readonly AssistantPart[];
      readonly opaque?: readonly OpaqueBlock[] | undefined;
    }
  | { readonly role: "tool"; readonly results: readonly ToolResult[] };

export type AssistantPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      /** The argument text as the model wrote it, or canonical JSON. Valid JSON unless the call was refused as malformed. */
      readonly inputText: string;
      readonly opaque?: readonly OpaqueBlock[] | undefined;
    };

export interface ToolResult {
  readonly id: string;
  readonly name: string;
  readonly output: Json;
  /** True when the tool failed or was not run. */
  readonly isError: boolean;
}

/** What the model may, must or must not do with its tools: one of them by name, any (`required`), as it likes, or none. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  /** Empty when tools are off: then it is not sent at all. */
  readonly tools: readonly ToolSpec[];
  /** By the tool's name in `tools`; never set without tools. @defaultValue "auto" */
  readonly toolChoice?: ToolChoice | undefined;
}

/** One piece of a model's answer. A stream without `end` is a failed attempt. */
export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "source"; readonly url: string; readonly title?: string | undefined }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string }
  /** A call begins; `id` is the provider's and only links the parts of one stream. */
  | { readonly type: "call-start"; readonly id: string; readonly name: string }
  | { readonly type: "call-input"; readonly id: string; readonly text: string }
  /** A call is complete: `input` is the whole argument text. */
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      readonly opaque?: readonly OpaqueBlock[] | undefined;
    }
  | { readonly type: "opaque"; readonly block: OpaqueBlock }
  | {
      readonly type: "end";
      /** `stop`, `tools`, `length`, `filter` or the provider's own word: a hint, kept for people. */
      readonly reason: string;
      readonly usage?: Usage | undefined;
    };

/** A model: the seam toolrun calls. `ai-sdk.ts` makes one of any AI SDK language model. */
export interface Model {
  /** Shown in the log, `provider/model` by habit. */
  readonly id?: string | undefined;
  /**
   * Streams one answer. Yield parts, or arrays of them where many are ready at once. Throw a
   * ModelError for a failed attempt.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart | readonly ModelPart[]>;
}

/** A failed model attempt. `message` goes to the server's log, never to a browser. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  /** False for a mistake in the request, which another attempt would repeat. */
  readonly retryable: boolean;
  /** How long the provider asks to wait. */
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  /** What the attempt used all the same, where the provider said so. */
  readonly usage: Usage | undefined;

  constructor(
    message: string,
    details: {
      readonly retryable: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly status?: number | undefined;
      readonly usage?: Usage | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.retryable = details.retryable;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.usage = details.usage;
  }
}
