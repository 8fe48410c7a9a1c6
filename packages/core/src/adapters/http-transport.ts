import type { Reach, Resolve } from "./http-address.ts";
import { checkedAddresses } from "./http-address.ts";

/** One request, with nothing in it that follows a redirect. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends one request and gives its answer, a redirect as it is. */
export type Transport = (request: HttpRequest, reach: Reach) => Promise<Response>;

/** What of Node's `http` and `https` is used. */
interface NodeHttp {
  request(url: URL, options: object, onAnswer: (answer: NodeAnswer) => void): NodeRequest;
}
interface NodeRequest {
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "upgrade", listener: (answer: unknown, socket: { destroy(): void }) => void): void;
  end(body?: string): void;
}
interface NodeAnswer extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number | undefined;
  readonly rawHeaders: readonly string[];
  destroy(): void;
}
interface NodeDns {
  lookup(hostname: string, options: { readonly all: true }): Promise<readonly { readonly address: string }[]>;
}
interface NodeModules {
  (name: "node:http" | "node:https"): NodeHttp;
  (name: "node:dns/promises"): NodeDns;
}

/**
 * The way out of this runtime. Node connects to an address that was looked up and checked just before; elsewhere nobody
 * but the platform's `fetch` knows the address, and names are checked by their form only.
 */
export function findTransport(): Transport {
  const modules = nodeModules();
  if (!modules) return viaFetch(fetch);
  const dns = modules("node:dns/promises");
  return viaNode(modules, async (name) => (await dns.lookup(name, { all: true })).map(({ address }) => address));
}

/** Asked for without an import, which bundlers for other runtimes could not follow. */
function nodeModules(): NodeModules | undefined {
  const { process, Bun, Deno } = globalThis as {
    readonly process?: { readonly versions?: { readonly node?: string }; readonly getBuiltinModule?: NodeModules };
    readonly Bun?: unknown;
    readonly Deno?: unknown;
  };
  if (Bun !== undefined || Deno !== undefined || !process?.versions?.node || onWorkers()) return undefined;
  return process.getBuiltinModule;
}

/** Cloudflare imitates Node, and its sockets do not go where a lookup says. */
function onWorkers(): boolean {
  return typeof navigator === "object" && navigator.userAgent === "Cloudflare-Workers";
}

/** For tests: the address that is connected to in place of one that was checked. */
type Dial = (address: string) => string;

export function viaNode(modules: NodeModules, resolve: Resolve, dial: Dial = (address) => address): Transport {
  return async ({ url, method, headers, body, signal }, reach) => {
    const addresses = (await checkedAddresses(url, reach, resolve)).map((address) => {
      const to = dial(address);
      return { address: to, family: to.includes(":") ? 6 : 4 };
    });
    const { request } = modules(url.protocol === "https:" ? "node:https" : "node:http");
    const lookup = (
      _name: string,
      options: { readonly all?: boolean | undefined },
      done: (error: null, found: unknown, family?: number) => void,
    ): void => {
      const [first] = addresses;
      if (options.all) done(null, addresses);
      else done(null, first?.address, first?.family);
    };
    // Its own connection: one that is kept was opened for an address that was checked at another time.
    const options = { method, headers: withLength(headers, body), signal, lookup, agent: false };
    return new Promise<Response>((answered, failed) => {
      const sent = request(url, options, (answer) => {
        try {
          answered(responseOf(answer, method));
        } catch (error) {
          answer.destroy();
          failed(error);
        }
      });
      sent.on("error", failed);
      // Another protocol is no answer, and Node says nothing of it unless it is asked.
      sent.on("upgrade", (_answer, socket) => {
        socket.destroy();
        failed(new TypeError("The answer switches to another protocol."));
      });
      sent.end(body);
    });
  };
}

/** Where the body ends is said with every method: Node leaves it out for those that seldom have one. */
function withLength(headers: Headers, body: string | undefined): Readonly<Record<string, string>> {
  const given = Object.fromEntries(headers);
  return body === undefined ? given : { ...given, "content-length": `${new TextEncoder().encode(body).byteLength}` };
}

const BODYLESS: readonly number[] = [204, 205, 304];

function responseOf(answer: NodeAnswer, method: string): Response {
  const { statusCode: status = 0, rawHeaders } = answer;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  }
  const body = method === "HEAD" || BODYLESS.includes(status) ? null : streamOf(answer);
  if (body === null) answer.destroy();
  return new Response(body && unpacked(body, headers), { status, headers });
}

function streamOf(answer: NodeAnswer): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = answer[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as Uint8Array<ArrayBuffer>); // as a socket gives it
    },
    cancel: () => answer.destroy(),
  });
}

/** Not asked for, and sent by some all the same. It is unpacked as it is read, so that the limit counts what comes out. */
function unpacked(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  headers: Headers,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return body;
  if (encoding === "gzip" || encoding === "deflate") return body.pipeThrough(new DecompressionStream(encoding));
  throw new TypeError("The answer is packed in a way that was not asked for.");
}

export function viaFetch(ask: typeof fetch): Transport {
  return ({ url, method, headers, body, signal }) =>
    ask(url, { method, headers, signal, redirect: "manual", ...(body !== undefined && { body }) });
}
