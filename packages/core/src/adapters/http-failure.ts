import { DefiniteFailure, isDefiniteFailure } from "../agent/tool.ts";
import { UnknownEffect } from "../agent/unknown-effect.ts";
import { isReading } from "./http-follow.ts";
import type { HttpRequest } from "./http-transport.ts";

/** For what is noticed before anything is sent. */
export function unsent(why: string): DefiniteFailure {
  return new DefiniteFailure(`The request was not sent: ${why}.`, { retry: false });
}

/** What another try could change, and whether the service did something: by the status. */
export function statusError(status: number, words: string, { method, url }: HttpRequest, isRedirected: boolean): Error {
  const message = `${method} ${url.host} answered ${status}.${words && ` ${words}`}`;
  if (isRedirected && !isReading(method)) return new UnknownEffect(message);
  if (status === 429) return new DefiniteFailure(message);
  if (status < 500 && status !== 408) return new DefiniteFailure(message, { retry: false });
  return isReading(method) ? new Error(message) : new UnknownEffect(message);
}

/** A library's words may hold an address, a header or a secret. Once an answer came, something may have happened. */
export function inOurWords(error: unknown, { method, url }: HttpRequest, isAnswered: boolean): unknown {
  const isSafe = isReading(method) || !isAnswered;
  if (isDefiniteFailure(error)) return isSafe ? error : unknown(error.message, error);
  const message = `${method} ${url.host} gave no whole answer.`;
  if (isSafe && isUnsent(error)) return Object.assign(new DefiniteFailure(message), { cause: error });
  return isReading(method) ? new Error(message, { cause: error }) : unknown(message, error);
}

function unknown(message: string, cause: unknown): UnknownEffect {
  return Object.assign(new UnknownEffect(message), { cause });
}

const UNSENT: readonly unknown[] = ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH"];

/** Nobody was there to hear it. */
function isUnsent(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } }; // read only
  return UNSENT.includes(code) || UNSENT.includes(cause?.code);
}
