/** The cookie that stands for a visitor; a real app reads its session here. */
export const GUEST_COOKIE = "guest";

/** The visitor as a user, or null before the first page load gave the cookie. */
export function guestOf(request: Request): { id: string; name: string } | null {
  const cookies = request.headers.get("cookie") ?? "";
  const id = new RegExp(`(?:^|;\\s*)${GUEST_COOKIE}=([\\w-]{8,64})`).exec(cookies)?.[1];
  return id ? { id, name: `Guest ${id.slice(0, 4)}` } : null;
}
