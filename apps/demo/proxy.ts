import { type NextRequest, NextResponse } from "next/server";
import { GUEST_COOKIE } from "./lib/guest.ts";

/** Gives every visitor an id at the first page load, and one page the strictest policy a site may have. */
export function proxy(request: NextRequest): NextResponse {
  const response = request.nextUrl.pathname === "/csp" ? withPolicy(request) : NextResponse.next();
  if (!request.cookies.has(GUEST_COOKIE)) {
    response.cookies.set(GUEST_COOKIE, crypto.randomUUID(), { httpOnly: true, sameSite: "lax", path: "/" });
  }
  return response;
}

/** Next reads the nonce from the request's policy and puts it on its own scripts. No style may be inline. */
function withPolicy(request: NextRequest): NextResponse {
  const policy = [
    "default-src 'self'",
    `script-src 'self' 'nonce-${crypto.randomUUID()}'`,
    "style-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
  const headers = new Headers(request.headers);
  headers.set("content-security-policy", policy);
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("content-security-policy", policy);
  return response;
}

export const config = { matcher: ["/", "/lab", "/csp", "/node"] };
