import type { Json } from "toolrun";
import { isRecord } from "./value-view.tsx";

/** One value of an input, as a form shows it. What no simple field can hold is edited as JSON. */
export interface Field {
  readonly name: string;
  readonly title: string;
  /** `list`: one text or number a line. `many`: any of the choices. */
  readonly kind: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "list" | "many" | "json";
  readonly help?: string | undefined;
  readonly required: boolean;
  /** An empty field means null. */
  readonly nullable: boolean;
  readonly locked: boolean;
  readonly choices: readonly Choice[];
  readonly schema: { readonly [key: string]: Json };
  /** The fields of an object that a form shows one by one. */
  readonly fields?: readonly Field[] | undefined;
}

export interface Choice {
  readonly value: Json;
  /** What it is called, where the schema says so. */
  readonly title?: string | undefined;
}

/** A field that stands for itself, and where its value is. */
export interface Leaf extends Field {
  readonly path: readonly string[];
}

/** What was typed, by name of field: always text, so that "1." stays "1." while a person types. */
export type Draft = Readonly<Record<string, string>>;

/** The fields of an input in the order of its schema; what the schema does not name comes last. */
export function toFields(
  schema: Json | undefined,
  input: Json,
  editable?: boolean | readonly string[],
): readonly Field[] {
  const values = isRecord(input) ? input : {};
  const properties = isRecord(schema) && isRecord(schema.properties) ? schema.properties : {};
  const required = isRecord(schema) && Array.isArray(schema.required) ? schema.required : [];
  const names = [...new Set([...Object.keys(properties), ...Object.keys(values)])];
  return names.map((name) => {
    const locked = Array.isArray(editable) && !editable.includes(name);
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    // What no schema speaks of is there for a reason: it is not left out because a field was emptied.
    if (known === undefined) return toField(name, guess(values[name]), values[name], true, locked);
    return toField(name, known, values[name], required.includes(name), locked);
  });
}

/** `orderId` and `order_id` become "Order id". */
export function titleOfKey(name: string): string {
  const words = name
    .replace(/[_-]+/g, " ")
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .trim()
    .toLowerCase();
  return words === "" ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

function toField(name: string, json: Json, value: Json | undefined, required: boolean, locked: boolean): Field {
  const outer = isRecord(json) ? json : {};
  const { schema, nullable } = unwrapNull(outer);
  const many = schema.type === "array" && isRecord(schema.items) ? choicesOf(schema.items) : undefined;
  const choices = many ?? choicesOf(schema);
  const kind = kindOf(schema, choices, required);
  const title = text(outer.title) ?? text(schema.title) ?? titleOfKey(name);
  const help = text(outer.description) ?? text(schema.description);
  const base = { name, title, help, required, nullable, locked, schema };
  // A value its own schema would not hold is safe as JSON only.
  if (kind === "json" || !fits(kind, schema, value)) {
    const fields = nullable || locked ? undefined : fieldsInside(schema, value, required);
    return { ...base, kind: "json", nullable: false, choices: [], fields };
  }
  if (kind !== "choice" && kind !== "many") return { ...base, kind, choices: [] };
  return { ...base, kind, choices: choices ?? [{ value: true }, { value: false }] };
}

/** Only of an object that is there in any case: whether to send an empty one cannot be told from empty fields. */
function fieldsInside(schema: Schema, value: Json | undefined, required: boolean): readonly Field[] | undefined {
  if (!isRecord(schema.properties) || (value === undefined ? !required : !isRecord(value))) return undefined;
  return toFields(schema, value ?? {});
}

/** The fields one sees: an object's own in its place, two levels deep. */
export function leavesOf(fields: readonly Field[], path: readonly string[] = [], title = ""): readonly Leaf[] {
  return fields.flatMap((field): readonly Leaf[] => {
    const own = { ...field, path: [...path, field.name], title: title + field.title };
    if (!field.fields || path.length === 2) return [{ ...own, name: own.path.map(encodeURIComponent).join("/") }];
    return leavesOf(field.fields, own.path, `${own.title}: `);
  });
}

/** Without a schema, the value itself tells what it is. */
function guess(value: Json | undefined): Json {
  if (typeof value === "string") return { type: "string" };
  if (typeof value === "number") return { type: "number" };
  return typeof value === "boolean" ? { type: "boolean" } : {};
}

type Schema = Field["schema"];

function unwrapNull(schema: Schema): { schema: Schema; nullable: boolean } {
  if (Array.isArray(schema.type) && schema.type.length === 2 && schema.type.includes("null")) {
    const type = schema.type.find((name) => name !== "null");
    return type === undefined ? { schema, nullable: false } : { schema: { ...schema, type }, nullable: true };
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(options) || options.length !== 2) return { schema, nullable: false };
  const inner = options.filter((option) => !(isRecord(option) && option.type === "null"));
  return inner.length === 1 && isRecord(inner[0]) ? { schema: inner[0], nullable: true } : { schema, nullable: false };
}

function choicesOf(schema: Schema): readonly Choice[] | undefined {
  const options = schema.anyOf ?? schema.oneOf;
  const choices = Array.isArray(schema.enum)
    ? schema.enum.map((value): Choice => ({ value }))
    : Array.isArray(options) && options.every((option) => isRecord(option) && "const" in option)
      ? options.map((option): Choice => {
          const { const: value = null, title } = isRecord(option) ? option : {};
          return { value, title: text(title) };
        })
      : undefined;
  if (!choices?.length || choices.some(({ value }) => value !== null && typeof value === "object")) return undefined;
  return choices.filter(({ value }, index) => choices.findIndex((other) => other.value === value) === index);
}

function kindOf(schema: Schema, choices: readonly Choice[] | undefined, required: boolean): Field["kind"] {
  if (choices) return schema.type === "array" ? "many" : "choice";
  if (schema.type === "boolean") return required || "default" in schema ? "boolean" : "choice";
  if (schema.type === "number" || schema.type === "integer") return schema.type;
  if (schema.type === "array") return itemType(schema) ? "list" : "json";
  if (schema.type !== "string") return "json";
  const long = typeof schema.maxLength === "number" && schema.maxLength > 120 && !schema.format;
  return long ? "long" : "text";
}

/** The type of a list's items, where each fits in a line. */
export function itemType(schema: Schema): "string" | "number" | "integer" | undefined {
  const type = isRecord(schema.items) ? schema.items.type : undefined;
  return type === "string" || type === "number" || type === "integer" ? type : undefined;
}

function fits(kind: Field["kind"], schema: Schema, value: Json | undefined): boolean {
  if (value === undefined || value === null || kind === "json" || kind === "choice") return true;
  if (kind === "number" || kind === "integer") return typeof value === "number";
  if (kind !== "list" && kind !== "many") {
    return kind === "boolean" ? typeof value === "boolean" : typeof value === "string";
  }
  if (!Array.isArray(value)) return false;
  if (kind === "many") return value.every((item) => item === null || typeof item !== "object");
  const isText = itemType(schema) === "string";
  return value.every((item) =>
    isText ? typeof item === "string" && /^[^\r\n]+$/.test(item) : typeof item === "number",
  );
}

/** The text each field begins with. */
export function toDraft(leaves: readonly Leaf[], input: Json): Draft {
  return Object.fromEntries(leaves.map((leaf) => [leaf.name, toText(leaf, valueAt(input, leaf.path))]));
}

/** The value at a path; undefined where there is none. */
export function valueAt(input: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = input;
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** The input with another value at a path, or none. */
export function withValue(input: Json, [key, ...rest]: readonly string[], value: Json | undefined): Json {
  const record = isRecord(input) ? input : {};
  if (key === undefined) return value ?? record;
  const next = rest.length === 0 ? value : withValue(valueAt(record, [key]) ?? {}, rest, value);
  const entries = new Map<string, Json>(Object.entries(record));
  if (next === undefined) entries.delete(key);
  else entries.set(key, next);
  return Object.fromEntries(entries);
}

function toText(field: Field, value: Json | undefined): string {
  if (field.kind === "boolean") return String(value ?? false);
  if (value === undefined || (value === null && field.kind !== "json" && field.kind !== "choice")) return "";
  if (field.kind === "json") return JSON.stringify(value, null, 2);
  if (field.kind === "list" && Array.isArray(value)) return value.join("\n");
  return typeof value === "string" && field.kind !== "choice" ? value : JSON.stringify(value);
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
