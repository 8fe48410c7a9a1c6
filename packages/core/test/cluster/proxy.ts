import { once } from "node:events";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface RoundRobin {
  readonly url: string;
  /** How many requests went to each backend. */
  readonly requests: readonly number[];
  close(): Promise<void>;
}

/**
 * A dumb proxy: each request goes to the next backend in turn, dead or alive, and a dead one is a 502. Nothing is
 * buffered, nothing is tried again. `cutAfterMs` says when the answer of a GET is cut, as a bad network does.
 */
export async function startProxy(
  ports: () => readonly number[],
  cutAfterMs: () => number | undefined = () => undefined,
): Promise<RoundRobin> {
  const requests = ports().map(() => 0);
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const all = ports();
    const index = turn++ % all.length;
    requests[index] = (requests[index] ?? 0) + 1;
    const { method, url, headers } = incoming;
    const onward = ask({ host: "127.0.0.1", port: all[index], method, path: url, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    onward.on("error", () => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    });
    const ms = method === "GET" ? cutAfterMs() : undefined;
    const timer = ms === undefined ? undefined : setTimeout(() => outgoing.destroy(), ms);
    outgoing.on("close", () => {
      clearTimeout(timer);
      onward.destroy();
    });
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on a port
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
