import { type NextRequest, NextResponse } from "next/server";
import { GUEST_COOKIE } from "./lib/guest.ts";

/** Gives every visitor an id at the first page load. */
export function proxy(request: NextRequest): NextResponse {
  const response = NextResponse.next();
  if (!request.cookies.has(GUEST_COOKIE)) {
    response.cookies.set(GUEST_COOKIE, crypto.randomUUID(), { httpOnly: true, sameSite: "lax", path: "/" });
  }
  return response;
}

export const config = { matcher: ["/", "/lab", "/node"] };
