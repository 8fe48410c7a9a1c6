import type { Append, StoredEvent } from "../store/thread-store.ts";

const UNSAFE = /[^A-Za-z0-9_\-.!~*'():@+]/gu;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Any text as a part of a key or an index: plain ASCII without braces, slashes and spaces; two texts are never one. */
export function toName(text: string): string {
  return text.replace(UNSAFE, (char) =>
    LONE_SURROGATE.test(char) ? `%u${char.charCodeAt(0).toString(16)}` : encodeURIComponent(char),
  );
}

/** The text that toName got. */
export function fromName(name: string): string {
  if (!name.includes("%")) return name;
  return name.replace(/%u([0-9a-f]{4})|(?:%[0-9A-F]{2})+/g, (escaped: string, lone: string | undefined) =>
    lone === undefined ? decodeURIComponent(escaped) : String.fromCharCode(Number.parseInt(lone, 16)),
  );
}

/**
 * Text that survives UTF-8 on its way: half characters would not. The character in front also keeps a byte order
 * mark from being the first one, which a decoder may swallow.
 */
export function toWire(text: string): string {
  return LONE_SURROGATE.test(text) ? `%${toName(text)}` : `=${text}`;
}

/** The text that toWire got. */
export function fromWire(text: string): string {
  return text.startsWith("%") ? fromName(text.slice(1)) : text.slice(1);
}

/**
 * A batch's events as one text: for each a `c` (control) or `~` with the length of its data, then all data. The last
 * one's length goes without saying. `c12~400~` and a line break stand before the data of three.
 */
export function toEntry(events: Append["events"]): string {
  const isWhole = events.every(({ data }) => !LONE_SURROGATE.test(data));
  const texts = isWhole ? events.map(({ data }) => data) : events.map(({ data }) => toName(data));
  const last = events.length - 1;
  const head = events.map(({ control }, index) => (control ? "c" : "~") + (index < last ? texts[index]?.length : ""));
  return `${isWhole ? "" : "%"}${head.join("")}\n${texts.join("")}`;
}

/** The events of an entry, given the seq of the last one. */
export function fromEntry(batch: string, entry: string, lastSeq: number): StoredEvent[] {
  let at = entry.indexOf("\n") + 1;
  const isWhole = !entry.startsWith("%");
  const heads = [...entry.slice(isWhole ? 0 : 1, at - 1).matchAll(/([c~])(\d*)/g)];
  const name = fromName(batch);
  return heads.map(([, kind, length], index) => {
    const end = length ? at + Number(length) : entry.length;
    const data = entry.slice(at, end);
    at = end;
    const seq = lastSeq - heads.length + 1 + index;
    return { seq, batch: name, control: kind === "c", data: isWhole ? data : fromName(data) };
  });
}

const bits: DataView = new DataView(new ArrayBuffer(8));

/** A number as 16 hex digits that sort as numbers do, or the other way round. */
export function toSortable(value: number, order: "rising" | "falling" = "rising"): string {
  bits.setFloat64(0, value);
  const isNegative = bits.getUint32(0) >= 0x8000_0000;
  // Of a negative number all bits turn, of another the sign: then bits sort as numbers do.
  const masks = isNegative ? [0xffff_ffff, 0xffff_ffff] : [0x8000_0000, 0];
  const turned = masks.map((mask, index) => bits.getUint32(index * 4) ^ mask ^ (order === "falling" ? 0xffff_ffff : 0));
  return turned.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
