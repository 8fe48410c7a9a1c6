import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A route handler behind a real socket: its body comes in pieces, and whoever hangs up aborts the request. */
export interface Served {
  readonly origin: string;
  /** Answers that are under way right now. */
  busy(): number;
  close(): Promise<void>;
}

export async function serveRoute(handler: (request: Request) => Promise<Response>): Promise<Served> {
  let busy = 0;
  const server = createServer(async (incoming, outgoing) => {
    const control = new AbortController();
    busy++;
    outgoing.on("close", () => {
      busy--;
      control.abort();
    });
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const response = await handler(
      new Request(`http://127.0.0.1${incoming.url}`, {
        method: incoming.method ?? "GET",
        headers: incoming.headers as Record<string, string>, // none of those sent here comes twice
        body: Buffer.concat(chunks),
        signal: control.signal,
      }),
    );
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (!response.body) return void outgoing.end();
    const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]); // the same type, by another name
    await pipeline(body, outgoing).catch(() => undefined); // hung up
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    origin: `http://127.0.0.1:${port}`,
    busy: () => busy,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
