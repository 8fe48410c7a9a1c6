import { sha256 } from "@noble/hashes/sha2.js";
import canonicalize from "canonicalize";
import { ToolRunError } from "../errors.ts";
import type { Json } from "./values.ts";

const ALPHABET = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", (letter) =>
  letter.charCodeAt(0),
);
const encoder = new TextEncoder();

/**
 * JSON in the one form of RFC 8785, so that equal values have equal text.
 * @throws `invalid-input` for what JSON cannot carry: NaN, a cycle, a lone surrogate.
 */
export function canonicalJson(value: unknown): string {
  try {
    return canonicalize(value) ?? "null";
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "not plain JSON";
    throw new ToolRunError("invalid-input", `The value is not plain JSON: ${why}.`, { cause });
  }
}

/** SHA-256 of a text, as 43 base64url characters. Synchronous, so that it never splits a step of the loop. */
export function hashText(text: string): string {
  return toBase64Url(sha256(encoder.encode(text)));
}

/** What a digest covers: tool name, its definition, the validated input and a server-only salt. */
export interface Digested {
  readonly tool: string;
  readonly toolHash: string;
  readonly input: Json;
  readonly salt: string;
  /** The input as canonical JSON, where the caller has it already. */
  readonly canonical?: string | undefined;
}

/** Identifies exactly one call as shown: other input, other tool or another call gives another digest. */
export function digestCall({ tool, toolHash, input, salt, canonical = canonicalJson(input) }: Digested): string {
  const [name, hash, grain] = [tool, toolHash, salt].map((text) => JSON.stringify(text));
  return hashText(`[${name},${hash},${canonical},${grain}]`); // canonical JSON of [tool, toolHash, input, salt]
}

/** Bytes as base64url without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  const codes: number[] = [];
  for (let index = 0; index < bytes.length; index += 3) {
    const group = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    for (const shift of [18, 12, 6, 0]) codes.push(ALPHABET[(group >> shift) & 63] ?? 0);
  }
  return String.fromCharCode(...codes.slice(0, Math.ceil((bytes.length * 4) / 3)));
}
