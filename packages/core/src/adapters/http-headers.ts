import type { User } from "../protocol/typed.ts";
import { unsent } from "./http-failure.ts";

/** What headers are made of. */
export interface HttpContext<Input> {
  readonly user: User;
  readonly input: Input;
  readonly signal: AbortSignal;
}

/** Headers, or how to make them for one request. */
export type HttpHeaders<Input> =
  | Readonly<Record<string, string>>
  | ((context: HttpContext<Input>) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** @throws DefiniteFailure that says nothing of a header's value */
export async function headersFor<Input>(
  headers: HttpHeaders<Input> | undefined,
  context: HttpContext<Input>,
): Promise<Headers> {
  let given: Readonly<Record<string, string>> | undefined;
  try {
    given = typeof headers === "function" ? await headers(context) : headers;
  } catch (cause) {
    throw Object.assign(unsent("its headers could not be made"), { cause });
  }
  const made = headersOf(given ?? {});
  if (!made) throw unsent("its headers cannot be sent as they are");
  return made;
}

/** Headers that decide where a request goes and where it ends are nobody's to set. */
const FORBIDDEN: readonly string[] = [
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "te",
  "expect",
];

/** Undefined where one cannot be sent; the error would say its value. */
export function headersOf(given: Readonly<Record<string, string>>): Headers | undefined {
  try {
    const headers = new Headers(given);
    const entries = Object.entries(given);
    if (entries.some(([, value]) => typeof value !== "string" || /[\r\n\0]/.test(value))) return undefined;
    return FORBIDDEN.some((name) => headers.has(name)) ? undefined : headers;
  } catch {
    return undefined;
  }
}
