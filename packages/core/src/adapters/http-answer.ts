import { DefiniteFailure } from "../agent/tool.ts";
import { quoteInexact } from "../model/exact-json.ts";
import type { Json } from "../protocol/values.ts";

const JSON_TYPE = /^application\/(.*\+)?json$/;
const TEXT_TYPE = /^(text\/.*|application\/(.*\+)?(xml|yaml|x-www-form-urlencoded|x-ndjson))$/;

/**
 * What an answer says: JSON as a value, text as text, nothing as null.
 * @throws for more than `maxBytes`, for JSON that is none, for what is neither JSON nor text
 */
export async function readAnswer(response: Response, maxBytes: number): Promise<Json> {
  const type = (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const text = await readText(response, maxBytes, type === "" || JSON_TYPE.test(type) || TEXT_TYPE.test(type));
  if (text === "") return null;
  if (text === undefined) throw final(`The answer is ${type.slice(0, 100)}, which is neither JSON nor text.`);
  if (!JSON_TYPE.test(type)) return text;
  try {
    return JSON.parse(quoteInexact(text)); // an id with more digits than a number holds stays what it is
  } catch {
    throw final("The answer says that it is JSON, and is none.");
  }
}

/** Undefined for something that is there and is no text. */
async function readText(response: Response, maxBytes: number, isText: boolean): Promise<string | undefined> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > maxBytes) throw final(`The answer is longer than ${maxBytes} bytes.`);
      if (!isText && bytes > 0) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function final(message: string): DefiniteFailure {
  return new DefiniteFailure(message, { retry: false });
}
