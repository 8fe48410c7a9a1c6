import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Resolve } from "../../../src/adapters/http-address.ts";
import type { Transport } from "../../../src/adapters/http-transport.ts";
import { viaNode } from "../../../src/adapters/http-transport.ts";

export interface Heard {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface OpenServer extends AsyncDisposable {
  readonly port: number;
  /** Every request that arrived, in order. */
  readonly heard: Heard[];
  /** How many connections are open. */
  connections(): Promise<number>;
}

export type Answer = (request: Heard, response: ServerResponse) => void;

/** A real server on this machine. */
export async function openServer(answer: Answer): Promise<OpenServer> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { method, url, headers } = request;
      const each: Heard = { method, url, headers, body };
      heard.push(each);
      answer(each, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    connections: () => new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(value));
};

export const redirect = (response: ServerResponse, location: string, status = 302): void => {
  response.writeHead(status, { location });
  response.end();
};

export interface Way {
  readonly transport: () => Transport;
  /** Every name that was looked up, and every address that was connected to. */
  readonly resolved: string[];
  readonly dialled: string[];
}

/**
 * The way out of Node, with names that mean what the test says; whatever passed the check is connected to this machine,
 * where the test's server is.
 */
export function wayOut(names: Readonly<Record<string, readonly string[]>> | Resolve): Way {
  const resolved: string[] = [];
  const dialled: string[] = [];
  const resolve: Resolve = async (name) => {
    resolved.push(name);
    return typeof names === "function" ? names(name) : (names[name] ?? []);
  };
  const modules = process.getBuiltinModule as unknown as Parameters<typeof viaNode>[0]; // Node's own
  const transport = viaNode(modules, resolve, (address) => {
    dialled.push(address);
    return "127.0.0.1";
  });
  return { transport: () => transport, resolved, dialled };
}
