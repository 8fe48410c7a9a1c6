import { ToolRunError } from "../errors.ts";
import type { TypedTool, User } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { PolicyContext } from "./policy.ts";
import type { SchemaOutput, StandardSchema } from "./schema.ts";
import { jsonSchemaOf } from "./schema.ts";
import type { Verdict } from "./verdict.ts";

/** What `execute` gets beside its input. */
export interface ToolContext {
  /** Aborts on stop, on the tool's timeout and when another server took over. Pass it on. */
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly threadId: string;
  /** The same for every try of the same effect: give it to the service you call. */
  readonly idempotencyKey: string;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly user: User;
  /** Shows how far it is; at most ten times a second reach the log. */
  progress(progress: {
    readonly value?: number | undefined;
    readonly max?: number | undefined;
    readonly label?: string | undefined;
  }): void;
  /** Adds a line to the step's log. */
  log(line: string): void;
  /** Replaces the partial result shown while it runs. */
  partial(value: unknown): void;
}

/** What a developer writes for a tool that runs on the server. */
export interface ToolOptions<Schema extends StandardSchema, Output> {
  /** Shown to people; the tool's name in words by default. */
  readonly title?: string | undefined;
  /** Read by the model. */
  readonly description: string;
  /** Plain JSON only: no dates, no transforms. */
  readonly inputSchema: Schema;
  /** True: it changes nothing, so it runs without asking. */
  readonly readOnly?: boolean | undefined;
  /** True: what it does cannot be undone; an approval counts once. */
  readonly destructive?: boolean | undefined;
  /** This tool's own rule. Whatever is not `readOnly` asks by default. */
  readonly approval?:
    | Verdict
    | ((input: SchemaOutput<Schema>, context: PolicyContext) => Verdict | Promise<Verdict>)
    | undefined;
  /** Safe to run again with the same key after a crash. @defaultValue false */
  readonly idempotent?: boolean | undefined;
  /** @defaultValue 60,000 */
  readonly timeoutMs?: number | undefined;
  /** Tries after a failure. @defaultValue 0, or 2 when idempotent */
  readonly maxRetries?: number | undefined;
  /** Runs alone: nothing else of its turn at the same time. */
  readonly sequential?: boolean | undefined;
  /** One line for the card, kept in the log. */
  readonly summary?: ((input: SchemaOutput<Schema>) => string) | undefined;
  /** What the model reads instead of the output. */
  readonly toModel?: ((output: Output) => Json) | undefined;
  readonly execute: (
    input: SchemaOutput<Schema>,
    context: ToolContext,
  ) => Output | Promise<Output> | AsyncIterable<Output>;
}

/**
 * Throw it from `execute` when it is certain that nothing happened: the next try then gets a new idempotency key,
 * so that a service which remembers failures by key does not answer with the old one. Any other error keeps the key,
 * because a lost reply is no failure.
 */
export class DefiniteFailure extends Error {
  override readonly name = "DefiniteFailure";
  /**
   * False for a final refusal, which another try would only repeat.
   * @defaultValue true
   */
  readonly retry: boolean;

  constructor(message: string, { retry = true }: { readonly retry?: boolean | undefined } = {}) {
    super(message);
    this.retry = retry;
  }
}

/** True for a DefiniteFailure of any copy of this package. */
export function isDefiniteFailure(error: unknown): error is DefiniteFailure {
  try {
    return error instanceof Error && error.name === "DefiniteFailure" && "retry" in error;
  } catch {
    return false; // an error that cannot be read
  }
}

/** A tool with its types forgotten, as the loop uses it. Made by `tool`. */
export interface Tool extends TypedTool {
  readonly kind: "server";
  readonly title: string | undefined;
  readonly description: string;
  readonly inputSchema: StandardSchema;
  readonly inputJsonSchema: Json;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly approval: Verdict | ((input: unknown, context: PolicyContext) => Verdict | Promise<Verdict>);
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  /** True where the developer chose `timeoutMs`: a request too short for it is a mistake in the settings. */
  readonly ownTimeout: boolean;
  readonly maxRetries: number;
  readonly sequential: boolean;
  readonly summary: ((input: unknown) => string) | undefined;
  readonly toModel: ((output: unknown) => Json) | undefined;
  readonly execute: (input: unknown, context: ToolContext) => unknown;
}

const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000;

/**
 * A tool the server runs. The record's key is its name.
 * @throws `invalid-config` for a schema that is not plain JSON, or a number that makes no sense.
 */
export function tool<Schema extends StandardSchema, Output>(
  options: ToolOptions<Schema, Output>,
): Tool & TypedTool<{ input: SchemaOutput<Schema>; output: Output }> {
  const { timeoutMs = 60_000, idempotent = false, maxRetries = idempotent ? 2 : 0 } = options;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw new ToolRunError("invalid-config", `timeoutMs must be between 1 and ${MAX_TIMEOUT_MS}; it is ${timeoutMs}.`);
  }
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new ToolRunError("invalid-config", `maxRetries must be 0 or a positive whole number; it is ${maxRetries}.`);
  }
  if (options.readOnly && options.destructive) {
    throw new ToolRunError("invalid-config", "A tool cannot be both readOnly: true and destructive: true.");
  }
  const made: Tool = {
    kind: "server",
    title: options.title,
    description: options.description,
    inputSchema: options.inputSchema,
    inputJsonSchema: jsonSchemaOf(options.inputSchema, "inputSchema"),
    readOnly: options.readOnly ?? false,
    destructive: options.destructive ?? false,
    approval: options.approval as Tool["approval"], // the input was validated by this tool's own schema
    idempotent,
    timeoutMs,
    ownTimeout: options.timeoutMs !== undefined,
    maxRetries,
    sequential: options.sequential ?? false,
    summary: options.summary as Tool["summary"], // as above
    toModel: options.toModel as Tool["toModel"], // gets this tool's own output
    execute: options.execute as Tool["execute"], // as above
  };
  return made as Tool & TypedTool<{ input: SchemaOutput<Schema>; output: Output }>; // "~types" is a phantom
}
