import { ModelError } from "./model.ts";

/**
 * A provider's failure as a ModelError: worth another attempt or not, when, and in words for the server's log.
 * Knows HTTP errors, errors inside a stream (which carry a kind and no status) and broken connections.
 */
export function toModelError(error: unknown): ModelError {
  if (error instanceof Error && error.name === "ModelError") return error as ModelError; // of any copy of this package
  const facts = factsOf(error);
  return new ModelError(messageOf(error), {
    status: facts.status,
    retryable: isRetryable(facts),
    retryAfterMs: retryAfterMs(facts.retryAfter),
    cause: error,
  });
}

/** `Retry-After` in milliseconds; only whole seconds count, a date or anything else leaves it to our own backoff. */
export function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined || !/^[0-9]+$/.test(header)) return undefined;
  const seconds = Number(header);
  return seconds <= 2_147_483_647 ? seconds * 1000 : undefined;
}

interface Facts {
  readonly status: number | undefined;
  /** The provider's own word, such as `overloaded_error`; empty when it gave none. */
  readonly kind: string;
  readonly name: string;
  readonly retryAfter: string | undefined;
}

/** Mistakes that the same request would repeat. */
const MISTAKE =
  /invalid|authentication|permission|not_found|too_large|billing|insufficient_quota|context_length|bad_request|unsupported/i;
/** Errors of the AI SDK from before any request: a missing key, a prompt it cannot send. */
const SETUP = /^AI_(LoadAPIKey|LoadSetting|InvalidPrompt|InvalidArgument|UnsupportedFunctionality|NoSuch\w+)Error$/;

function isRetryable({ status, kind, name }: Facts): boolean {
  if (/insufficient_quota|billing/i.test(kind) || SETUP.test(name)) return false;
  // 500 is also what providers make of an error inside a stream: there its kind tells more.
  if (status === undefined || status === 500) return !MISTAKE.test(kind);
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function factsOf(error: unknown): Facts {
  const top = asRecord(error);
  const body = asRecord(top?.data) ?? parsed(top?.responseBody) ?? top;
  const inner = asRecord(body?.error) ?? body;
  const headers = asRecord(top?.responseHeaders);
  const kinds = [inner?.type, inner?.code, inner?.status].filter((kind) => typeof kind === "string");
  return {
    status: [top?.statusCode, top?.status, inner?.code].find(isHttpError),
    kind: kinds.join(" "),
    name: typeof top?.name === "string" ? top.name : "",
    retryAfter: [headers?.["retry-after"], headers?.["Retry-After"]].find((value) => typeof value === "string"),
  };
}

function messageOf(error: unknown): string {
  if (typeof error === "string" && error !== "") return error;
  const top = asRecord(error);
  const message = top?.message ?? asRecord(top?.error)?.message;
  return typeof message === "string" && message !== "" ? message : "The model failed without saying why.";
}

function isHttpError(value: unknown): value is number {
  return typeof value === "number" && value >= 400 && value <= 599;
}

function parsed(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined; // read, never trusted
}
