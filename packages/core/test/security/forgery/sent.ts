import type { AccessAction } from "../../../src/server/engine.ts";
import type { Forged } from "./forge.ts";
import { mayDo, signedIn } from "./people.ts";
import { FRIEND } from "./server.ts";

/** A request as somebody reads it who knows the protocol and nothing of its code. */
export interface Sent {
  readonly method: string;
  readonly user: string | undefined;
  readonly threadId: string | undefined;
  readonly action: string;
  /** Undefined where it is no JSON object. */
  readonly body: { readonly [name: string]: unknown } | undefined;
  readonly text: string;
  /** It comes from the app's own pages, as a write has to. */
  readonly isOwn: boolean;
}

export function readSent({ method, url, headers, body }: Forged): Sent {
  const segments = new URL(url).pathname.split("/").filter((segment) => segment !== "");
  const [threadId, action = ""] = segments.slice(segments.lastIndexOf("threads") + 1);
  const text = body === undefined ? "" : new TextDecoder().decode(body);
  const isJson = /^application\/json *(;|$)/i.test(headers["content-type"] ?? "");
  return {
    method,
    user: signedIn(headers.cookie ?? null),
    threadId,
    action,
    body: parsed(text),
    text: `${url} ${text}`,
    isOwn: isOwnPage(headers) && (method !== "POST" || isJson),
  };
}

function parsed(text: string): Sent["body"] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Sent["body"]) : undefined; // an object
  } catch {
    return undefined;
  }
}

/** A browser says where a request comes from; a program that says nothing has no cookies to abuse. */
function isOwnPage({ origin, "sec-fetch-site": site }: Forged["headers"]): boolean {
  if (origin === FRIEND || site === "same-origin") return true;
  if (site !== undefined && site !== "none") return false;
  return origin === undefined || origin.toLowerCase() === "https://shop.test";
}

/** What one has to be allowed for it. */
export function neededFor({ method, action, body }: Sent): readonly AccessAction[] {
  if (method === "DELETE") return ["remove"];
  if (action === "decisions" || action === "revoke") return ["decide"];
  return body?.pending === "deny" ? ["send", "decide"] : ["send"];
}

export function isAllowed(sent: Sent, owner: string): boolean {
  const { user, isOwn } = sent;
  return user !== undefined && isOwn && neededFor(sent).every((action) => mayDo(user, action, owner));
}
