import { createHash, timingSafeEqual } from "node:crypto";

/** Digests have one length, so comparing them tells nothing about the token. No token set means nobody gets in. */
export function hasBearer(request: Request, token: string | undefined): boolean {
  if (!token) return false;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(request.headers.get("authorization") ?? ""), digest(`Bearer ${token}`));
}
