import type { Json } from "../../../src/protocol/values.ts";

function nested(depth: number): Json {
  let value: Json = 1;
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

/** Keys that mean something to JavaScript, as own keys. */
const poisoned = JSON.parse(
  '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"toString":1}',
) as Json; // plain JSON

/** Values nobody's form sends. */
export const NASTY: readonly Json[] = [
  ...[null, true, false, 0, -1, 1, 0.5, -0, 1e21, 1.7976931348623157e308, 5e-324, 9_007_199_254_740_991, 501, 13],
  ...[
    "",
    " ",
    "0",
    "null",
    "approve",
    "deny",
    "once",
    "thread",
    "x".repeat(300),
    "y".repeat(70_000),
    "\u0000",
    "a\u0000b",
  ],
  ...[
    "\ud800",
    "\udfff\ud800",
    "\u202e",
    "\ufeff",
    "../../x",
    "%2e%2e",
    "<script>",
    "{{7*7}}",
    "__proto__",
    "constructor",
  ],
  ...[[], {}, [[]], [null], ["approve"], { length: 1 }, { toJSON: 1 }, nested(30), nested(400), poisoned],
  Array.from({ length: 300 }, (_, index) => index),
];

/** Names of fields that the protocol, or JavaScript, knows elsewhere. */
export const NAMES: readonly string[] = [
  ...["__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "then", "toJSON", "length"],
  ...[
    "user",
    "owner",
    "by",
    "via",
    "input",
    "value",
    "error",
    "scope",
    "scopes",
    "stop",
    "grantId",
    "verdict",
    "admin",
  ],
  ...["callId", "digest", "newDigest", "action", "key", "decisions", "messages", "pending", "runId", "turns", "output"],
];

/** Segments of a path that are no id, or another's. */
export const SEGMENTS: readonly string[] = [
  ...[
    "..",
    ".",
    "%2e%2e",
    "%2F",
    "%00",
    "a%2Fb",
    "threads",
    "threads/x",
    "x".repeat(65),
    "%ff",
    "ſ",
    "__proto__",
    "a;b",
  ],
  ...["", " ", "*", "%", "\\..", "constructor"],
];

export const ACTIONS: readonly string[] = [
  ...[
    "events",
    "messages",
    "decisions",
    "stop",
    "continue",
    "title",
    "revoke",
    "Decisions",
    "decisions/x",
    "__proto__",
  ],
  ...["", "decisions%20", "sweep"],
];

/** Headers a page or a program may set. */
export const HEADERS: Readonly<Record<string, readonly string[]>> = {
  origin: [
    ...["https://evil.test", "https://shop.test", "null", "", "https://shop.test.evil.test", "HTTPS://EVIL.TEST"],
    ...["https://admin.shop.test", "http://shop.test:8080", "https://shop.test@evil.test"],
  ],
  "sec-fetch-site": ["cross-site", "same-site", "same-origin", "none", "Cross-Site", ""],
  "content-type": [
    ...["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json;charset=utf-16"],
    ...["", "text/plain;application/json", "application/jsonp", "APPLICATION/JSON"],
  ],
  "last-event-id": ["-1", "0", "1", "7", "18", "22", "99", "1e3", "999999999999999", "9999999999999999", "0x1", "1,2"],
  "content-length": ["0", "1", "99999999", "x"],
  "x-user": ["ann"],
  authorization: ["Bearer ann"],
  "x-http-method-override": ["DELETE"],
};
