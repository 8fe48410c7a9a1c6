import { describe, expect, it } from "vitest";
import { fitSchema } from "../../src/model/fit-schema.ts";
import { rulesOf } from "../../src/model/provider-rules.ts";
import type { Json } from "../../src/protocol/values.ts";

const gemini = rulesOf("google.generative-ai");
const anthropic = rulesOf("anthropic.messages");
const object = (properties: Json, more: object = {}): Json => ({ type: "object", properties, ...more });

describe("fitSchema", () => {
  it("leaves a plain schema as it is", () => {
    const schema = object({ a: { type: "string", pattern: "^a" } }, { $schema: "s", required: ["a"] });
    expect(fitSchema(schema, anthropic)).toBe(schema);
  });

  it.each<[string, Json, Json]>([
    ["const as enum", { const: "a", type: "string" }, { enum: ["a"], type: "string" }],
    [
      "a bound in words",
      { type: "number", exclusiveMinimum: 0 },
      { type: "number", description: "exclusiveMinimum: 0" },
    ],
    [
      "words behind those that are there",
      { description: "Sum", multipleOf: 2 },
      { description: "Sum (multipleOf: 2)" },
    ],
    ["inside a list", { type: "array", items: { const: 1 } }, { type: "array", items: { enum: [1] } }],
    ["inside a tuple", { prefixItems: [{ const: 1 }] }, { prefixItems: [{ enum: [1] }] }],
    ["inside a choice", { oneOf: [{ const: 1 }, { type: "null" }] }, { oneOf: [{ enum: [1] }, { type: "null" }] }],
    ["inside a record", { additionalProperties: { const: 1 } }, { additionalProperties: { enum: [1] } }],
    [
      "a field whose name is a keyword",
      object({ pattern: { type: "string" } }),
      object({ pattern: { type: "string" } }),
    ],
    ["an example that looks like a schema", { enum: [{ const: 1 }] }, { enum: [{ const: 1 }] }],
    ["no less of a record without more", { additionalProperties: false }, { additionalProperties: false }],
  ])("[M03] says %s", (_title, field, expected) => {
    expect(fitSchema(object({ field }), gemini)).toEqual(object({ field: expected }));
  });

  it("makes one object of a choice at the root, required only what all require", () => {
    const card = object({ by: { const: "card" }, last4: { type: "string" } }, { required: ["by", "last4"] });
    const bank = object({ by: { const: "bank" }, last4: { type: "string" } }, { required: ["by"] });
    const fitted = fitSchema({ $defs: { a: {} }, oneOf: [card, bank] }, anthropic);
    expect(fitted).toMatchObject({
      $defs: { a: {} },
      type: "object",
      properties: { by: { anyOf: [{ const: "card" }, { const: "bank" }] }, last4: { type: "string" } },
      required: ["by"],
    });
    expect(fitted).not.toHaveProperty("oneOf");
    expect(fitted).toHaveProperty("description", expect.stringContaining("one of: "));
  });

  it.each<[string, Json]>([
    ["true", true],
    ["null", null],
  ])("passes on what is no schema: %s", (_title, schema) => {
    expect(fitSchema(schema, gemini)).toBe(schema);
  });
});
