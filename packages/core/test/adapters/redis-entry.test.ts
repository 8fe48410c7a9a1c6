import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromEntry, fromName, fromWire, toEntry, toName, toSortable, toWire } from "../../src/adapters/redis-entry.ts";

/** Any text at all: half characters, line breaks, byte order marks, percent signs. */
const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.constantFrom("\ud800", "\udfff", "\ufeff", "\u0000", "\n", "%", "%u", "d800", "{", "}", "/", "é", "👍"))
    .map((parts) => parts.join("")),
);
const events = fc.array(fc.record({ control: fc.boolean(), data: text }), { minLength: 1, maxLength: 6 });

/** What UTF-8 makes of a text on its way, with a decoder that swallows a byte order mark. */
const travel = (sent: string): string => new TextDecoder().decode(new TextEncoder().encode(sent));

describe("what is sent comes back as it was", () => {
  test("a batch's events, whatever their text", () => {
    fc.assert(
      fc.property(events, text, fc.nat(1000), (list, batch, before) => {
        const last = before + list.length;
        const expected = list.map((event, index) => ({ seq: before + 1 + index, batch, ...event }));
        expect(fromEntry(travel(toName(batch)), travel(toEntry(list)), last)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test("a snapshot and a name", () => {
    fc.assert(
      fc.property(text, (each) => {
        expect(fromWire(travel(toWire(each)))).toBe(each);
        expect(fromName(travel(toName(each)))).toBe(each);
        expect(toName(each)).toMatch(/^[!-~]*$/);
        expect(toName(each)).not.toMatch(/[{}/ ]/);
      }),
    );
  });

  test("a text sent as it is would not (the control)", () => {
    expect(travel("\ud800")).not.toBe("\ud800");
    expect(travel("\ufeffa")).not.toBe("\ufeffa");
  });

  test("ordinary text is stored as it is: a header, a line break, the data", () => {
    const list = [
      { control: true, data: '{"a":"é"}' },
      { control: false, data: "b" },
    ];
    expect(toEntry(list)).toBe('c9~\n{"a":"é"}b');
  });
});

test("numbers sort as text, both ways", () => {
  const number = fc.double({ noNaN: true }).map((value) => value || 0);
  fc.assert(
    fc.property(number, number, (left, right) => {
      expect(toSortable(left) < toSortable(right)).toBe(left < right);
      expect(toSortable(left, "falling") < toSortable(right, "falling")).toBe(left > right);
      expect(toSortable(left)).toMatch(/^[0-9a-f]{16}$/);
    }),
  );
});
