import { ToolRunError } from "../errors.ts";
import type { Json } from "../protocol/values.ts";
import type { StandardSchema } from "./schema.ts";
import { schemaFromJson } from "./schema.ts";

type JsonObject = { readonly [key: string]: Json };

/** Somebody else's schema may be nested without end. */
const MAX_DEPTH = 50;

const made = new WeakMap<JsonObject, StandardSchema>();

/**
 * JSON Schema of an object, as somebody else's server gives it, as a schema for a tool. The model and the edit form get
 * it as it is. Here it is checked as far as zod understands it and as it costs little: the rest is left to the server,
 * which checks its input itself.
 * @throws `invalid-config` for what describes no object, or is nested too deep.
 */
export function objectSchema(schema: Json): StandardSchema {
  if (!isObject(schema) || (schema.type !== undefined && schema.type !== "object")) {
    throw new ToolRunError("invalid-config", "A tool's input schema must be JSON Schema of an object.");
  }
  const known = made.get(schema);
  if (known) return known;
  const cheap = cheapSchema(schema);
  let checks: Promise<StandardSchema | undefined> | undefined;
  const validate: StandardSchema["~standard"]["validate"] = async (value) => {
    if (!isObject(value)) return { issues: [{ message: "must be an object" }] };
    checks ??= schemaFromJson(cheap).catch(() => undefined);
    const check = await checks;
    return check ? check["~standard"].validate(value) : { value };
  };
  const jsonSchema = { input: () => schema, output: () => schema };
  const standard: StandardSchema = { "~standard": { version: 1, vendor: "json-schema", validate, jsonSchema } };
  made.set(schema, standard);
  return standard;
}

const HOLDS_ONE: readonly string[] = [
  ...["items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"],
  ...["contains", "propertyNames", "not", "if", "then", "else"],
];
const HOLDS_LIST: readonly string[] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const HOLDS_NAMED: readonly string[] = ["properties", "$defs", "definitions", "dependentSchemas"];

/**
 * Somebody else's schema without what can cost without end: a pattern can take for ever on the right text, and a few
 * references to each other unfold to as much as one likes. Where a pattern would allow a property, every one is allowed.
 * @throws `invalid-config` when it is nested too deep.
 */
export function cheapSchema(schema: Json): Json {
  return withoutPatterns(schema, 0);
}

function withoutPatterns(schema: Json, depth: number): Json {
  if (depth > MAX_DEPTH) throw new ToolRunError("invalid-config", "A tool's input schema is nested too deep.");
  if (!isObject(schema)) return schema;
  if (["$ref", "$dynamicRef", "$recursiveRef"].some((key) => key in schema)) return {};
  const entries = Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
    if (key === "pattern" || key === "patternProperties") return [];
    if (key === "additionalProperties" && schema.patternProperties !== undefined) return [];
    if (HOLDS_LIST.includes(key) && Array.isArray(value)) {
      return [[key, value.map((item: Json) => withoutPatterns(item, depth + 1))]];
    }
    if (HOLDS_ONE.includes(key)) return [[key, withoutPatterns(value, depth + 1)]];
    if (!HOLDS_NAMED.includes(key) || !isObject(value)) return [[key, value]];
    const named = Object.entries(value).map(([name, item]) => [name, withoutPatterns(item, depth + 1)] as const);
    return [[key, Object.fromEntries(named)]];
  });
  return Object.fromEntries(entries);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
