import { ToolRunError } from "../errors.ts";
import type { TypedTool } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { RetryRules, Tool } from "./agent.ts";
import type { ToolAnnotations } from "./annotations.ts";
import type { PolicyContext } from "./policy.ts";
import type { ToolKind } from "./rules.ts";
import type { SchemaOutput, StandardSchema } from "./schema.ts";
import { jsonSchemaOf } from "./schema.ts";
import type { ToolContext } from "./tool-context.ts";
import type { Verdict } from "./verdict.ts";

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
  /** Hints about the tool that policies see; a hint alone never lets it run without asking. */
  readonly annotations?: ToolAnnotations | undefined;
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
  /** How the tries are spread, and which failures are worth one. */
  readonly retry?: RetryOptions | undefined;
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

/** The pause before the next try: `delayMs` × `factor` each time, at most `maxDelayMs`, shortened at random by up to `jitter` of it. */
export interface RetryOptions {
  /** @defaultValue 500 */
  readonly delayMs?: number | undefined;
  /** @defaultValue 2 */
  readonly factor?: number | undefined;
  /** @defaultValue 30,000 */
  readonly maxDelayMs?: number | undefined;
  /** From 0 to 1. @defaultValue 0.5 */
  readonly jitter?: number | undefined;
  /** False for a failure that another try would only repeat. @defaultValue always */
  readonly when?: ((error: unknown, attempt: number) => boolean) | undefined;
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
  checkTime("timeoutMs", timeoutMs);
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new ToolRunError("invalid-config", `maxRetries must be 0 or a positive whole number; it is ${maxRetries}.`);
  }
  const made: Tool = {
    ...commonOf("server", options),
    idempotent,
    timeoutMs,
    ownTimeout: options.timeoutMs !== undefined,
    maxRetries,
    retry: retryOf(options.retry),
    sequential: options.sequential ?? false,
    toModel: options.toModel as Tool["toModel"], // gets this tool's own output
    execute: options.execute as Tool["execute"], // the input was validated by this tool's own schema
  };
  return made as Tool & TypedTool<{ input: SchemaOutput<Schema>; output: Output }>; // "~types" is a phantom
}

/** What tools of every kind say about themselves. */
export interface CommonOptions<Schema extends StandardSchema>
  extends Pick<
    ToolOptions<Schema, never>,
    "title" | "description" | "inputSchema" | "annotations" | "approval" | "summary"
  > {
  readonly readOnly?: boolean | undefined;
  readonly destructive?: boolean | undefined;
}

/** The parts all kinds share, for a kind that this server does not run itself. */
export function commonOf<Schema extends StandardSchema>(kind: ToolKind, options: CommonOptions<Schema>): Tool {
  if (options.readOnly && options.destructive) {
    throw new ToolRunError("invalid-config", "A tool cannot be both readOnly: true and destructive: true.");
  }
  return {
    kind,
    title: options.title ?? options.annotations?.title,
    description: options.description,
    inputSchema: options.inputSchema,
    inputJsonSchema: jsonSchemaOf(options.inputSchema, "inputSchema"),
    readOnly: options.readOnly ?? false,
    destructive: options.destructive ?? (!options.readOnly && options.annotations?.destructiveHint === true),
    annotations: options.annotations,
    approval: options.approval as Tool["approval"], // the input was validated by this tool's own schema
    idempotent: false,
    timeoutMs: 0,
    ownTimeout: false,
    maxRetries: 0,
    retry: retryOf(undefined),
    sequential: false,
    summary: options.summary as Tool["summary"], // as above
    toModel: undefined,
    execute: () => undefined,
  };
}

/** @throws `invalid-config` for a time that is none. */
export function checkTime(name: string, ms: number): void {
  if (ms > 0 && ms <= MAX_TIMEOUT_MS) return;
  throw new ToolRunError("invalid-config", `${name} must be between 1 and ${MAX_TIMEOUT_MS}; it is ${ms}.`);
}

function retryOf(options: RetryOptions = {}): RetryRules {
  const { delayMs = 500, factor = 2, maxDelayMs = 30_000, jitter = 0.5, when = () => true } = options;
  const wrong = Object.entries({ delayMs, factor, maxDelayMs, jitter }).find(([, value]) => !(value >= 0));
  if (wrong) throw new ToolRunError("invalid-config", `retry.${wrong[0]} must be 0 or more; it is ${wrong[1]}.`);
  if (jitter > 1) throw new ToolRunError("invalid-config", `retry.jitter must be from 0 to 1; it is ${jitter}.`);
  return { delayMs, factor, maxDelayMs, jitter, when };
}
