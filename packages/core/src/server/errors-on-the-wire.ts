import type { ToolRunErrorCode } from "../errors.ts";
import { ToolRunError } from "../errors.ts";
import type { Engine } from "./engine.ts";

const STATUS: Readonly<Record<ToolRunErrorCode, number>> = {
  "bad-request": 400,
  "invalid-input": 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  stale: 409,
  decided: 409,
  "not-waiting": 409,
  "tool-changed": 409,
  expired: 410,
  stopped: 410,
  "too-large": 413,
  "unsupported-media-type": 415,
  "key-reused": 422,
  "too-many": 429,
  unavailable: 503,
  misconfigured: 503,
  "invalid-config": 500,
  network: 502,
  "model-failed": 502,
  "model-truncated": 502,
  "tools-failed": 502,
  "model-timed-out": 504,
  internal: 500,
};

/** The body of every error answer. Never a stack, never a provider's text. */
export interface ErrorBody {
  readonly code: ToolRunErrorCode;
  readonly message: string;
  readonly issues?: ToolRunError["issues"];
  readonly reference?: string | undefined;
  readonly step?: unknown;
}

export function statusOf(error: ToolRunError): number {
  return STATUS[error.code];
}

export function errorBody({ code, message, issues, reference, step }: ToolRunError): ErrorBody {
  return { code, message, issues, reference, step };
}

/** Anything that was thrown as an error we may show; the rest is kept in the server's log. */
export function toToolRunError(engine: Pick<Engine, "report">, error: unknown): ToolRunError {
  if (error instanceof ToolRunError && error.code !== "invalid-config" && error.code !== "internal") return error;
  const reference = engine.report(error);
  return new ToolRunError("internal", "Something went wrong on the server.", { reference });
}

export function errorResponse(error: ToolRunError): Response {
  return json({ error: errorBody(error) }, statusOf(error));
}

/** JSON nobody keeps. */
export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
  });
}
