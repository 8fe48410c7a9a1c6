import { describe, expect, test } from "vitest";
import type * as z from "zod/mini";
import { isToolRunError } from "../../src/errors.ts";
import { parseRequest } from "../../src/protocol/parse-request.ts";
import {
  continueBody,
  decisionsBody,
  messageBody,
  revokeBody,
  stopBody,
  titleBody,
} from "../../src/protocol/request-schema.ts";
import { isJson } from "../../src/protocol/values-schema.ts";

const message = { message: { text: "Refund order 1042" }, key: "k" };
const decision = { callId: "c", digest: "d", action: "approve" };
const file = { url: "https://example.com/a.png", mediaType: "image/png" };
const dataUrl = (chars: number): string => `data:image/png;base64,${"A".repeat(chars - 22)}`;
const withFile = (change: object): unknown => ({ ...message, message: { text: "x", files: [{ ...file, ...change }] } });
const decide = (change: object): unknown => ({ decisions: [{ ...decision, ...change }], key: "k" });
const deep = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));

type Row = readonly [what: string, schema: z.ZodMiniType<unknown>, body: unknown];

const good: readonly Row[] = [
  ["a message", messageBody, message],
  ["64 KB of text", messageBody, { ...message, message: { text: "x".repeat(65_536) } }],
  ["a message that denies what is open", messageBody, { ...message, pending: "deny" }],
  ["a linked file", messageBody, withFile({ name: "a.png" })],
  ["a data URL of 256 KB", messageBody, withFile({ url: dataUrl(262_144) })],
  ["a media type with parameters", messageBody, withFile({ mediaType: "text/plain; charset=utf-8" })],
  ["a decision", decisionsBody, decide({})],
  ["100 decisions", decisionsBody, { decisions: Array(100).fill(decision), key: "k" }],
  ["an edit with a scope", decisionsBody, decide({ input: { a: [1, null] }, scope: "run", reason: "" })],
  ["an answer that is null", decisionsBody, decide({ action: "answer", value: null })],
  ["an input of 100 levels", decisionsBody, decide({ input: deep(100) })],
  ["a stop", stopBody, { runId: "r", key: "k", reason: "enough" }],
  ["more turns", continueBody, { runId: "r", key: "k", turns: 100 }],
  ["as many turns as before", continueBody, { runId: "r", key: "k" }],
  ["a title", titleBody, { title: "x".repeat(200), key: "k" }],
  ["a revocation", revokeBody, { grantId: "g", key: "x".repeat(200) }],
];

const bad: readonly (readonly [...Row, path: string, words: string])[] = [
  ["no object", messageBody, null, "", "must be an object"],
  ["a list", messageBody, [], "", "must be an object"],
  ["no message", messageBody, { key: "k" }, "message", "is required"],
  ["a message that is text", messageBody, { message: "hi", key: "k" }, "message", "must be an object"],
  ["no text", messageBody, { message: {}, key: "k" }, "message.text", "is required"],
  ["empty text", messageBody, { message: { text: "" }, key: "k" }, "message.text", "must have text or files"],
  ["text that is a number", messageBody, { message: { text: 1 }, key: "k" }, "message.text", "must be a string"],
  ["too much text", messageBody, { ...message, message: { text: "x".repeat(65_537) } }, "message.text", "at most"],
  ["too many bytes", messageBody, { ...message, message: { text: "€".repeat(21_846) } }, "message.text", "65536 bytes"],
  ["no key", messageBody, { message: { text: "x" } }, "key", "is required"],
  ["an empty key", messageBody, { ...message, key: "" }, "key", "at least 1 character"],
  ["a long key", messageBody, { ...message, key: "x".repeat(201) }, "key", "at most 200 characters"],
  ["another pending", messageBody, { ...message, pending: "approve" }, "pending", 'must be "deny"'],
  ["an unknown field", messageBody, { ...message, role: "system" }, "", 'unknown fields: "role"'],
  ["a forged part", messageBody, { ...message, message: { text: "x", toolCalls: [] } }, "message", '"toolCalls"'],
  [
    "a __proto__ key",
    messageBody,
    JSON.parse('{"message":{"text":"x"},"key":"k","__proto__":{"a":1}}'),
    "",
    "__proto__",
  ],
  ["a file: URL", messageBody, withFile({ url: "file:///etc/passwd" }), "message.files.0.url", "http, https or data"],
  [
    "a javascript: URL",
    messageBody,
    withFile({ url: "javascript:alert(1)" }),
    "message.files.0.url",
    "http, https or data",
  ],
  ["a URL without a host", messageBody, withFile({ url: "https://" }), "message.files.0.url", "http, https or data"],
  ["a long data URL", messageBody, withFile({ url: dataUrl(262_145) }), "message.files.0.url", "at most 262144"],
  [
    "a long link",
    messageBody,
    withFile({ url: `https://x.com/${"a".repeat(9000)}` }),
    "message.files.0.url",
    "8192 as a link",
  ],
  ["a media type that is none", messageBody, withFile({ mediaType: "png" }), "message.files.0.mediaType", "media type"],
  [
    "21 files",
    messageBody,
    { ...message, message: { text: "x", files: Array(21).fill(file) } },
    "message.files",
    "20 files",
  ],
  ["no decisions", decisionsBody, { decisions: [], key: "k" }, "decisions", "at least 1 decision"],
  ["101 decisions", decisionsBody, { decisions: Array(101).fill(decision), key: "k" }, "decisions", "at most 100"],
  ["decisions that are none", decisionsBody, { decisions: { 0: decision }, key: "k" }, "decisions", "must be an array"],
  ["an unknown action", decisionsBody, decide({ action: "expire" }), "decisions.0.action", '"approve" or "deny"'],
  ["no digest", decisionsBody, decide({ digest: undefined }), "decisions.0.digest", "is required"],
  ["a forged amount", decisionsBody, decide({ amount: 5 }), "decisions.0", 'unknown fields: "amount"'],
  ["a long reason", decisionsBody, decide({ reason: "x".repeat(2001) }), "decisions.0.reason", "at most 2000"],
  ["another scope", decisionsBody, decide({ scope: "forever" }), "decisions.0.scope", '"once" or "run" or "thread"'],
  ["stop as text", decisionsBody, decide({ stop: "yes" }), "decisions.0.stop", "must be a boolean"],
  ["an input of 101 levels", decisionsBody, decide({ input: deep(101) }), "decisions.0.input", "at most 100 levels"],
  ["an input of 100,000 levels", decisionsBody, decide({ input: deep(100_000) }), "decisions.0.input", "100 levels"],
  ["no run", stopBody, { key: "k" }, "runId", "is required"],
  ["half a turn", continueBody, { runId: "r", key: "k", turns: 1.5 }, "turns", "must be a whole number"],
  ["no turns", continueBody, { runId: "r", key: "k", turns: 0 }, "turns", "from 1 to 100"],
  ["101 turns", continueBody, { runId: "r", key: "k", turns: 101 }, "turns", "from 1 to 100"],
  ["a long title", titleBody, { title: "x".repeat(201), key: "k" }, "title", "at most 200"],
  ["no grant", revokeBody, { grantId: 1, key: "k" }, "grantId", "must be a string"],
];

describe("request bodies", () => {
  test.each(good)("take %s", (_, schema, body) => {
    expect(parseRequest(schema, body)).toEqual(body);
  });

  test.each(bad)("refuse %s", (_, schema, body, path, words) => {
    const error = refusal(schema, body);
    expect(error.code).toBe("bad-request");
    const found = error.issues?.find((issue) => issue.path.join(".") === path);
    expect(found?.message).toContain(words);
    expect(error.message).toContain(path === "" ? "The body" : `"${path}"`);
  });

  test("a hostile body gives a dozen issues, in words of bounded length, and pollutes nothing", () => {
    const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`${"x".repeat(500)}${index}`, 1]));
    const decisions = Array.from({ length: 5_000 }, () => fields);
    const error = refusal(decisionsBody, { decisions, key: "k", ...fields });
    expect(error.issues?.length).toBeLessThanOrEqual(12);
    for (const { message } of error.issues ?? []) expect(message.length).toBeLessThan(1_000);
    const input = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    const taken = parseRequest(decisionsBody, decide({ input }));
    expect(JSON.stringify(taken.decisions[0]?.input)).toBe(JSON.stringify(input));
    expect({}).not.toHaveProperty("polluted");
  });

  test.each([
    ["undefined", undefined],
    ["a function", () => 1],
    ["NaN", Number.NaN],
    ["a bigint", 1n],
    ["a date", new Date(0)],
    ["a map", { map: new Map() }],
    ["a hole", [undefined]],
    ["a symbol", Symbol("x")],
  ])("%s is no JSON", (_, value) => {
    expect(isJson(value)).toBe(false);
  });
});

function refusal(
  schema: z.ZodMiniType<unknown>,
  body: unknown,
): { code: string; message: string; issues?: readonly { path: readonly unknown[]; message: string }[] | undefined } {
  try {
    parseRequest(schema, body);
  } catch (error) {
    if (isToolRunError(error)) return error;
    throw error;
  }
  throw new Error("The body was taken.");
}
