import type { Json } from "toolrun";
import type { Strings } from "../strings.ts";
import { type Field, itemType } from "./fields.ts";
import { isRecord } from "./value-view.tsx";

export type FieldValue = { readonly value: Json } | { readonly omit: true } | { readonly error: string };

/** What a field's text stands for, or why it stands for nothing. The server judges again. */
export function readField(field: Field, typed: string, strings: Strings): FieldValue {
  const isText = field.kind === "text" || field.kind === "long";
  if (typed.trim() === "" && (!isText || field.nullable || !field.required)) {
    if (field.nullable) return { value: null };
    if (!field.required) return { omit: true };
    return field.kind === "list" || field.kind === "many" ? { value: [] } : { error: strings.missing };
  }
  switch (field.kind) {
    case "text":
    case "long":
      return readText(field, typed, strings);
    case "number":
    case "integer":
      return readNumber(field, typed.trim(), strings);
    case "list":
      return readList(field, typed, strings);
    case "boolean":
    case "choice":
    case "many":
    case "json":
      return readJson(typed, strings);
    default:
      return field.kind satisfies never;
  }
}

function readText({ schema }: Field, typed: string, strings: Strings): FieldValue {
  const { minLength, maxLength, format } = schema;
  const length = [...typed].length;
  if (minLength === 1 && length === 0) return { error: strings.missing };
  if (typeof minLength === "number" && length < minLength) return { error: strings.longerThan(minLength) };
  if (typeof maxLength === "number" && length > maxLength) return { error: strings.shorterThan(maxLength) };
  if (format === "email" && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(typed)) return { error: strings.invalidEmail };
  if (format === "uri" && !URL.canParse(typed)) return { error: strings.invalidUrl };
  return { value: typed };
}

/** One item a line; empty lines are none. */
function readList(field: Field, typed: string, strings: Strings): FieldValue {
  const lines = typed.split(/\r?\n/).filter((line) => line.trim() !== "");
  const type = itemType(field.schema);
  const values: Json[] = [];
  for (const line of lines) {
    const schema = isRecord(field.schema.items) ? field.schema.items : {};
    const read =
      type === "string"
        ? readText({ ...field, schema }, line, strings)
        : readNumber({ ...field, kind: type ?? "number", schema }, line.trim(), strings);
    if (!("value" in read)) return read;
    values.push(read.value);
  }
  return { value: values };
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
