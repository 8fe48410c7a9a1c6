import { describe, expect, test } from "vitest";
import { sealEvent } from "../../src/protocol/seal-event.ts";
import { parseEvent, serialiseEvent } from "../../src/protocol/stored-event.ts";

const event = sealEvent(
  { type: "text-added", runId: "r", epoch: undefined, turn: 1, attempt: 1, text: "\ud800\u0000€" },
  7,
  9,
);

describe("stored events", () => {
  test("leave out their seq and what is undefined; text that UTF-8 cannot carry is escaped", () => {
    expect(serialiseEvent(event)).toBe(
      String.raw`{"type":"text-added","runId":"r","turn":1,"attempt":1,"text":"\ud800\u0000€","at":9,"v":1}`,
    );
    expect(parseEvent(serialiseEvent(event), 7)).toEqual(JSON.parse(JSON.stringify(event)));
  });

  test("kinds of newer code pass through whole", () => {
    expect(parseEvent('{"type":"run-forked","at":1,"v":2,"extra":[1]}', 3)).toEqual({
      ...{ type: "run-forked", at: 1, v: 2, extra: [1] },
      seq: 3,
    });
  });

  test("an own __proto__ key stays a key", () => {
    const text = '{"type":"call-ready","input":{"__proto__":{"a":1}},"at":1,"v":1}';
    expect(serialiseEvent(parseEvent(text, 1))).toBe(text);
    expect({}).not.toHaveProperty("a");
  });

  test.each([
    "",
    "{",
    "null",
    "[]",
    "3",
    '{"at":1,"v":1}',
    '{"type":1,"at":1,"v":1}',
    '{"type":"x","v":1}',
    '{"type":"x","at":1}',
  ])("%j is refused with its seq", (text) => {
    expect(() => parseEvent(text, 12)).toThrow(expect.objectContaining({ code: "internal" }));
    expect(() => parseEvent(text, 12)).toThrow("12");
  });
});
