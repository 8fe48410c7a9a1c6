import type { AccessAction } from "../../../src/server/engine.ts";

/** Who works for whom, and what each may do with the conversations of their own tenant. */
interface Person {
  readonly id: string;
  readonly tenant: "a" | "b";
  readonly may: readonly AccessAction[];
}

const PEOPLE: readonly Person[] = [
  { id: "ann", tenant: "a", may: ["read", "send", "decide", "remove"] },
  { id: "amy", tenant: "a", may: ["read", "send", "decide"] },
  { id: "sam", tenant: "a", may: ["read", "send"] },
  { id: "vera", tenant: "a", may: ["read"] },
  { id: "bob", tenant: "b", may: ["read", "send", "decide", "remove"] },
];

/** Those who begin conversations, one of each tenant. */
export const OWNERS = ["ann", "bob"] as const;

/** Kept with a run and known to the server only. */
export const SESSION = "server-only-session";

/** Cookies of everybody, and some of nobody. */
export const COOKIES: readonly string[] = [
  ...PEOPLE.map(({ id }) => `user=${id}`),
  ...["", "user=", "user=mallory", "user=Ann", "user=ann; user=bob", "user=__proto__", "user=ann%00", "uſer=ann"],
];

/** The tenant of a user. */
export function tenantOf(userId: string): string {
  return PEOPLE.find(({ id }) => id === userId)?.tenant ?? "none";
}

/** The app's own session: exactly one cookie with a known name. */
export function signedIn(cookie: string | null): string | undefined {
  const [, id] = /^user=(\w+)$/.exec(cookie ?? "") ?? [];
  return PEOPLE.find((person) => person.id === id)?.id;
}

/** The app's rule, and the ledger's: everybody has their own, and of a tenant's as far as each may. */
export function mayDo(userId: string, action: AccessAction, owner: string): boolean {
  const [user, other] = [userId, owner].map((id) => PEOPLE.find((person) => person.id === id));
  if (user !== undefined && userId === owner) return true;
  return user !== undefined && user.tenant === other?.tenant && user.may.includes(action);
}
