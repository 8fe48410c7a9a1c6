import type { Tool } from "../agent/agent.ts";
import type { SchemaOutput, StandardSchema } from "../agent/schema.ts";
import type { ToolOptions } from "../agent/tool.ts";
import { tool } from "../agent/tool.ts";
import type { ToolContext } from "../agent/tool-context.ts";
import { ToolRunError } from "../errors.ts";
import type { TypedTool } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import type { Reach } from "./http-address.ts";
import { readAnswer } from "./http-answer.ts";
import { inOurWords, statusError } from "./http-failure.ts";
import { follow, isReading } from "./http-follow.ts";
import type { HttpHeaders } from "./http-headers.ts";
import { headersFor, headersOf } from "./http-headers.ts";
import { urlTemplate } from "./http-template.ts";
import type { HttpRequest, Transport } from "./http-transport.ts";
import { findTransport } from "./http-transport.ts";

export type HttpMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** An answer of 200 to 299. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** JSON as a value, text as text, null where there is nothing. */
  readonly body: Json;
}

/** What a developer writes for a tool that is one HTTP request. */
export interface HttpToolOptions<Schema extends StandardSchema, Output>
  extends Omit<ToolOptions<Schema, Output>, "execute" | "readOnly"> {
  readonly method: HttpMethod;
  /**
   * A whole address, https as a rule. `{field}` in its path or query takes a field of
   * the input, encoded. The fields that are left go into the query of GET, HEAD and DELETE, else into a JSON body.
   */
  readonly url: string;
  /** True: it changes nothing, so it runs without asking. Never guessed from the method. */
  readonly readOnly: boolean;
  /**
   * Sent to the address itself, never to another origin it redirects to, and never in an event. A function gets the
   * user. Whatever is not GET or HEAD has an `Idempotency-Key` besides.
   */
  readonly headers?: HttpHeaders<SchemaOutput<Schema>> | undefined;
  /** Fields that go into the query although the method has a body. */
  readonly query?: readonly string[] | undefined;
  /** In place of the fields that are left: any JSON value, or undefined for no body. */
  readonly body?: ((input: SchemaOutput<Schema>) => unknown) | undefined;
  /** What the tool gives of a good answer. @defaultValue its body */
  readonly result?: ((answer: HttpAnswer) => Output | Promise<Output>) | undefined;
  /** The model reads the first 1,000 characters of an answer that is an error, beside its status. @defaultValue false */
  readonly showErrors?: boolean | undefined;
  /** When given, redirects lead to these hosts only; `host:port` where the port is not the usual one. */
  readonly hosts?: readonly string[] | undefined;
  /** `url` is of your own network: it may have a private address and speak http. Never true of what it redirects to. */
  readonly privateNetwork?: boolean | undefined;
  /** Plain http to any host. @defaultValue false */
  readonly allowHttp?: boolean | undefined;
  /** Longest answer, unpacked. @defaultValue 1,000,000 */
  readonly maxBytes?: number | undefined;
}

/**
 * A tool that is one HTTP request. Only addresses of the public internet are asked, through redirects too. An answer
 * that is no 2xx is a failed call: the model reads the status. A connection that breaks after a request that changes
 * something leaves the effect unknown.
 * @throws `invalid-config` for an address, a header or a field that cannot be meant
 */
export function httpTool<Schema extends StandardSchema, Output = Json>(
  options: HttpToolOptions<Schema, Output>,
): Tool & TypedTool<{ input: SchemaOutput<Schema>; output: Output }> {
  return httpToolVia(findTransport, options);
}

type Input = Readonly<Record<string, Json>>;

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** The same, with another way out: for tests. */
export function httpToolVia<Schema extends StandardSchema, Output = Json>(
  transport: () => Transport,
  options: HttpToolOptions<Schema, Output>,
): Tool & TypedTool<{ input: SchemaOutput<Schema>; output: Output }> {
  const { method, url, headers, body, result, query = [], showErrors = false, maxBytes = 1_000_000 } = options;
  const { hosts, privateNetwork = false, allowHttp = false, idempotent = options.readOnly, ...rest } = options;
  const template = urlTemplate(url);
  const own = new URL(template.origin);
  const reach: Reach = {
    hosts: hosts && [...hosts.map((host) => host.toLowerCase()), own.host],
    privateHost: privateNetwork ? own.host : undefined,
    allowHttp,
  };
  if (!METHODS.includes(method)) throw wrong(`method must be one of ${METHODS.join(", ")}; it is ${method}`);
  if (typeof options.readOnly !== "boolean")
    throw wrong("readOnly must be true or false: say whether it changes something");
  if (body && isReading(method)) throw wrong(`${method} has no body`);
  if (!(maxBytes > 0)) throw wrong(`maxBytes must be greater than 0; it is ${maxBytes}`);
  if (own.protocol === "http:" && !allowHttp && !privateNetwork) {
    throw wrong(`url is plain http: use https, or set privateNetwork: true for your own network`);
  }
  if (headers && typeof headers !== "function" && !headersOf(headers))
    throw wrong("headers cannot be sent as they are");

  const requestOf = async (input: SchemaOutput<Schema>, context: ToolContext): Promise<HttpRequest> => {
    const { user, signal } = context;
    const fields = (input ?? {}) as Input; // every field was read from the schema's JSON
    const address = template.fill(fields);
    const left = Object.entries(fields).filter(([name]) => !template.fields.includes(name));
    const hasBody = !isReading(method) && method !== "DELETE";
    const inQuery = (name: string): boolean => (hasBody || body ? query.includes(name) : true);
    for (const [name, value] of left) if (inQuery(name)) addQuery(address, name, value);
    const content = body
      ? body(input)
      : hasBody
        ? Object.fromEntries(left.filter(([name]) => !inQuery(name)))
        : undefined;
    const sent = await headersFor(headers, { user, input, signal });
    setIfAbsent(sent, "accept", "application/json, text/*;q=0.5");
    sent.set("accept-encoding", "identity");
    if (!isReading(method)) setIfAbsent(sent, "idempotency-key", context.idempotencyKey);
    if (content !== undefined) setIfAbsent(sent, "content-type", "application/json");
    return {
      url: address,
      method,
      headers: sent,
      body: content === undefined ? undefined : JSON.stringify(content),
      signal,
    };
  };

  const made = tool<Schema, Output>({
    ...rest,
    idempotent,
    execute: async (input, context) => {
      const request = await requestOf(input, context);
      const { response, body: answer } = await sendAndRead(request, reach, transport(), { maxBytes, showErrors });
      const { status, headers: received } = response;
      return result ? result({ status, headers: received, body: answer }) : (answer as Output); // Json where no result is given
    },
  });
  checkFields([...template.fields, ...query], made.inputJsonSchema);
  return made;
}

interface Answered {
  readonly response: Response;
  readonly body: Json;
}

async function sendAndRead(
  request: HttpRequest,
  reach: Reach,
  send: Transport,
  { maxBytes, showErrors }: { readonly maxBytes: number; readonly showErrors: boolean },
): Promise<Answered> {
  let answers = 0;
  const counted: Transport = async (...sent) => {
    const answer = await send(...sent);
    answers++;
    return answer;
  };
  let response: Response;
  try {
    response = await follow(request, reach, counted);
    if (response.ok) return { response, body: await readAnswer(response, maxBytes) };
  } catch (error) {
    request.signal.throwIfAborted();
    throw inOurWords(error, request, answers > 0);
  }
  const words = showErrors ? await wordsOf(response, maxBytes) : "";
  await response.body?.cancel().catch(() => undefined);
  throw statusError(response.status, words, request, answers > 1);
}

async function wordsOf(response: Response, maxBytes: number): Promise<string> {
  try {
    const body = await readAnswer(response, maxBytes);
    return (typeof body === "string" ? body : JSON.stringify(body)).slice(0, 1_000);
  } catch {
    return ""; // the status says enough
  }
}

function setIfAbsent(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}

function addQuery(url: URL, name: string, value: Json): void {
  if (value === null || value === undefined) return;
  const values = Array.isArray(value) ? value : [value];
  for (const each of values) url.searchParams.append(name, typeof each === "string" ? each : JSON.stringify(each));
}

/** A field that the input cannot have would be missed at every call. */
function checkFields(fields: readonly string[], schema: Json): void {
  const { properties } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, Json>> }; // looked at, not trusted
  const unknown = properties && fields.find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) throw wrong(`url or query names "${unknown}", which inputSchema does not have`);
}

function wrong(what: string): ToolRunError {
  return new ToolRunError("invalid-config", `httpTool: ${what}.`);
}
