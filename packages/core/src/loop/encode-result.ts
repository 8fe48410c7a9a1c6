import { wellFormed } from "../protocol/copy-json.ts";
import type { Json } from "../protocol/values.ts";

/** At most this much of a tool's output is kept; the rest is cut, and says so. */
export const MAX_OUTPUT_CHARS: number = 512 * 1024;

/** Deeper values are cut off: events take no deeper JSON. */
const MAX_DEPTH = 100;
/** Looked at beyond what is kept, to say how much is missing. A list may claim a billion items. */
const LOOK_AHEAD = 8;
/** Larger binary data is told by its size: whoever wants to show it returns a URL. */
const MAX_BYTES = 4_096;

const UNREADABLE = "[could not be read]";

/**
 * Any value as JSON: total, so that a tool can return what it likes and the run goes on. What JSON knows is what
 * `JSON.stringify` makes of it; maps, sets, errors and binary data become readable; the rest is told by its kind.
 */
export function encodeResult(value: unknown, maxChars: number = MAX_OUTPUT_CHARS): Json {
  return encodeSized(value, maxChars).json;
}

/** The same with the size of its JSON text, for whoever gives less of it on. */
export function encodeSized(
  value: unknown,
  maxChars: number = MAX_OUTPUT_CHARS,
): { readonly json: Json; readonly chars: number } {
  const walk: Walk = { left: LOOK_AHEAD * maxChars, above: [] };
  try {
    const made = toJson(value, walk) ?? null;
    if (made === UNREADABLE && value !== made) return UNREAD;
    const text = JSON.stringify(made);
    const whole = text.includes("\\ud") ? text.replace(HALF_CHARACTER, "$1\uFFFD") : text;
    if (walk.left >= 0 && text.length <= maxChars) {
      return { json: whole === text ? made : (JSON.parse(whole) as Json), chars: text.length }; // of JSON.stringify
    }
    const json =
      typeof value === "string"
        ? cut(value, maxChars, false)
        : cut(typeof made === "string" ? made : whole, maxChars, walk.left < 0);
    return { json, chars: json.length };
  } catch {
    return UNREAD;
  }
}

const UNREAD = { json: "[This result could not be read.]", chars: 33 } as const;

/** JSON.stringify escapes half characters, and only those: whoever reads the history later must not fail on them. */
const HALF_CHARACTER = /(?<!\\)((?:\\\\)*)\\ud[0-9a-f]{3}/g;

/** As much of a text as takes at most `maxChars` as JSON. */
function cut(text: string, maxChars: number, hasMore: boolean): string {
  let kept = Math.min(text.length, maxChars);
  let size = sizeOf(text, kept);
  while (size > maxChars) {
    kept = Math.floor((kept * maxChars) / size);
    size = sizeOf(text, kept);
  }
  const more = `${hasMore ? "more than " : ""}${text.length - kept} more characters`;
  return `${wellFormed(text.slice(0, kept))}… [cut: ${more}]`;
}

function sizeOf(text: string, chars: number): number {
  return JSON.stringify(text.slice(0, chars)).length - 2;
}

interface Walk {
  /** Characters of JSON text that are still looked at; below zero, the rest of the value was not. */
  left: number;
  /** The objects around the one that is being read. */
  readonly above: object[];
}

/** A copy that is plain JSON; undefined for what JSON leaves out. What it takes off `left` is at most its text. */
function toJson(value: unknown, walk: Walk): Json | undefined {
  switch (typeof value) {
    case "string": {
      const seen = value.length > walk.left ? value.slice(0, Math.max(walk.left, 0)) : value;
      walk.left -= value.length + 2;
      return seen;
    }
    case "number":
      walk.left -= 1;
      return Number.isFinite(value) ? value + 0 : null; // no store keeps -0
    case "boolean":
      walk.left -= 4;
      return value;
    case "bigint":
      return toJson(value.toString(), walk);
    case "object":
      if (value !== null) return objectToJson(value, walk);
      walk.left -= 4;
      return null;
    default:
      return undefined;
  }
}

function objectToJson(value: object, walk: Walk): Json | undefined {
  const { above } = walk;
  const depth = above.length;
  try {
    const given = replaced(value);
    if (typeof given !== "object" || given === null) return toJson(given, walk);
    if (above.includes(given)) return toJson("[circular]", walk);
    if (depth >= MAX_DEPTH) return toJson("[nested too deep]", walk);
    above.push(given);
    walk.left -= 2;
    return Array.isArray(given) ? listToJson(given, walk) : fieldsToJson(given, walk);
  } catch {
    return UNREADABLE;
  } finally {
    above.length = depth;
  }
}

/** What an object says it is as JSON; binary data says it badly. */
function replaced(value: object): unknown {
  if (isBinary(value) || !("toJSON" in value) || typeof value.toJSON !== "function") return value;
  return value.toJSON("");
}

function listToJson(list: ArrayLike<unknown>, walk: Walk): Json[] {
  const made: Json[] = [];
  for (let index = 0; index < list.length && walk.left >= 0; index++) {
    made.push(itemOf(toJson(read(list, index), walk), walk));
  }
  return made;
}

/** In a list, null stands for a hole, a function or a symbol. */
function itemOf(value: Json | undefined, walk: Walk): Json {
  if (value !== undefined) return value;
  walk.left -= 4;
  return null;
}

function fieldsToJson(value: object, walk: Walk): Json | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    if (isBinary(value)) return binaryToJson(value, walk);
    if (value instanceof Map) return mapToJson(value, walk);
    if (value instanceof Set) return takeFrom(Set.prototype.values.call(value), walk);
    if (value instanceof Error) return pick(value, ["name", "message", "code"], walk); // others may hold a request with its secrets
    if (value instanceof RegExp) return toJson(String(value), walk);
    if (isBoxed(value)) return toJson(value.valueOf(), walk);
  }
  const names = Object.keys(value);
  const kind = names.length > 0 ? "Object" : Object.prototype.toString.call(value).slice(8, -1);
  return kind === "Object" ? pick(value, names, walk) : toJson(`[${kind}]`, walk); // such as [Response], [Promise]
}

function pick(value: object, names: readonly string[], walk: Walk): Json {
  const made: Record<string, Json> = {};
  for (const name of names) {
    if (walk.left < 0) break;
    add(made, name, toJson(read(value, name), walk), walk);
  }
  return made;
}

function add(made: Record<string, Json>, name: string, value: Json | undefined, walk: Walk): void {
  if (value === undefined) return;
  walk.left -= name.length + 3;
  if (name !== "__proto__") made[name] = value;
  else Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true });
}

function read(value: object, name: string | number): unknown {
  try {
    return (value as Record<string | number, unknown>)[name]; // any object can be asked for any name
  } catch {
    return UNREADABLE;
  }
}

function mapToJson(map: Map<unknown, unknown>, walk: Walk): Json {
  const names = [...Map.prototype.keys.call(map)];
  if (!names.every((name) => typeof name === "string")) return takeFrom(Map.prototype.entries.call(map), walk);
  const made: Record<string, Json> = {};
  for (const name of names) {
    if (walk.left < 0) break;
    add(made, name, toJson(Map.prototype.get.call(map, name), walk), walk);
  }
  return made;
}

function takeFrom(items: Iterable<unknown>, walk: Walk): Json[] {
  const made: Json[] = [];
  for (const item of items) {
    if (walk.left < 0) break;
    made.push(itemOf(toJson(item, walk), walk));
  }
  return made;
}

function isBinary(value: object): value is ArrayBuffer | ArrayBufferView {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

/** Lists of numbers as lists, bytes as their number and, if they are few, in base64. */
function binaryToJson(value: ArrayBuffer | ArrayBufferView, walk: Walk): Json | undefined {
  const isBytes = !ArrayBuffer.isView(value) || value instanceof DataView || value instanceof Uint8Array;
  if (!isBytes) return listToJson(value as Uint16Array, walk); // every other view is a list of numbers
  const bytes = ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
  if (bytes.length > MAX_BYTES) return pick({ bytes: bytes.length }, ["bytes"], walk);
  return pick({ bytes: bytes.length, base64: btoa(String.fromCharCode(...bytes)) }, ["bytes", "base64"], walk);
}

function isBoxed(value: object): boolean {
  return value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt;
}
