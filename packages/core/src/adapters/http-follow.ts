import { DefiniteFailure } from "../agent/tool.ts";
import type { Reach } from "./http-address.ts";
import { checkAddress } from "./http-address.ts";
import type { HttpRequest, Transport } from "./http-transport.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Headers that say nothing about the app, and go along to another origin. */
const HARMLESS: readonly string[] = ["accept", "accept-encoding", "user-agent"];

/**
 * Sends a request and follows its redirects by hand: each address is checked as the first was. Another origin gets
 * none of the app's headers, and nothing that changes something.
 * @throws DefiniteFailure for an address that may not be asked
 */
export async function follow(request: HttpRequest, reach: Reach, send: Transport): Promise<Response> {
  let next = request;
  let within = reach;
  for (let hops = 0; ; hops++) {
    checkAddress(next.url, within);
    const response = await send(next, within);
    if (response.type === "opaqueredirect") throw new TypeError("This runtime hides redirects.");
    const to = REDIRECTS.includes(response.status) ? response.headers.get("location") : null;
    if (to === null) return response;
    await response.body?.cancel().catch(() => undefined);
    if (hops >= MAX_REDIRECTS) throw refused("too often");
    const { origin } = next.url;
    next = redirected(next, response.status, to);
    // Who was outside does not come back in.
    if (next.url.origin !== origin) within = { ...within, privateHost: undefined };
  }
}

function redirected(request: HttpRequest, status: number, to: string): HttpRequest {
  if (!URL.canParse(to, request.url)) throw refused("to no address");
  const url = new URL(to, request.url);
  url.hash = "";
  const isRead = isReading(request.method);
  if (url.origin !== request.url.origin) {
    if (!isRead) throw refused("to another site");
    const kept = [...request.headers].filter(([name]) => HARMLESS.includes(name));
    return { ...request, url, headers: new Headers(kept) };
  }
  if (isRead || status === 307 || status === 308) return { ...request, url };
  // As browsers do: what was sent is not sent again, its answer is fetched.
  const headers = new Headers(request.headers);
  for (const name of ["content-type", "idempotency-key"]) headers.delete(name);
  return { ...request, url, method: "GET", headers, body: undefined };
}

export function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function refused(why: string): DefiniteFailure {
  return new DefiniteFailure(`The request was redirected ${why}, which is not followed.`, { retry: false });
}
