import { describe, expect, test } from "vitest";
import { ToolRunError } from "../../src/errors.ts";
import { checkPairing } from "../../src/model/check-pairing.ts";
import type { ModelMessage } from "../../src/model/model.ts";

const user: ModelMessage = { role: "user", parts: [{ type: "text", text: "hi" }] };
const says: ModelMessage = { role: "assistant", parts: [{ type: "text", text: "hi" }] };
const asks = (...ids: string[]): ModelMessage => ({
  role: "assistant",
  parts: ids.map((id) => ({ type: "call", id, name: "t", inputText: "{}" })),
});
const tells = (...ids: string[]): ModelMessage => ({
  role: "tool",
  results: ids.map((id) => ({ id, name: "t", output: null, isError: false })),
});

describe("checkPairing", () => {
  test.each<[string, ModelMessage[]]>([
    ["nothing", []],
    ["talk", [user, says, user]],
    ["calls with their results", [user, asks("a", "b"), tells("a", "b"), asks("c"), tells("c"), says]],
    ["an id of an earlier turn", [asks("a"), tells("a"), asks("a"), tells("a")]],
    ["names of Object's prototype", [asks("__proto__", "constructor"), tells("__proto__", "constructor")]],
  ])("takes %s", (_, messages) => {
    expect(() => checkPairing(messages)).not.toThrow();
  });

  test.each<[string, ModelMessage[]]>([
    ["a call without a result at the end", [user, asks("a")]],
    ["a message between", [asks("a"), user, tells("a")]],
    ["an answer between", [asks("a"), says, tells("a")]],
    ["one result too few", [asks("a", "b"), tells("a")]],
    ["one result too many", [asks("a"), tells("a", "b")]],
    ["another order", [asks("a", "b"), tells("b", "a")]],
    ["another id", [asks("a"), tells("b")]],
    ["results out of nowhere", [user, tells("a")]],
    ["results twice", [asks("a"), tells("a"), tells("a")]],
    ["two calls with one id", [asks("a", "a"), tells("a", "a")]],
  ])("refuses %s", (_, messages) => {
    expect(() => checkPairing(messages)).toThrow(ToolRunError);
    expect(() => checkPairing(messages)).toThrow(expect.objectContaining({ code: "internal" }));
  });
});
