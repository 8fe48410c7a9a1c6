import type { Json } from "../../../src/protocol/values.ts";
import { OWNERS } from "./people.ts";
import { BASE } from "./server.ts";
import type { Conversation, Shown } from "./shown.ts";

type Fields = { readonly [name: string]: Json };

/** A request as the app's own page sends it. */
export interface Honest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the endpoint: `/<thread>/decisions`. */
  readonly path: string;
  readonly query?: string;
  readonly user: string;
  readonly body?: { readonly [name: string]: Json };
  /** The input on the card it decides about. */
  readonly shown?: Json;
}

export function toRequest({ method, path, query = "", user, body }: Honest): Request {
  return new Request(`${BASE}${path}${query}`, {
    method,
    headers: { cookie: `user=${user}`, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

/** What the owners may send next: every request of the protocol, about every conversation. */
export function honestRequests(conversations: readonly Conversation[]): readonly Honest[] {
  let keys = 0;
  const post = (user: string, path: string, body: Fields): Honest => {
    return { method: "POST", path, user, body: { ...body, key: `key-next${++keys}-of-${user}` } };
  };
  const lists = OWNERS.flatMap((user): readonly Honest[] => [
    { method: "GET", path: "", user },
    post(user, "", { message: { text: "Good morning" } }),
  ]);
  const about = conversations.flatMap((conversation): readonly Honest[] => {
    const { id, owner: user, runId, grantIds, stored, shown } = conversation;
    const path = `/${id}`;
    return [
      { method: "GET", path, user },
      { method: "GET", path: `${path}/events`, query: `?after=${Math.floor(stored.length / 2)}`, user },
      { method: "DELETE", path, user },
      post(user, `${path}/messages`, { message: { text: "And?" } }),
      post(user, `${path}/messages`, { message: { text: "No, leave it" }, pending: "deny" }),
      post(user, `${path}/stop`, { runId, reason: "enough" }),
      post(user, `${path}/continue`, { runId, turns: 2 }),
      post(user, `${path}/title`, { title: "Monday" }),
      ...grantIds.map((grantId) => post(user, `${path}/revoke`, { grantId })),
      ...shown.flatMap((step) =>
        decisionsAbout(step).map((decision) => {
          return { ...post(user, `${path}/decisions`, { decisions: [decision] }), shown: step.input };
        }),
      ),
    ];
  });
  return [...lists, ...about];
}

function decisionsAbout({ callId, digest, kind, input, scopes, extendMs }: Shown): readonly Fields[] {
  const about = { callId, digest };
  switch (kind) {
    case "approval":
      return [
        { ...about, action: "approve" },
        ...scopes.map((scope) => ({ ...about, action: "approve", scope })),
        { ...about, action: "approve", input: { ...(input as Fields), amount: 12 } }, // a tool's input is an object
        { ...about, action: "deny", reason: "no" },
        ...(extendMs === undefined ? [] : [{ ...about, action: "extend" }]),
      ];
    case "interrupted":
      return ["retry", "skip"].map((action) => ({ ...about, action }));
    case "question":
      return [{ ...about, action: "answer", value: "red" }];
    default:
      return [{ ...about, action: "answer", value: { width: 1 } }];
  }
}
