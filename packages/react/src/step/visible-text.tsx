import { Fragment, type ReactNode } from "react";
import type { Json } from "toolrun";

/** Code points that are drawn as nothing or turn the text around them; sorted pairs, both ends included. */
const hiddenRanges: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff], // a surrogate without its other half
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xe0000, 0xe0fff],
];

const pictograph = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F/u;

interface Segment {
  readonly text: string;
  readonly hidden: boolean;
}

/** Cuts a text where characters are that nobody would see. Joiners inside an emoji are part of what one sees. */
function segment(text: string): readonly Segment[] {
  const segments: Segment[] = [];
  const points = [...text];
  let plain = "";
  for (const [index, point] of points.entries()) {
    const code = point.codePointAt(0) ?? 0;
    if (!isHidden(code) || isPartOfEmoji(code, points[index - 1], points[index + 1])) {
      plain += point;
      continue;
    }
    if (plain) segments.push({ text: plain, hidden: false });
    plain = "";
    segments.push({ text: `U+${code.toString(16).toUpperCase().padStart(4, "0")}`, hidden: true });
  }
  if (plain) segments.push({ text: plain, hidden: false });
  return segments;
}

function isHidden(code: number): boolean {
  if (code >= 0x20 && code < 0x7f) return false;
  return hiddenRanges.some(([first, last]) => code >= first && code <= last);
}

function isPartOfEmoji(code: number, before: string | undefined, after: string | undefined): boolean {
  if (code === 0xfe0f) return before !== undefined && /\p{Emoji}/u.test(before);
  if (code !== 0x200d) return false;
  return before !== undefined && after !== undefined && pictograph.test(before) && pictograph.test(after);
}

/** How many hidden characters a value holds, names of its keys included. */
export function countHidden(value: Json): number {
  if (typeof value === "string") return segment(value).filter((part) => part.hidden).length;
  if (value === null || typeof value !== "object") return 0;
  const parts = Array.isArray(value) ? value : [...Object.keys(value), ...Object.values(value)];
  return parts.reduce<number>((sum, part) => sum + countHidden(part), 0);
}

/** A text as it is, never Markdown, with every hidden character as a code one can see. */
export function VisibleText({ text }: { readonly text: string }): ReactNode {
  const segments = segment(text);
  if (segments.every((part) => !part.hidden)) return text;
  return segments.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: cuts of one text have no identity but their place.
    <Fragment key={index}>{part.hidden ? <code className="tr-hidden">{part.text}</code> : part.text}</Fragment>
  ));
}
