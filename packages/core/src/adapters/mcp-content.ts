import { visibleText } from "../model/without-invisible.ts";
import type { Json } from "../protocol/values.ts";

/** A piece of an MCP result as a step keeps and shows it. */
export type McpPart =
  | { readonly type: "text"; readonly text: string; readonly name?: string | undefined }
  /** `url` is a data URL. */
  | { readonly type: "file"; readonly mediaType: string; readonly url: string; readonly name?: string | undefined }
  /** Something to be read elsewhere. */
  | { readonly type: "link"; readonly url: string; readonly title?: string | undefined };

/** What a call gave: a text, the server's structured content, or its parts where there are files or links among them. */
export type McpOutput =
  | string
  | { readonly [field: string]: Json }
  | { readonly parts: readonly McpPart[]; readonly structuredContent?: Json | undefined };

/** As much of a file as a message may carry; all files of a result together. */
const MAX_FILE_CHARS = 256 * 1024;
const MAX_PARTS = 500;
const MAX_ERROR_CHARS = 2_000;
const NO_TYPE = "application/octet-stream";

type Fields = Readonly<Record<string, unknown>>;

/** The result of `tools/call` as a step's output. */
export function outputOf({ content, structuredContent }: Fields): McpOutput {
  const parts = partsOf(content);
  const structured = isFields(structuredContent) ? (structuredContent as { [field: string]: Json }) : undefined; // came as JSON
  const isPlain = parts.every((part) => part.type === "text" && part.name === undefined);
  if (!isPlain) return { parts, structuredContent: structured };
  // What has parts is read as ours, and only ours were looked at.
  if (structured && Object.hasOwn(structured, "parts")) return { parts, structuredContent: structured };
  // The text beside structured content says the same once more, for clients that do not know it.
  return structured ?? parts.map((part) => (part.type === "text" ? part.text : "")).join("\n\n");
}

/** What the model reads of it: files by what they are, because a tool's result is text to it. */
export function toModel(output: McpOutput): Json {
  if (typeof output === "string" || !Array.isArray(output.parts)) return output as Json; // plain
  const parts = (output.parts as readonly McpPart[]).map((part): Json => {
    if (part.type !== "file") return { ...part } as Json; // what is undefined is left out as JSON
    const file = `[${part.mediaType}, about ${sizeOf(part.url.length)}; the person sees it]`;
    return part.name === undefined ? file : { name: part.name, file };
  });
  return { parts, structuredContent: output.structuredContent } as Json; // as above
}

const LINE_END = /\r\n|[\r\n\u2028\u2029]/;

/** Where a stack begins, in the forms of the languages that servers are mostly written in. */
const STACK =
  /^\s*(?:at\s|#\d+\s|File ".*", line \d+|Traceback \(|goroutine \d+|from \S+:\d+:in)|\sat \S+ ?\([^)]*:\d+|@\w+:\/\/\S+:\d+|\\n\s*at\s/;

/** A server's own words about what went wrong, up to where a stack begins: that is nobody's business but its own. */
export function errorTextOf({ content }: Fields): string {
  const texts = partsOf(content).flatMap((part) => (part.type === "text" ? [part.text] : []));
  const lines = texts
    .join("\n")
    .slice(0, 10 * MAX_ERROR_CHARS)
    .split(LINE_END);
  const stack = lines.findIndex((line) => STACK.test(line));
  const text = (stack < 0 ? lines : lines.slice(0, stack)).join("\n");
  return visibleText(text).trim().slice(0, MAX_ERROR_CHARS) || "The tool server said that it failed, and not why.";
}

function partsOf(content: unknown): readonly McpPart[] {
  if (!Array.isArray(content)) return [];
  const room = { left: MAX_FILE_CHARS };
  const parts = content.slice(0, MAX_PARTS).flatMap((item) => (isFields(item) ? partOf(item, room) : []));
  const more = content.length - MAX_PARTS;
  return more > 0 ? [...parts, { type: "text", text: `[${more} more parts were left out]` }] : parts;
}

function partOf(item: Fields, room: { left: number }): McpPart[] {
  switch (item.type) {
    case "text":
      return [{ type: "text", text: textIn(item.text) }];
    case "image":
    case "audio":
      return [fileOf(item.data, item.mimeType, undefined, room)];
    case "resource_link":
      return [{ type: "link", url: textIn(item.uri), title: textIn(item.title ?? item.name) }];
    case "resource": {
      if (!isFields(item.resource)) return [];
      const { uri, text, blob, mimeType } = item.resource;
      if (typeof text === "string") return [{ type: "text", text, name: textIn(uri) }];
      return [fileOf(blob, mimeType, textIn(uri), room)];
    }
    default:
      return [{ type: "text", text: "[a part of a kind that is not known]" }];
  }
}

function fileOf(base64: unknown, type: unknown, name: string | undefined, room: { left: number }): McpPart {
  const data = textIn(base64);
  const mediaType = typeof type === "string" && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : NO_TYPE;
  if (data.length > room.left) {
    return { type: "text", text: `[${mediaType}, about ${sizeOf(data.length)}: too large to be kept]`, name };
  }
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data)) return { type: "text", text: `[${mediaType}: could not be read]`, name };
  room.left -= data.length;
  return { type: "file", mediaType, url: `data:${mediaType};base64,${data}`, name };
}

function sizeOf(base64Chars: number): string {
  const kilobytes = Math.ceil((base64Chars * 3) / 4 / 1024);
  return kilobytes < 1024 ? `${kilobytes} KB` : `${Math.ceil(kilobytes / 1024)} MB`;
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
