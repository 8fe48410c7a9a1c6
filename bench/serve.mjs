// A web handler behind node:http, on a free port of the loopback address.
import { createServer } from "node:http";
import { Readable } from "node:stream";

export async function serve(handler) {
  const server = createServer((incoming, outgoing) => void answer(handler, incoming, outgoing));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(handler, incoming, outgoing) {
  const { method, url, headers } = incoming;
  const body = method === "POST" ? { body: Readable.toWeb(incoming), duplex: "half" } : {};
  const response = await handler(new Request(`http://${headers.host}${url}`, { method, headers, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const chunk of response.body) outgoing.write(chunk);
  outgoing.end();
}
