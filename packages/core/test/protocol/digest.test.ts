import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, digestCall, hashText, toBase64Url } from "../../src/protocol/digest.ts";
import { RUNS } from "./arbitrary-log.ts";

const call = { tool: "refund", toolHash: "h", input: { order: 1042, amount: 12.5 }, salt: "s" };

describe("canonicalJson", () => {
  // The examples of RFC 8785, section 3.2 and appendix B.
  test("is the example of RFC 8785", () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    );
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test("sorts keys by UTF-16 code units, at every depth", () => {
    const value = {
      "\u20ac": 1,
      "\r": 2,
      "\ufb33": 3,
      "1": 4,
      "\u{1f600}": 5,
      "\u0080": 6,
      "\u00f6": 7,
      a: { c: 1, b: 2 },
    };
    expect(Object.keys(JSON.parse(canonicalJson(value)))).toHaveLength(8);
    expect(canonicalJson(value)).toBe(
      '{"\\r":2,"1":4,"a":{"b":2,"c":1},"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
    );
  });

  test.each([
    [0, "0"],
    [-0, "0"],
    [1e21, "1e+21"],
    [1e20, "100000000000000000000"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [9007199254740992, "9007199254740992"],
    [295147905179352830000, "295147905179352830000"],
    [9.999999999999997e22, "9.999999999999997e+22"],
    [333333333.3333332, "333333333.3333332"],
    [1e-7, "1e-7"],
  ])("the number %d is %s", (number, text) => {
    expect(canonicalJson(number)).toBe(text);
  });

  test("equal values have equal text whatever their order, and the text reads back as the value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(canonicalJson(JSON.parse(text)))));
      }),
      { numRuns: RUNS },
    );
  });

  test.each([
    ["NaN", Number.NaN],
    ["infinity", { deep: [Number.POSITIVE_INFINITY] }],
    ["a lone surrogate", "\ud800"],
    ["a cycle", cycle()],
    ["100,000 levels", JSON.parse("[".repeat(100_000) + "]".repeat(100_000))],
    ["a bigint", { amount: 1n }],
  ])("refuses %s as invalid input", (_, value) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: "invalid-input" }));
  });

  test("an own __proto__ key is a key like others", () => {
    const value = JSON.parse('{"b":1,"__proto__":{"polluted":true}}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"polluted":true},"b":1}');
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("digestCall", () => {
  test("stays the same from release to release", () => {
    expect(digestCall(call)).toMatchInlineSnapshot(`"A2s1XKfBUAyM5f5IrVl-WIv9LGkZYq9glrsCgYd0E9g"`);
  });

  test.each([
    ["tool", { tool: "refund2" }],
    ["definition", { toolHash: "h2" }],
    ["input", { input: { order: 1042, amount: 12.51 } }],
    ["type of a value", { input: { order: "1042", amount: 12.5 } }],
    ["extra field", { input: { order: 1042, amount: 12.5, note: null } }],
    ["salt", { salt: "s2" }],
  ])("changes with the %s", (_, change) => {
    expect(digestCall({ ...call, ...change })).not.toBe(digestCall(call));
  });

  test("does not change with key order, title or anything it does not cover", () => {
    const input = { amount: 12.5, order: 1042 };
    const more = { ...call, input, title: "Refund", summary: "x", destructive: true };
    expect(digestCall(more)).toBe(digestCall(call));
  });

  test("fields cannot run into each other", () => {
    const left = digestCall({ tool: "a", toolHash: "bc", input: 1, salt: "" });
    expect(digestCall({ tool: "ab", toolHash: "c", input: 1, salt: "" })).not.toBe(left);
  });
});

describe("hashText", () => {
  test.each([
    ["", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"],
    ["abc", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"],
  ])("of %j is the SHA-256 of its UTF-8 bytes", (text, hash) => {
    expect(hashText(text)).toBe(hash);
  });

  test("base64url is that of Node for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(toBase64Url(bytes)).toBe(Buffer.from(bytes).toString("base64url"));
      }),
      { numRuns: RUNS },
    );
  });
});

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

/** The same value with every object's keys in the other order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, item]) => [key, reversed(item)]));
}
