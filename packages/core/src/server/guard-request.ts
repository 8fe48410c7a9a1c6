import { ToolRunError } from "../errors.ts";
import { inexactMessage, inexactNumber } from "../model/exact-json.ts";

/** At most this much may be a request's body. */
export const MAX_BODY_BYTES: number = 1024 * 1024;

/**
 * A write must come from the app's own pages: JSON (a form cannot send it) and the same origin, by
 * Sec-Fetch-Site or Origin. A program that sends neither has no cookies to abuse.
 * @throws `unsupported-media-type` · `forbidden`
 */
export function guardWrite(request: Request, allowedOrigins: readonly string[]): void {
  guardOrigin(request, allowedOrigins);
  if (request.method !== "POST") return;
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ToolRunError("unsupported-media-type", "Send JSON with content-type: application/json.");
  }
}

function guardOrigin(request: Request, allowedOrigins: readonly string[]): void {
  if (isForeign(request, allowedOrigins)) {
    throw new ToolRunError(
      "forbidden",
      "This request comes from another site. Name its origin in allowedOrigins to let it in.",
    );
  }
}

/** True for a request that a page of another site made the browser send. */
export function isForeign(request: Request, allowedOrigins: readonly string[]): boolean {
  const origin = request.headers.get("origin");
  if (origin !== null && allowedOrigins.includes(origin)) return false;
  const site = request.headers.get("sec-fetch-site");
  if (site === "same-origin") return false;
  if (site !== null && site !== "none") return true; // the browser knows better than two equal host names
  // Next's edge runtime gives a request.url with its own host: the Host header is what the browser asked for.
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return origin !== null && !isHost(origin, host);
}

function isHost(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}

/**
 * Reads a JSON body, no more of it than allowed.
 * @throws `too-large` · `bad-request` when it is not JSON
 */
export async function readBody(request: Request): Promise<unknown> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > MAX_BODY_BYTES) throw tooLarge();
  const text = await readText(request);
  const inexact = inexactNumber(text);
  if (inexact !== undefined) throw new ToolRunError("bad-request", inexactMessage(inexact));
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolRunError("bad-request", "The body is not valid JSON.");
  }
}

async function readText(request: Request): Promise<string> {
  const reader = request.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > MAX_BODY_BYTES) {
      await reader.cancel();
      throw tooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(): ToolRunError {
  return new ToolRunError("too-large", `The body is larger than ${MAX_BODY_BYTES} bytes.`);
}
