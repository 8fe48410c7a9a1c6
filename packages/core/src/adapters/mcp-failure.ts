import { DefiniteFailure } from "../agent/tool.ts";
import { UnknownEffect } from "../agent/unknown-effect.ts";

/** Codes of the protocol and of its SDK. */
const CONNECTION_CLOSED = -32000;
const REQUEST_TIMEOUT = -32001;
const URL_NEEDED = -32042;

/** True when the server no longer knows the session: it did nothing, and another connection helps. */
export function isSessionGone(error: unknown): boolean {
  if (nameOf(error) === "McpError" || !(error instanceof Error)) return false;
  const code = codeOf(error);
  return code === 404 || (code === 400 && /session/i.test(error.message)); // 404 by the protocol, 400 by some servers
}

/** True when the connection may be of no more use. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return nameOf(error) === "McpError" ? code === CONNECTION_CLOSED : code === undefined || isSessionGone(error);
}

/** True when we gave the call up, and the server may still be at it. */
export function isTimedOut(error: unknown): boolean {
  return nameOf(error) === "McpError" && codeOf(error) === REQUEST_TIMEOUT;
}

/** The pages a server wants visited first, when that is why it refused. */
export function neededPages(error: unknown): readonly unknown[] | undefined {
  if (codeOf(error) !== URL_NEEDED) return undefined;
  const data = (error as { readonly data?: { readonly elicitations?: unknown } | undefined }).data; // an object: it has a code
  return Array.isArray(data?.elicitations) ? data.elicitations : undefined;
}

/**
 * What a failed request means for the call. The server's own words stay in `cause`, for the app's log: they may hold a
 * stack, an address or a token.
 */
export function failureOf(cause: unknown): Error {
  const code = codeOf(cause);
  const isHttp = nameOf(cause) !== "McpError" && code !== undefined && code >= 400 && code <= 499;
  if (nameOf(cause) === "UnauthorizedError" || (isHttp && (code === 401 || code === 403))) {
    return refused("The tool server wants another sign-in.", cause);
  }
  if (isHttp || (nameOf(cause) === "McpError" && code !== CONNECTION_CLOSED && code !== REQUEST_TIMEOUT)) {
    return refused(`The tool server refused the call (${code}).`, cause);
  }
  const failure = new UnknownEffect("The connection to the tool server broke while it worked.");
  failure.cause = cause;
  return failure;
}

function refused(message: string, cause: unknown): Error {
  const failure = new DefiniteFailure(message, { retry: false });
  failure.cause = cause;
  return failure;
}

function codeOf(error: unknown): number | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "number" ? code : undefined;
}

/** Some of the SDK's errors are named by their class alone. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  return error.name === "Error" ? error.constructor.name : error.name;
}
