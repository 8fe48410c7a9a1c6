import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

type Answer = (request: Request) => Promise<Response>;

/**
 * Makes this process a server: listens on a free port, says the port on standard output, and ends with its standard
 * input, so also when the test's process is gone.
 */
export function serve(answer: Answer): void {
  const server = createServer((incoming, outgoing) => {
    handle(answer, incoming, outgoing).catch(() => outgoing.destroy()); // its client is gone
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port)); // it listens on a port
  process.stdin.resume().on("end", () => process.exit());
}

async function handle(answer: Answer, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const { method = "GET", headers } = incoming;
  const body = method === "GET" ? null : await buffer(incoming);
  const request = new Request(`http://${headers.host}${incoming.url}`, {
    method,
    headers: headers as Record<string, string>, // no header of these tests comes twice
    body,
    signal: gone.signal,
  });
  const response = await answer(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body)
    await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing); // two names of one class
  else outgoing.end();
}
