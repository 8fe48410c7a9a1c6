/**
 * An address on this server, for its own requests to itself. Not the request's: behind a proxy `request.url` names a
 * host that cannot be reached, and on edge it always says localhost.
 */
export function ownUrl(path: string): string {
  return `${process.env.SELF_URL || `http://127.0.0.1:${process.env.PORT || 3000}`}${path}`;
}
