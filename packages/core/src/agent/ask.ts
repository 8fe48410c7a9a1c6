import { wellFormed } from "../protocol/copy-json.ts";
import { canonicalJson, hashText } from "../protocol/digest.ts";
import type { Json } from "../protocol/values.ts";
import type { StandardSchema } from "./schema.ts";
import { jsonSchemaOf } from "./schema.ts";

/** What a tool asks of a person. */
export interface AskPerson {
  /** The question, or what the page at `url` is for. */
  readonly prompt: string;
  /** What an answer must be. Plain JSON; any text without it. */
  readonly schema?: StandardSchema | undefined;
  /** A page to visit first, such as a sign-in: secrets belong there, never into an answer. */
  readonly url?: string | undefined;
  /** The question closes after this time. Default: never. */
  readonly expiresInMs?: number | undefined;
}

/** A question as a tool returns it. */
export interface AskRequest {
  readonly kind: "question" | "link";
  readonly prompt: string;
  readonly schema?: Json | undefined;
  readonly url?: string | undefined;
  readonly expiresInMs?: number | undefined;
}

/** What the log keeps of a question's text. */
const MAX_PROMPT_CHARS = 2_000;

/** A question's text as it is kept, shown and told apart. */
export function promptText(prompt: unknown): string {
  return wellFormed(String(prompt).slice(0, MAX_PROMPT_CHARS));
}

/** Tells questions of one call apart, whichever came first. A link's address is new each time, so it does not count. */
export function questionKey({ kind, prompt, schema }: AskRequest): string {
  return hashText(canonicalJson([kind, promptText(prompt), schema ?? null])).slice(0, KEY_CHARS);
}

const KEY_CHARS = 22;

const ASK = Symbol.for("toolrun.ask");

/**
 * Return it from `execute` when a person is needed: `return ask({ prompt: "Connect your bank.", url: "/connect" })`.
 * The run waits, hours if need be; the answer starts the tool again from its beginning, with `context.answer`, or
 * `context.answerTo(question)` where a tool has several questions.
 * So ask before any side effect. The same question again, after its answer, fails the call.
 * @throws `invalid-config` for a schema that is not plain JSON.
 */
export function ask(question: AskPerson): never {
  // Typed as never, so that the tool's output type is that of its results alone.
  return { [ASK]: askRequest(question) } as never;
}

/** @throws `invalid-config` for a schema that is not plain JSON. */
export function askRequest({ prompt, schema, url, expiresInMs }: AskPerson): AskRequest {
  return {
    kind: url === undefined ? "question" : "link",
    prompt,
    schema: schema && jsonSchemaOf(schema, "ask's schema", "output"),
    url,
    expiresInMs,
  };
}

/** The question in what a tool returned, of any copy of this package. */
export function askedIn(returned: unknown): AskRequest | undefined {
  try {
    if (typeof returned !== "object" || returned === null || !Object.hasOwn(returned, ASK)) return undefined;
    return (returned as { readonly [ASK]: AskRequest })[ASK]; // made by `ask`
  } catch {
    return undefined; // an object that lets nobody look into it
  }
}
