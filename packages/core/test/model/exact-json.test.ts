import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inexactMessage, inexactNumber } from "../../src/model/exact-json.ts";

describe("a number that a double cannot hold is found", () => {
  test.each<[string, string, string]>([
    ["an id of 19 digits", '{"id":1234567890123456789}', "1234567890123456789"],
    ["the first integer that is rounded", "9007199254740993", "9007199254740993"],
    ["the same below zero", "[-9007199254740993]", "-9007199254740993"],
    ["more digits than an exact number has", "100000000000000000001", "100000000000000000001"],
    ["a whole number with a fraction of zeros", "9007199254740993.0", "9007199254740993.0"],
    ["a number beyond all", "1e400", "1e400"],
    ["one beyond all, below zero", '{"a":-1E+400}', "-1E+400"],
    ["400 digits", "9".repeat(400), "9".repeat(400)],
    ["a fraction beyond all", "1.5e999", "1.5e999"],
    ["the second of two", "[9007199254740992,9007199254740995]", "9007199254740995"],
    [
      "one behind a string with its own digits",
      '["1234567890123456789",1234567890123456768.0,9007199254740997]',
      "9007199254740997",
    ],
    ["one behind an escaped quote", '{"a\\"":9007199254740993}', "9007199254740993"],
    ["one behind a string that ends in a backslash", '["\\\\",9007199254740993]', "9007199254740993"],
    ["one deep inside", '{"a":[{"b":{"c":[1,2,12345678901234567]}}]}', "12345678901234567"],
  ])("[M-11] %s", (_title, text, literal) => {
    expect(() => JSON.parse(text)).not.toThrow();
    expect(inexactNumber(text)).toBe(literal);
  });
});

describe("what is kept exactly, or is no integer, passes", () => {
  test.each<[string, string]>([
    ["no number", '{"a":"b"}'],
    ["the largest safe integer", "9007199254740991"],
    ["the one after it", "9007199254740992"],
    ["every second one after that", "9007199254740994"],
    ["a round number", "100000000000000000000"],
    ["the same with an exponent", "1e20"],
    ["an integer that JavaScript wrote", "1733000000123456800"],
    ["a power of two", (2n ** 200n).toString()],
    ["an exponent, approximate by its form", "1e23"],
    ["the largest of all", "1.7976931348623157e308"],
    ["next to nothing", "1e-400"],
    ["a fraction", "0.1"],
    ["a fraction of many digits", "[0.1234567890123456789,-12345678901234567.5]"],
    ["digits in a string", '"1234567890123456789"'],
    ["digits in a key", '{"1234567890123456789":1}'],
    ["digits behind an escaped quote in a string", '["\\"1234567890123456789\\" 9007199254740993"]'],
    ["digits behind an escaped backslash and quote", '["a\\\\\\" 9007199254740993"]'],
    ["an escape of four digits among digits", '"\\u00311234567890123456789"'],
    ["minus zero", "-0"],
    ["nothing", ""],
    ["text that is no JSON", '{"a": "9007199254740993'],
  ])("[M-11] %s", (_title, text) => {
    expect(inexactNumber(text)).toBeUndefined();
  });
});

/** By BigInt, or because it comes back with the same digits. */
function isKept(text: string): boolean {
  return BigInt(Number(text)) === BigInt(text) || String(Number(text)) === text;
}

test("[M-11] what is found is what is rounded, by BigInt, and comes back with other digits", () => {
  const integer = fc.oneof(
    fc.bigInt({ min: -(2n ** 56n), max: 2n ** 56n }),
    fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }),
    fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
  );
  fc.assert(
    fc.property(integer, (number) => {
      const text = String(number);
      expect(inexactNumber(text)).toBe(isKept(text) ? undefined : text);
    }),
    { numRuns: 2_000 },
  );
});

test("[M-11] among any other values the same numbers are found", () => {
  const leaf = fc.oneof(
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map(String),
    fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
    fc.string({ unit: fc.constantFrom("\\", '"', "9", "e") }).map((text) => JSON.stringify(text)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
    fc.constantFrom("true", "null"),
  );
  fc.assert(
    fc.property(fc.array(leaf), (leaves) => {
      const rounded = leaves.filter((text) => /^-?\d+$/.test(text) && !isKept(text));
      expect(inexactNumber(`[${leaves.join(",")}]`)).toBe(rounded[0]);
      expect(inexactNumber(JSON.stringify(leaves))).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test("[M-11] a text of the largest size is read once, also where a string never ends", () => {
  const chars = 256 * 1024;
  const texts = [
    `"${"\\\\".repeat(chars / 2)}" 9007199254740993`,
    `"${"1".repeat(chars)}`,
    `"${'\\"'.repeat(chars / 2)}1234567890123456`,
    `"${'\\"1234567890123456'.repeat(chars / 18)}`,
    `[${"1234567890123456,".repeat(chars / 17)}1]`,
  ];
  expect(texts.map(inexactNumber)).toEqual(["9007199254740993", undefined, undefined, undefined, undefined]);
});

test("[M-11] the message names the number and what to do, and stays short", () => {
  expect(inexactMessage("1234567890123456789")).toBe(
    "The number 1234567890123456789 cannot be held exactly: send it as a string.",
  );
  expect(inexactMessage("9".repeat(10_000)).length).toBeLessThan(150);
});
