import fc from "fast-check";
import type { Json } from "../../../src/protocol/values.ts";
import { ACTIONS, HEADERS, NAMES, NASTY, SEGMENTS } from "./nasty.ts";
import { COOKIES } from "./people.ts";

/**
 * One change of an honest request. Numbers choose among what is there, so that a failing example stays readable and
 * every choice is possible for every request.
 */
export type Tamper =
  | { readonly do: "set" | "wrap" | "delete"; readonly at: number; readonly value: Json }
  | { readonly do: "rename" | "add"; readonly at: number; readonly name: string; readonly value: Json }
  /** A part of another honest request, another user's or an old one's maybe; `near`: about the same conversation. */
  | { readonly do: "take"; readonly from: number; readonly near: boolean; readonly part: Part }
  | { readonly do: "decision"; readonly field: string; readonly value: Json }
  | { readonly do: "edit"; readonly field: string; readonly value: Json | undefined }
  | { readonly do: "join"; readonly from: number }
  | { readonly do: "cookie" | "method" | "segment" | "action" | "query"; readonly value: string }
  | { readonly do: "header"; readonly name: string; readonly value: string }
  | { readonly do: "text"; readonly how: TextFault; readonly at: number };

export const PARTS = [
  "path",
  "thread",
  "body",
  "decisions",
  "callId",
  "digest",
  "input",
  "key",
  "runId",
  "grantId",
] as const;
export type Part = (typeof PARTS)[number];

export const TEXT_FAULTS = [
  "twice",
  "first",
  "cut",
  "bytes",
  "surrogate",
  "bom",
  "huge",
  "deep",
  "comma",
  "empty",
] as const;
export type TextFault = (typeof TEXT_FAULTS)[number];

export type Attack =
  | { readonly do: "wait"; readonly ms: number }
  | {
      readonly do: "send";
      readonly of: "all" | "decisions" | "reads";
      readonly base: number;
      readonly tampers: readonly Tamper[];
    };

const any = fc.nat({ max: 9_999 });
const nasty = fc.constantFrom(...NASTY);
const decisionFields: fc.Arbitrary<Tamper> = fc.oneof(
  fc.record({
    do: fc.constant("decision"),
    field: fc.constant("scope"),
    value: fc.constantFrom("once", "run", "thread", "RUN"),
  }),
  fc.record({
    do: fc.constant("decision"),
    field: fc.constant("action"),
    value: fc.constantFrom("approve", "deny", "answer", "retry", "skip", "extend", "expire", "Approve"),
  }),
  fc.record({
    do: fc.constant("decision"),
    field: fc.constantFrom("value", "error", "reason", "stop", "digest"),
    value: nasty,
  }),
);
const edit = (field: string, ...values: readonly (Json | undefined)[]): fc.Arbitrary<Tamper> =>
  fc.record({ do: fc.constant("edit"), field: fc.constant(field), value: fc.constantFrom(...values) });
/** Into what a person might want instead, and into what nobody may. */
const edits = fc.oneof(
  edit("amount", 12, 499, 501, 999, 1001, 0, "12", undefined),
  edit("orderId", "locked", "expiring", "free", "keyed", 1042),
  edit("note", "hello", undefined, null),
  edit("table", "users"),
  fc.record({ do: fc.constant("edit"), field: fc.constantFrom("extra", "amount", "__proto__"), value: nasty }),
) as fc.Arbitrary<Tamper>; // `do` is its own

const headers = Object.entries(HEADERS).map(([name, values]) =>
  fc.record({ do: fc.constant("header"), name: fc.constant(name), value: fc.constantFrom(...values) }),
);

/** Those that take a request for another's, another time's or another question's come first: they look most honest. */
const tamper: fc.Arbitrary<Tamper> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("take"), from: any, near: fc.boolean(), part: fc.constantFrom(...PARTS) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("cookie"), value: fc.constantFrom(...COOKIES) }) },
  { weight: 3, arbitrary: edits },
  { weight: 3, arbitrary: decisionFields },
  { weight: 2, arbitrary: fc.oneof(...headers) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("join"), from: any }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("set", "wrap", "delete"), at: any, value: nasty }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("rename", "add"),
      at: any,
      name: fc.constantFrom(...NAMES),
      value: nasty,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({
        do: fc.constant("method"),
        value: fc.constantFrom("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"),
      }),
      fc.record({ do: fc.constant("segment"), value: fc.constantFrom(...SEGMENTS) }),
      fc.record({ do: fc.constant("action"), value: fc.constantFrom(...ACTIONS) }),
      fc.record({
        do: fc.constant("query"),
        value: fc.constantFrom("?after=0", "?after=99", "?after=-1", "?cursor=x", "?after=1&after=2", "?cursor=%00"),
      }),
    ),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("text"), how: fc.constantFrom(...TEXT_FAULTS), at: any }) },
) as fc.Arbitrary<Tamper>; // `do` of each is one of its own union

const tampers = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 12, arbitrary: fc.array(tamper, { minLength: 1, maxLength: 3, size: "max" }) },
);

export const attacks: fc.Arbitrary<readonly Attack[]> = fc.array(
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1_000, 300_000, 600_001) }),
    },
    {
      weight: 30,
      arbitrary: fc.record({
        do: fc.constant("send" as const),
        base: any,
        of: fc.constantFrom("all", "all", "decisions", "decisions", "reads"),
        tampers,
      }),
    },
  ),
  { minLength: 8, maxLength: 16, size: "max" },
);
