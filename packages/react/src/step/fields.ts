import type { Json } from "toolrun";
import type { Strings } from "../strings.ts";
import { isRecord } from "./value-view.tsx";

/** One value of an input, as a form shows it. What no simple field can hold is edited as JSON. */
export interface Field {
  readonly name: string;
  readonly title: string;
  readonly kind: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "json";
  readonly help?: string | undefined;
  readonly required: boolean;
  /** An empty field means null. */
  readonly nullable: boolean;
  readonly locked: boolean;
  readonly choices: readonly Json[];
  readonly schema: { readonly [key: string]: Json };
}

/** What was typed, by name of field: always text, so that "1." stays "1." while a person types. */
export type Draft = Readonly<Record<string, string>>;

export type FieldValue = { readonly value: Json } | { readonly omit: true } | { readonly error: string };

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
  const choices = choicesOf(schema);
  const kind = kindOf(schema, choices, required);
  const title = text(outer.title) ?? text(schema.title) ?? titleOfKey(name);
  const help = text(outer.description) ?? text(schema.description);
  const base = { name, title, help, required, nullable, locked, schema };
  // A value its own schema would not hold is safe as JSON only.
  if (!fits(kind, value)) return { ...base, kind: "json", nullable: false, choices: [] };
  return { ...base, kind, choices: kind === "boolean" || kind !== "choice" ? [] : (choices ?? [true, false]) };
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

function choicesOf(schema: Schema): readonly Json[] | undefined {
  const options = schema.anyOf ?? schema.oneOf;
  const values = Array.isArray(schema.enum)
    ? schema.enum
    : Array.isArray(options) && options.every((option) => isRecord(option) && "const" in option)
      ? options.map((option) => (isRecord(option) ? (option.const ?? null) : null))
      : undefined;
  if (!values?.every((value) => value === null || typeof value !== "object")) return undefined;
  return values.filter((value, index) => values.indexOf(value) === index);
}

function kindOf(schema: Schema, choices: readonly Json[] | undefined, required: boolean): Field["kind"] {
  if (choices && choices.length > 0) return "choice";
  if (schema.type === "boolean") return required || "default" in schema ? "boolean" : "choice";
  if (schema.type === "number" || schema.type === "integer") return schema.type;
  if (schema.type !== "string") return "json";
  const long = typeof schema.maxLength === "number" && schema.maxLength > 120 && !schema.format;
  return long ? "long" : "text";
}

function fits(kind: Field["kind"], value: Json | undefined): boolean {
  if (value === undefined || value === null || kind === "json" || kind === "choice") return true;
  if (kind === "number" || kind === "integer") return typeof value === "number";
  return kind === "boolean" ? typeof value === "boolean" : typeof value === "string";
}

/** The text a field begins with. */
export function toDraft(fields: readonly Field[], input: Json): Draft {
  const values = isRecord(input) ? input : {};
  return Object.fromEntries(fields.map((field) => [field.name, toText(field, values[field.name])]));
}

function toText(field: Field, value: Json | undefined): string {
  if (field.kind === "boolean") return String(value ?? false);
  if (value === undefined || (value === null && field.kind !== "json" && field.kind !== "choice")) return "";
  if (field.kind === "json") return JSON.stringify(value, null, 2);
  return typeof value === "string" && field.kind !== "choice" ? value : JSON.stringify(value);
}

/** What a field's text stands for, or why it stands for nothing. The server judges again. */
export function readField(field: Field, typed: string, strings: Strings): FieldValue {
  if (
    typed.trim() === "" &&
    (field.kind !== "text" && field.kind !== "long" ? true : field.nullable || !field.required)
  ) {
    if (field.nullable) return { value: null };
    return field.required ? { error: strings.missing } : { omit: true };
  }
  switch (field.kind) {
    case "text":
    case "long":
      return readText(field, typed, strings);
    case "number":
    case "integer":
      return readNumber(field, typed.trim(), strings);
    case "boolean":
    case "choice":
    case "json":
      return readJson(typed, strings);
    default:
      return field.kind satisfies never;
  }
}

function readText({ schema }: Field, typed: string, strings: Strings): FieldValue {
  const { minLength, maxLength, format } = schema;
  const length = [...typed].length;
  if (typeof minLength === "number" && length < minLength) return { error: strings.longerThan(minLength) };
  if (typeof maxLength === "number" && length > maxLength) return { error: strings.shorterThan(maxLength) };
  if (format === "email" && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(typed)) return { error: strings.invalidEmail };
  if (format === "uri" && !URL.canParse(typed)) return { error: strings.invalidUrl };
  return { value: typed };
}

function readNumber({ kind, schema }: Field, typed: string, strings: Strings): FieldValue {
  const value = Number(typed);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed) || !Number.isFinite(value)) {
    return { error: kind === "integer" ? strings.invalidInteger : strings.invalidNumber };
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return { error: strings.unsafeInteger };
  if (kind === "integer" && !Number.isInteger(value)) return { error: strings.invalidInteger };
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === "number" && value < minimum) return { error: strings.atLeast(minimum) };
  if (typeof maximum === "number" && value > maximum) return { error: strings.atMost(maximum) };
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    return { error: strings.moreThan(exclusiveMinimum) };
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    return { error: strings.lessThan(exclusiveMaximum) };
  return { value };
}

function readJson(typed: string, strings: Strings): FieldValue {
  try {
    const value = JSON.parse(typed) as Json; // JSON.parse makes nothing but Json
    return isExact(value) ? { value } : { error: strings.unsafeInteger };
  } catch {
    return { error: strings.invalidJson };
  }
}

/** False where a number was too large to be read as it was typed. */
function isExact(value: Json): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return value === null || typeof value !== "object" || Object.values(value).every(isExact);
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
