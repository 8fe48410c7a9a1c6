import type { Json } from "../protocol/values.ts";
import type { ProviderRules } from "./provider-rules.ts";

type Schema = { readonly [key: string]: Json };

/** Keywords under which are schemas by name, in a list, or one. */
const BY_NAME = new Set(["properties", "$defs"]);
const IN_LIST = new Set(["anyOf", "oneOf", "prefixItems"]);
const SINGLE = new Set(["items", "additionalProperties"]);

/** Says nothing that a model needs. */
const SILENT = new Set(["$schema", "$comment"]);

/**
 * A tool's JSON Schema as a provider takes it. What it has no keyword for is said in the description: the model reads
 * it there, and the tool's own schema still checks every input. Never changes what is accepted.
 */
export function fitSchema(schema: Json, rules: ProviderRules): Json {
  if (!isSchema(schema)) return schema;
  const plain = plainRoot(schema);
  return rules.schemaKeywords ? known(plain, rules.schemaKeywords) : plain;
}

function known(schema: Json, keywords: ReadonlySet<string>): Json {
  if (!isSchema(schema)) return schema;
  const kept: Record<string, Json> = {};
  const said: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (key === "const") kept.enum = [value];
    else if (keywords.has(key)) kept[key] = inside(key, value, keywords);
    else if (!SILENT.has(key)) said.push(`${key}: ${JSON.stringify(value)}`);
  }
  return said.length > 0 ? { ...kept, description: described(schema.description, said.join(", ")) } : kept;
}

function inside(key: string, value: Json, keywords: ReadonlySet<string>): Json {
  if (SINGLE.has(key)) return known(value, keywords);
  if (IN_LIST.has(key) && Array.isArray(value)) return value.map((schema) => known(schema, keywords));
  if (!BY_NAME.has(key) || !isSchema(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, known(schema, keywords)]));
}

/**
 * A choice between objects as one object with the fields of all; the choice itself is said in the description. Several
 * providers refuse a choice at the root, and none needs one.
 */
function plainRoot(schema: Schema): Schema {
  const { anyOf, oneOf, allOf, ...rest } = schema;
  const choices = [anyOf, oneOf, allOf].find(Array.isArray);
  if (!choices) return schema.type === "object" ? schema : { type: "object", ...schema };
  const variants = choices.filter(isSchema);
  const fields = new Map<string, Json[]>();
  for (const { properties } of variants) {
    for (const [name, field] of isSchema(properties) ? Object.entries(properties) : []) {
      fields.set(name, [...(fields.get(name) ?? []), field]);
    }
  }
  const required = [...fields.keys()].filter((name) =>
    variants.every((variant) => Array.isArray(variant.required) && variant.required.includes(name)),
  );
  return {
    ...rest,
    type: "object",
    properties: Object.fromEntries([...fields].map(([name, list]) => [name, oneOfAll(list)])),
    ...(required.length > 0 && { required }),
    description: described(schema.description, `${allOf === choices ? "all" : "one"} of: ${JSON.stringify(choices)}`),
  };
}

function oneOfAll(schemas: readonly Json[]): Json {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return different.length === 1 ? (different[0] as Json) : { anyOf: different }; // there is one
}

function described(description: Json | undefined, said: string): string {
  return typeof description === "string" && description !== "" ? `${description} (${said})` : said;
}

function isSchema(value: Json | undefined): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
