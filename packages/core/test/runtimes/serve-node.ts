import type { IncomingMessage } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { handlerUnderTest } from "../../src/testing/handler-under-test.ts";

const { GET: answer } = handlerUnderTest();

/** Node's own server, with nothing between it and the endpoint. */
const server = createServer(async (incoming, outgoing) => {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const response = await answer(toRequest(incoming, gone.signal));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
  if (response.body) {
    const body = Readable.fromWeb(response.body as NodeStream); // the same class, by another name
    await pipeline(body, outgoing).catch(() => undefined); // a reader that leaves is no failure
  } else outgoing.end();
  incoming.resume(); // what was refused unread must not be in the way of the connection's next request
});

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const pieces = incoming.iterator({ destroyOnReturn: false });
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
    ...(method === "POST" ? { body, duplex: "half" } : {}),
    signal,
  });
}

server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })));
