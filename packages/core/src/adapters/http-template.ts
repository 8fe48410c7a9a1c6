import { DefiniteFailure } from "../agent/tool.ts";
import { ToolRunError } from "../errors.ts";
import type { Json } from "../protocol/values.ts";

type Input = Readonly<Record<string, Json>>;

/** An address with places for parts of the input. */
export interface UrlTemplate {
  readonly origin: string;
  /** Fields of the input that have a place in it. */
  readonly fields: readonly string[];
  /** @throws DefiniteFailure for a value that would lead somewhere else */
  fill(input: Input): URL;
}

const PLACE = /\{([^{}]*)\}/g;

/**
 * Reads `https://api.example/orders/{id}?part={part}`. Places stand behind the host only: who is asked is never the
 * model's choice.
 * @throws `invalid-config` for what is no such address
 */
export function urlTemplate(template: string): UrlTemplate {
  const [, origin = "", rest = ""] = /^(https?:\/\/[^/?#{}\\]+)([^#]*)$/i.exec(template) ?? [];
  const fields = [...rest.matchAll(PLACE)].map(([, name = ""]) => name);
  const sample = rest.replace(PLACE, "x");
  if (!URL.canParse(origin + sample) || /[{}]/.test(sample) || fields.includes("")) throw wrong(template);
  const [path = "", query] = rest.split(/\?(.*)/s);
  const parsed = new URL(origin + sample);
  const written = sample.split("?", 1)[0] || "/";
  if (parsed.pathname !== written || parsed.username || parsed.password) throw wrong(template);
  return {
    origin: parsed.origin,
    fields,
    fill(input) {
      const filledPath = path.replace(PLACE, (_, name: string) => segment(name, input[name]));
      const filledQuery = query?.replace(PLACE, (_, name: string) => encoded(name, input[name]));
      const url = new URL(parsed.origin + (filledPath || "/") + (filledQuery === undefined ? "" : `?${filledQuery}`));
      // What the parser made of it is what was written: no dots that climb, no other host.
      const isKept = url.origin === parsed.origin && url.pathname === (filledPath || "/");
      if (!isKept || climbs(filledPath)) throw misfit("a value");
      return url;
    },
  };
}

/** True for a path with a way up in it, also to a service that decodes it a second time or drops what follows a `;`. */
function climbs(path: string): boolean {
  return decoded(path)
    .split(/[/\\]/)
    .some((part) => /^\.\.?(?:;|$)/.test(part));
}

/** Nothing is no part of a path. */
function segment(name: string, value: Json | undefined): string {
  const text = encoded(name, value);
  if (text === "") throw misfit(JSON.stringify(name));
  return text;
}

function encoded(name: string, value: Json | undefined): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw misfit(JSON.stringify(name));
  }
  try {
    return encodeURIComponent(value);
  } catch {
    throw misfit(JSON.stringify(name)); // half a character
  }
}

/** Only what a way up is made of, and as often as it is there: `%252e%252e` is `..` to whoever decodes twice. */
function decoded(text: string): string {
  const next = text
    .replace(/%25/g, "%")
    .replace(/%2e/gi, ".")
    .replace(/%2f/gi, "/")
    .replace(/%5c/gi, "\\")
    .replace(/%3b/gi, ";");
  return next === text ? text : decoded(next);
}

function misfit(what: string): DefiniteFailure {
  return new DefiniteFailure(`The request was not sent: ${what} does not fit into the address.`, { retry: false });
}

function wrong(template: string): ToolRunError {
  return new ToolRunError(
    "invalid-config",
    `url must be a whole, encoded address with places behind its host, such as "https://api.example/orders/{id}"; it is ${JSON.stringify(template)}.`,
  );
}
