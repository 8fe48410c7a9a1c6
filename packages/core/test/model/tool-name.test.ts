import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wireNames, wireToolName } from "../../src/model/tool-name.ts";

const LEGAL = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

describe("wireToolName", () => {
  test.each(["refund", "_", "get-file", "Get_File_2", "constructor", "__proto__", "toString", "a".repeat(64)])(
    "[H21] leaves the legal name %s as it is",
    (name) => {
      expect(wireToolName(name)).toBe(name);
    },
  );

  test.each<[string, RegExp]>([
    ["Github.Get File", /^Github_Get_File_[A-Za-z0-9]{10}$/],
    ["re fund", /^re_fund_/],
    ["$", /^_[A-Za-z0-9]{10}$/],
    ["$refund", /^_refund_/],
    ["", /^_[A-Za-z0-9]{10}$/],
    ["2nd", /^_2nd_/],
    ["-x", /^_-x_/],
    ["größe", /^gr_e_/],
    ["найти", /^_[A-Za-z0-9]{10}$/],
    ["😀", /^_/],
    ["\ud83d", /^_/],
    ["a\nb", /^a_b_/],
    ["refund\n", /^refund_/],
    ["a/b:c", /^a_b_c_/],
    ["a".repeat(65), /^a{53}_[A-Za-z0-9]{10}$/],
    ["a.".repeat(50_000), /^a_a_/],
  ])("[H21] makes %j legal and keeps what can be read", (name, shape) => {
    const wire = wireToolName(name);
    expect(wire).toMatch(shape);
    expect(wire).toMatch(LEGAL);
    expect(wireToolName(name)).toBe(wire);
  });

  test("[H21] keeps apart what looks alike once it is legal", () => {
    const names = ["a.b", "a b", "a_b", "a..b", "a.b ", " a.b", "é", "e\u0301", "\ud83d", "\ud83e", "\ufffd", "A.b"];
    expect(new Set(names.map(wireToolName)).size).toBe(names.length);
  });

  test("[H21] is legal, stable, injective, and the same for its own result", () => {
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 100 }),
      fc.string({ unit: fc.constantFrom("a", "_", ".", " ", "-", "1", "\ud83d"), maxLength: 70 }),
    );
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(name, (each) => {
        const wire = wireToolName(each);
        expect(wire).toMatch(LEGAL);
        expect(wireToolName(each)).toBe(wire);
        expect(wireToolName(wire)).toBe(wire);
        expect(seen.get(wire) ?? each).toBe(each);
        seen.set(wire, each);
      }),
      { numRuns: 3_000 },
    );
  });

  test("[H21] says the same after more names than it remembers", () => {
    const before = wireToolName("a.b");
    for (let index = 0; index < 3_000; index++) wireToolName(`tool ${index}`);
    expect(wireToolName("a.b")).toBe(before);
  });
});

describe("wireNames", () => {
  test("[H21] finds a tool by the name that the model uses", () => {
    const names = ["refund", "Github.Get File", "constructor", "__proto__"];
    const byWire = wireNames(names);
    expect(names.map((name) => byWire.get(wireToolName(name)))).toEqual(names);
    expect(byWire.get("toString")).toBeUndefined();
  });

  test("[H21] refuses a legal name that is another tool's for the model, naming both", () => {
    const taken = wireToolName("a.b");
    for (const names of [
      ["a.b", taken],
      [taken, "x", "a.b"],
    ]) {
      expect(() => wireNames(names)).toThrow(expect.objectContaining({ code: "invalid-config" }));
      expect(() => wireNames(names)).toThrow('"a.b"');
      expect(() => wireNames(names)).toThrow(`"${taken}"`);
      expect(() => wireNames(names)).toThrow("rename one of them");
    }
  });

  test("takes an empty name, once", () => {
    expect([...wireNames([""]).values()]).toEqual([""]);
  });
});
