import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that answers with exactly these bytes: for what a mock of a whole provider is too polite to do. */
export interface ProviderServer {
  readonly url: string;
  readonly bodies: readonly unknown[];
  /** Answers every request from now on. */
  answer(respond: (response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startProviderServer(): Promise<ProviderServer> {
  const bodies: unknown[] = [];
  let respond = (response: ServerResponse): void => {
    response.writeHead(500).end();
  };
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      bodies.push(body);
      respond(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    answer(next) {
      respond = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Sends server-sent events and ends cleanly. */
export function events(...data: readonly (object | string)[]): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const item of data) response.write(`data: ${typeof item === "string" ? item : JSON.stringify(item)}\n\n`);
    response.end();
  };
}

/** A chunk of the OpenAI chat dialect. */
export function chunk(delta: object, finish: string | null = null): object {
  return {
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request) text += part;
  return text === "" ? undefined : JSON.parse(text);
}
