import { connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  readonly port: number;
  /** How many event streams were cut so far. */
  readonly cuts: () => number;
  readonly close: () => Promise<void>;
}

/**
 * Stands between browser and server on TCP. Each event stream in turn gets as many bytes as its budget says; then every
 * connection is destroyed at once, in the middle of whatever was under way. After the last budget nothing is cut.
 */
export async function cuttingProxy(target: number, budgets: readonly number[]): Promise<CuttingProxy> {
  const left = [...budgets];
  const sockets = new Set<Socket>();
  const cutAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };

  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let budget = Number.POSITIVE_INFINITY;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}); // a reset is what this is about
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (chunk) => {
      const request = /^[A-Z]+ (\S+) HTTP/.exec(chunk.toString("latin1"));
      if (request) budget = /\/events\b/.test(request[1] ?? "") ? (left.shift() ?? Infinity) : Infinity;
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      const passed = chunk.subarray(0, Math.min(chunk.length, budget));
      budget -= passed.length;
      if (budget > 0) client.write(passed);
      else client.write(passed, cutAll);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cuts: () => budgets.length - left.length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
