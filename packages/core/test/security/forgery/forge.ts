import type { Json } from "../../../src/protocol/values.ts";
import type { Honest } from "./honest.ts";
import { BASE } from "./server.ts";
import type { Attack, Part, Tamper, TextFault } from "./tamper.ts";

/** A request as it goes out. */
export interface Forged {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

type Fields = { [name: string]: Json };

interface Draft {
  method: string;
  thread: string;
  action: string;
  query: string;
  headers: Record<string, string>;
  body: Json | undefined;
  shown: Json | undefined;
  textFaults: (Tamper & { do: "text" })[];
}

/** An honest request, tampered with. */
export function forge(honest: readonly Honest[], { base, of, tampers }: Attack & { do: "send" }): Forged {
  const draft = draftOf(
    pick(
      honest.filter((each) => isOf(of, each)),
      base,
    ),
  );
  for (const each of tampers) apply(draft, structuredClone(each), honest); // a draft is changed in place
  const { method, thread, action, query, headers } = draft;
  const url = `${BASE}${thread && `/${thread}`}${action && `/${action}`}${query}`;
  const hasBody = draft.body !== undefined && method !== "GET" && method !== "HEAD";
  return { method, url, headers, body: hasBody ? bytesOf(draft) : undefined };
}

function isOf(of: (Attack & { do: "send" })["of"], { method, path }: Honest): boolean {
  return of === "all" || (of === "reads" ? method === "GET" : path.endsWith("/decisions"));
}

function draftOf({ method, path, query = "", user, body, shown }: Honest): Draft {
  const [, thread = "", action = ""] = path.split("/");
  const headers: Record<string, string> = { cookie: `user=${user}` };
  if (body) headers["content-type"] = "application/json";
  return { method, thread, action, query, headers, body: structuredClone(body), shown, textFaults: [] };
}

function pick<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] as Item; // of lists that are not empty
}

function apply(draft: Draft, tamper: Tamper, honest: readonly Honest[]): void {
  switch (tamper.do) {
    case "cookie":
      draft.headers.cookie = toByteString(tamper.value);
      return;
    case "method":
      draft.method = tamper.value;
      if (tamper.value === "POST") draft.body ??= {};
      return;
    case "segment":
      draft.thread = tamper.value;
      return;
    case "action":
      draft.action = tamper.value;
      return;
    case "query":
      draft.query = tamper.value;
      return;
    case "header":
      draft.headers[tamper.name] = tamper.value;
      return;
    case "text":
      draft.textFaults.push(tamper);
      return;
    case "take":
      take(draft, draftOf(pick(tamper.near ? about(draft.thread, honest) : honest, tamper.from)), tamper.part);
      return;
    case "join": {
      const [decisions, others] = [draft, draftOf(pick(honest, tamper.from))].map(decisionsOf);
      if (others) decisions?.push(...others);
      return;
    }
    case "decision":
      for (const decision of decisionsOf(draft) ?? []) put(decision, tamper.field, tamper.value);
      return;
    case "edit":
      for (const decision of decisionsOf(draft) ?? []) {
        if (!isFields(decision)) continue;
        const input = isFields(decision.input)
          ? decision.input
          : structuredClone(isFields(draft.shown) ? draft.shown : {});
        put(input, tamper.field, tamper.value);
        put(decision, "input", input);
      }
      return;
    default:
      change(draft, tamper);
  }
}

/** What is sent about one conversation; about any where there is none. */
function about(thread: string, honest: readonly Honest[]): readonly Honest[] {
  const found = honest.filter(({ path }) => path.split("/")[1] === thread);
  return found.length > 0 ? found : honest;
}

/** Another request's part in place of the draft's own. */
function take(draft: Draft, other: Draft, part: Part): void {
  if (part === "path") Object.assign(draft, { thread: other.thread, action: other.action });
  if (part === "thread") draft.thread = other.thread;
  if (part === "body") draft.body = other.body;
  const [mine, theirs] = [draft.body, other.body];
  if (!isFields(mine) || !isFields(theirs)) return;
  if (part === "key" || part === "runId" || part === "grantId" || part === "decisions") put(mine, part, theirs[part]);
  const [decision, otherDecision] = [decisionsOf(draft)?.[0], decisionsOf(other)?.[0]];
  if (!isFields(decision) || !isFields(otherDecision)) return;
  if (part === "callId" || part === "digest" || part === "input") put(decision, part, otherDecision[part]);
}

/** Something at any place of the body. */
function change(draft: Draft, tamper: Tamper & { at: number; value: Json }): void {
  const places = placesIn(draft.body);
  if (tamper.do === "add" || tamper.do === "rename") {
    const objects = [draft.body, ...places.map(({ holder, name }) => (holder as Fields)[name])].filter(isFields); // holds it
    const object = objects[tamper.at % Math.max(1, objects.length)];
    if (!object) return;
    const [name] = tamper.do === "rename" ? Object.keys(object).slice(tamper.at % 3) : [];
    put(object, tamper.name, name === undefined ? tamper.value : object[name]);
    if (name !== undefined && name !== tamper.name) delete object[name];
    return;
  }
  const place = places[tamper.at % Math.max(1, places.length)];
  if (!place) draft.body = tamper.value;
  else if (tamper.do === "delete") delete (place.holder as Fields)[place.name];
  else
    put(place.holder, place.name, tamper.do === "wrap" ? [(place.holder as Fields)[place.name] ?? null] : tamper.value);
}

/** Every place of a value where another could stand. */
function placesIn(value: Json | undefined): readonly { readonly holder: Json; readonly name: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [{ holder: value as Json, name }, ...placesIn(inner)]);
}

function decisionsOf({ body }: Draft): Json[] | undefined {
  return isFields(body) && Array.isArray(body.decisions) ? (body.decisions as Json[]) : undefined; // a draft's own copy
}

function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Also `__proto__` as a key of its own. */
function put(holder: Json, name: string, value: Json | undefined): void {
  if (typeof holder !== "object" || holder === null) return;
  if (value === undefined) delete (holder as Fields)[name];
  else Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

/** What a header can carry. */
function toByteString(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, "?");
}

const encoder = new TextEncoder();

function bytesOf({ body, textFaults }: Draft): Uint8Array {
  let text = JSON.stringify(body);
  for (const { how, at } of textFaults) text = broken(text, how, at);
  const bytes = encoder.encode(text);
  const fault = textFaults.find(({ how }) => how === "bytes");
  if (fault && bytes.length > 2) bytes[1 + (fault.at % (bytes.length - 2))] = 0xff;
  return bytes;
}

function broken(text: string, how: TextFault, at: number): string {
  const where = at % Math.max(1, text.length);
  switch (how) {
    case "twice":
      return text.replace(/"(callId|digest|action|key|input)":/, (whole, name) => `"${name}":"forged",${whole}`);
    case "first":
      return text.replace(/"(callId|digest|action|key)":("[^"]*")/, (whole, name) => `${whole},"${name}":"approve"`);
    case "cut":
      return text.slice(0, where);
    case "surrogate":
      return text.replace(/":"/, '":"\\ud800');
    case "bom":
      return `\ufeff${text}`;
    case "huge":
      return text.replace(/:(?=["\d])/, ':1e400,"x":');
    case "deep":
      return text.replace(/\}$/, `,"deep":${"[".repeat(20_000)}${"]".repeat(20_000)}}`);
    case "comma":
      return text.replace(/\}/, ",}");
    case "empty":
      return "";
    default:
      return text;
  }
}
