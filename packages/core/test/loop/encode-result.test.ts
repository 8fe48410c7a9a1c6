import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeResult, MAX_OUTPUT_CHARS } from "../../src/loop/encode-result.ts";
import type { Json } from "../../src/protocol/values.ts";
import { isJson } from "../../src/protocol/values-schema.ts";

const boom = (): never => {
  throw new Error("no");
};
const throwing = new Proxy({}, { get: boom, ownKeys: boom, getPrototypeOf: boom, has: boom });

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function cyclic(): object {
  const made: Record<string, unknown> = { name: "order", list: [] };
  made.self = made;
  (made.list as unknown[]).push(made, { back: made });
  return made;
}

function nested(levels: number): unknown {
  let made: unknown = "inside";
  for (let level = 0; level < levels; level++) made = level % 2 ? { a: made } : [made];
  return made;
}

/** Each half holds the next one twice: small in memory, without end as JSON. */
function doubling(levels: number): unknown {
  let made: unknown = "leaf";
  for (let level = 0; level < levels; level++) made = [made, made];
  return made;
}

class Secretive {
  #secret = "s3cret";
  get kept(): string {
    return this.#secret;
  }
}

/** An error as HTTP clients throw and return them. */
function httpError(): Error {
  const error = Object.assign(new Error("Not found"), { code: "E404", config: { authorization: "Bearer s3cret" } });
  return Object.assign(error, { cause: new Error("inner") });
}

describe("a value is a result as it is", () => {
  test.each<[string, Json]>([
    ["false", false],
    ["true", true],
    ["zero", 0],
    ["an empty text", ""],
    ["null", null],
    ["an empty list", []],
    ["an empty object", {}],
    ["a number beyond the safe ones", 2 ** 53 + 2],
    ["the largest number", Number.MAX_VALUE],
    ["a text with quotes, lines and a NUL", '"a"\n\\ud83d \u0000 \u2028'],
    ["a whole emoji", "😀"],
    ["names of Object's prototype", { constructor: 1, toString: "x", hasOwnProperty: null }],
    ["nested values", { a: [1, { b: [[], {}, "", 0, false, null] }] }],
  ])("[M07] %s", (_title, value) => {
    expect(encodeResult(value)).toEqual(value);
  });
});

describe("any value becomes JSON", () => {
  test.each<[string, () => unknown, Json]>([
    ["nothing", () => undefined, null],
    ["a function", () => boom, null],
    ["a symbol", () => Symbol("s"), null],
    [
      "functions and symbols inside",
      () => ({ a: boom, b: Symbol("s"), c: [boom, Symbol("s"), undefined] }),
      { c: [null, null, null] },
    ],
    ["minus zero", () => [-0], [0]],
    ["not a number", () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], [null, null, null]],
    ["a bigint", () => ({ total: 12n, id: 1234567890123456789n }), { total: "12", id: "1234567890123456789" }],
    ["a date", () => new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a date that is none", () => ({ at: new Date(Number.NaN) }), { at: null }],
    ["a URL", () => new URL("https://shop.test/a?b=c"), "https://shop.test/a?b=c"],
    ["a pattern", () => /a+/gi, "/a+/gi"],
    ["boxed values", () => [Object(1), Object("a"), Object(false), Object(5n)], [1, "a", false, "5"]],
    ["a sparse list", () => Object.assign(new Array(3), { 1: "b" }), [null, "b", null]],
    [
      "a map with text keys",
      () =>
        new Map<string, unknown>([
          ["a", 1],
          ["__proto__", new Set([2])],
        ]),
      JSON.parse('{"a":1,"__proto__":[2]}') as Json,
    ],
    [
      "a map with other keys",
      () =>
        new Map<unknown, unknown>([
          [1, "one"],
          [{ a: 1 }, undefined],
        ]),
      [
        [1, "one"],
        [{ a: 1 }, null],
      ],
    ],
    ["a set", () => new Set(["a", "b"]), ["a", "b"]],
    ["an error", () => new TypeError("broken"), { name: "TypeError", message: "broken" }],
    ["an error without the request it holds", httpError, { name: "Error", message: "Not found", code: "E404" }],
    ["few bytes", () => new Uint8Array([1, 2, 255]), { bytes: 3, base64: "AQL/" }],
    [
      "a part of a buffer",
      () => new Uint8Array(new Uint8Array([9, 1, 2, 9]).buffer, 1, 2),
      { bytes: 2, base64: "AQI=" },
    ],
    ["Node's bytes, whose toJSON is a long list", () => Buffer.from("ab"), { bytes: 2, base64: "YWI=" }],
    ["a buffer", () => new Uint8Array([1]).buffer, { bytes: 1, base64: "AQ==" }],
    ["a view", () => new DataView(new ArrayBuffer(2)), { bytes: 2, base64: "AAA=" }],
    ["many bytes", () => ({ file: new Uint8Array(1_000_000) }), { file: { bytes: 1_000_000 } }],
    [
      "a list of numbers in binary",
      () => [new Float64Array([0.5, Number.NaN]), new BigInt64Array([5n])],
      [[0.5, null], ["5"]],
    ],
    ["a response", () => new Response("text"), "[Response]"],
    ["a stream", () => ({ body: new ReadableStream() }), { body: "[ReadableStream]" }],
    ["a promise", () => ({ later: Promise.resolve(1) }), { later: "[Promise]" }],
    ["a blob", () => new Blob(["a"]), "[Blob]"],
    ["a weak map", () => [new WeakMap()], ["[WeakMap]"]],
    ["an object without a prototype", () => Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["an object that keeps all to itself", () => new Secretive(), {}],
    [
      "an own key __proto__",
      () => JSON.parse('{"__proto__":{"admin":true},"a":1}'),
      JSON.parse('{"__proto__":{"admin":true},"a":1}') as Json,
    ],
    ["inherited and hidden fields", () => Object.create({ inherited: 1 }, { hidden: { value: 2 } }), {}],
    [
      "half characters, in keys too",
      () => ({ "k\ud83d": ["a\ud83d", "\ude00b", "😀"] }),
      { "k\ufffd": ["a\ufffd", "\ufffdb", "😀"] },
    ],
    ["a half character alone", () => "\ud83d", "\ufffd"],
    ["a cycle", cyclic, { name: "order", list: ["[circular]", { back: "[circular]" }], self: "[circular]" }],
    ["the same object twice, which is no cycle", () => ((one) => [one, one])({ a: 1 }), [{ a: 1 }, { a: 1 }]],
    ["what toJSON gives", () => ({ toJSON: () => ({ a: new Map([["b", 1n]]) }) }), { a: { b: "1" } }],
    ["nothing from toJSON", () => [{ toJSON: () => undefined }, { a: { toJSON: () => undefined } }], [null, {}]],
    [
      "itself from toJSON",
      () => ({
        a: 1,
        toJSON() {
          return this;
        },
      }),
      { a: 1 },
    ],
    ["a toJSON that is no function", () => ({ toJSON: "a" }), { toJSON: "a" }],
    ["a toJSON that throws", () => ({ toJSON: boom }), "[This result could not be read.]"],
    ["a toJSON that throws, inside", () => ({ a: 1, b: { toJSON: boom } }), { a: 1, b: "[could not be read]" }],
    [
      "a getter that throws",
      () => ({
        a: 1,
        get b() {
          return boom();
        },
      }),
      { a: 1, b: "[could not be read]" },
    ],
    ["a proxy that throws", () => throwing, "[This result could not be read.]"],
    ["a proxy that throws, inside", () => ({ a: 1, b: [throwing] }), { a: 1, b: ["[could not be read]"] }],
    [
      "a list whose items throw",
      () => new Proxy([1, 2], { get: (_list, key) => (key === "length" ? 2 : boom()) }),
      ["[could not be read]", "[could not be read]"],
    ],
    ["a proxy that is gone", () => revoked({}), "[This result could not be read.]"],
    ["a list that is gone", () => [revoked([])], ["[could not be read]"]],
    [
      "a kind that throws",
      () => ({
        a: {
          get [Symbol.toStringTag]() {
            return boom();
          },
        },
      }),
      { a: "[could not be read]" },
    ],
    [
      "an error whose message throws",
      () => Object.defineProperty(new Error(), "message", { get: boom }),
      { name: "Error", message: "[could not be read]" },
    ],
    ["a map that is none", () => [Object.create(Map.prototype)], ["[could not be read]"]],
    [
      "a boxed number that gives itself",
      () => {
        const made: number = Object(1);
        return Object.assign(made, { valueOf: () => made });
      },
      "[circular]",
    ],
  ])("[M-10] %s", (_title, make, json) => {
    expect(encodeResult(make())).toEqual(json);
    expect(Object.is(encodeResult(-0), 0)).toBe(true);
  });
});

describe("a value without end is cut", () => {
  test.each<[string, () => unknown]>([
    ["deeper than the stack", () => nested(100_000)],
    ["deeper than an event may be", () => nested(101)],
    ["a hundred times the doubled", () => doubling(99)],
    ["a list that claims a billion items", () => new Array(1_000_000_000)],
    [
      "a list whose length never ends",
      () => new Proxy([], { get: (_, key) => (key === "length" ? Number.POSITIVE_INFINITY : 1) }),
    ],
    ["objects that go on for ever", () => endless()],
    [
      "toJSON for ever",
      () => {
        const again = (): object => ({ toJSON: () => [again()] });
        return again();
      },
    ],
    [
      "a map that grows while it is read",
      () => {
        const map = new Map<unknown, unknown>();
        const grow = (): object => ({
          get a() {
            map.set(map.size, grow());
            return 1;
          },
        });
        return map.set(0, grow());
      },
    ],
  ])("[M-10] %s", (_title, make) => {
    const made = encodeResult(make(), 10_000);
    expect(isJson(made)).toBe(true);
    expect(JSON.stringify(made).length).toBeLessThan(10_100);
  });

  test("[M-10] at the depth that events may have, not before", () => {
    expect(encodeResult(nested(100))).toEqual(nested(100));
    const text = JSON.stringify(encodeResult(nested(101)));
    expect(text).toContain("[nested too deep]");
    expect(text).not.toContain("inside");
  });

  test.each<[string, (chars: number) => unknown]>([
    ["a text", (chars) => "x".repeat(chars)],
    ["a text of lines, which JSON writes with two characters", (chars) => "\n".repeat(chars)],
    ["a text whose long part comes last", (chars) => "x".repeat(chars / 2) + "\u0001".repeat(chars / 2)],
    ["a list", (chars) => new Array(chars).fill('"')],
    ["an object", (chars) => Object.fromEntries(new Array(chars / 4).fill(0).map((_, index) => [`k${index}`, "\\"]))],
    ["one long text inside", (chars) => ({ html: "<p>".repeat(chars) })],
  ])("[M-10] %s: what is kept fits, begins alike and says how much is missing", (_title, make) => {
    const value = make(40_000);
    const whole = typeof value === "string" ? value : JSON.stringify(value);
    for (const maxChars of [1_000, 20_000]) {
      const made = String(encodeResult(value, maxChars));
      const [, kept = "", count] = /^(.*)… \[cut: (?:more than )?(\d+) more characters\]$/s.exec(made) ?? [];
      expect(whole.startsWith(kept)).toBe(true);
      expect(kept.length).toBeGreaterThan(maxChars / 10);
      expect(JSON.stringify(kept).length - 2).toBeLessThanOrEqual(maxChars);
      if (made.includes("more than")) expect(Number(count)).toBeLessThan(whole.length - kept.length);
      else expect(Number(count)).toBe(whole.length - kept.length);
    }
  });

  test("[M-10] just as long as may be is whole", () => {
    const text = "x".repeat(MAX_OUTPUT_CHARS - 2);
    expect(encodeResult(text)).toBe(text);
    expect(encodeResult(`${text}x`)).not.toBe(`${text}x`);
  });

  test("[M-10] never in the middle of a character", () => {
    expect(encodeResult("😀".repeat(100), 51)).toMatch(/^(😀)+\ufffd?… \[cut/u);
  });
});

test("[M-10] plain JSON is what JSON.stringify and JSON.parse make of it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      expect(encodeResult(value)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 500 },
  );
});

test("[M-10] whatever it is, it is JSON that fits, and the same when it is encoded again", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withNullPrototype: true,
    withBoxedValues: true,
    withObjectString: true,
    withUnicodeString: true,
  });
  fc.assert(
    fc.property(anything, fc.constantFrom(20, 200, MAX_OUTPUT_CHARS), (value, maxChars) => {
      const made = encodeResult(value, maxChars);
      expect(isJson(made)).toBe(true);
      expect(JSON.stringify(made).length).toBeLessThan(maxChars + 60);
      expect(JSON.parse(JSON.stringify(made))).toEqual(made);
      expect(encodeResult(made)).toEqual(made);
    }),
    { numRuns: 1_000 },
  );
});

/** Answers every question with itself. */
function endless(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => ["a", "b"],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
      has: (_, key) => key !== "toJSON",
      get: (_, key) => (key === "toJSON" ? undefined : endless()),
    },
  );
}
