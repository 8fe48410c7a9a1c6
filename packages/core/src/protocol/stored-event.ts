import { ToolRunError } from "../errors.ts";
import type { ThreadEvent } from "./event.ts";

/** An event as the opaque text a store keeps: without its seq, which the store gives, and without undefined fields. */
export function serialiseEvent(event: ThreadEvent | Omit<ThreadEvent, "seq">): string {
  const { seq: _, ...kept } = event as ThreadEvent; // where there is no seq, there is none to leave out
  return JSON.stringify(kept);
}

/**
 * Reads what serialiseEvent wrote. Trusted and cheap: the store's data was checked when it was written,
 * so only the envelope is looked at; kinds this code does not know pass through.
 * @throws `internal` when the text is no event: the store damaged it, or something else wrote it.
 */
export function parseEvent(text: string, seq: number): ThreadEvent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ToolRunError("internal", `Event ${seq} in the store is not JSON.`, { cause });
  }
  if (!isEnvelope(value)) throw new ToolRunError("internal", `Event ${seq} in the store has no envelope.`);
  value.seq = seq;
  return value as unknown as ThreadEvent; // written by serialiseEvent; the reducer passes unknown kinds
}

function isEnvelope(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    "at" in value &&
    typeof value.at === "number" &&
    "v" in value &&
    typeof value.v === "number"
  );
}
