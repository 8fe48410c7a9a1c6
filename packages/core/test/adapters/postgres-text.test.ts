import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeEvents,
  decodeText,
  EVENT,
  encodeEvents,
  encodeText,
  FIELD,
  RECORD,
} from "../../src/adapters/postgres-text.ts";

const hard: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.constantFrom("\0", "\u0010", RECORD, FIELD, EVENT, "\ud800", "\udfff", "0041", "€", "👍"))
    .map((parts) => parts.join("")),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

describe("text for PostgreSQL", () => {
  test("comes back as it was, and holds nothing that PostgreSQL or our records cannot", () => {
    fc.assert(
      fc.property(hard, (text) => {
        const stored = encodeText(text);
        expect(decodeText(stored)).toBe(text);
        expect(stored).not.toMatch(new RegExp(`[\\0${RECORD}${FIELD}${EVENT}]`));
        expect(new TextDecoder().decode(new TextEncoder().encode(stored))).toBe(stored);
      }),
    );
  });

  test("JSON is stored as it is, so that people can read and query it", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), (json) => {
        expect(encodeText(json)).toBe(json);
      }),
    );
    const nul = JSON.stringify({ nul: "\0", lone: "\ud800", emoji: "👩‍👩‍👧", tab: "\t" });
    expect(encodeText(nul)).toBe(nul);
  });

  test("the events of an append come back behind any cursor", () => {
    const event = fc.record({ control: fc.boolean(), data: hard });
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1, maxLength: 8 }),
        fc.nat(20),
        fc.integer({ min: -3, max: 12 }),
        (events, base, offset) => {
          const last = base + events.length;
          const stored = events.map((each, index) => ({ seq: base + index + 1, batch: "b", ...each }));
          const cursor = base + offset;
          expect(decodeEvents(last, "b", encodeEvents(events), cursor)).toEqual(
            stored.filter(({ seq }) => seq > cursor),
          );
        },
      ),
    );
  });
});
