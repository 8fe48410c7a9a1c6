// One server process: the endpoint behind node:http, on the store it is given. Says its port on standard output and
// ends with its standard input, so also when the test's process is gone.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createToolRun } from "../../src/server.ts";
import { openStore } from "./open-store.ts";
import { storyAgent } from "./story.ts";

const [url = "", leaseMs = ""] = process.argv.slice(2);
const { store, journal } = await openStore(url);
const toolrun = createToolRun({
  agent: storyAgent(store, journal),
  store,
  leaseMs: Number(leaseMs),
  identify: (request) => ({ id: request.headers.get("x-user") ?? "nobody" }),
});

async function answer(request: Request): Promise<Response> {
  if (new URL(request.url).pathname === "/sweep") return Response.json({ looked: await toolrun.sweep() });
  return request.method === "GET" ? toolrun.GET(request) : toolrun.POST(request);
}

async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
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

const server = createServer((incoming, outgoing) => {
  handle(incoming, outgoing).catch(() => outgoing.destroy()); // its client is gone
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port)); // it listens on a port
process.stdin.resume().on("end", () => process.exit());
