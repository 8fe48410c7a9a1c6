import type { StoredEvent } from "../store/thread-store.ts";

/** Between the fields of a record, between records, and between the events of one append. */
export const FIELD = "\u001e";
export const RECORD = "\u001d";
export const EVENT = "\u001f";
const ESCAPE = "\u0010";

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that PostgreSQL or we cannot keep
const UNSAFE = /[\0\u0010\u001d-\u001f\ud800-\udfff]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own escape
const ESCAPED = /\u0010([0-9a-f]{4})/g;

/**
 * Any string as text that PostgreSQL keeps byte for byte: it has no U+0000, and half of a surrogate pair is no
 * UTF-8. Those, our three separators and the escape itself become the escape and four hex digits. JSON has none
 * of them unescaped, so what toolrun writes is stored as it is and can be read in `psql`; `bytea` would have
 * doubled it on the wire and come back as another type from every driver.
 */
export function encodeText(text: string): string {
  return text.replace(UNSAFE, (unit) => ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function decodeText(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replace(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The events of one append as one text: a row each time, not a row each event. */
export function encodeEvents(events: readonly Pick<StoredEvent, "control" | "data">[]): string {
  return events.map(({ control, data }) => (control ? "!" : "~") + encodeText(data)).join(EVENT);
}

/** The events of one append that come after a cursor. `last` is the seq of its last event. */
export function decodeEvents(last: number, batch: string, text: string, after: number): readonly StoredEvent[] {
  const parts = text.split(EVENT);
  const first = last - parts.length + 1;
  return parts.slice(Math.max(0, after + 1 - first)).map((part, index) => ({
    seq: Math.max(first, after + 1) + index,
    batch,
    control: part.startsWith("!"),
    data: decodeText(part.slice(1)),
  }));
}
