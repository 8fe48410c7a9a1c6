import { createServer, type IncomingMessage } from "node:http";
import { Redis as Ioredis } from "ioredis";

/** What a test may do to a request. */
export interface UpstashFaults {
  /** Called with each command; what it returns is done instead of answering. */
  intercept?:
    | ((command: readonly string[]) => "lose-reply" | { readonly error: string; readonly status: number } | undefined)
    | undefined;
}

/** Upstash's REST protocol over a real Redis: one command, or a pipeline, per POST. */
export interface UpstashServer {
  readonly url: string;
  readonly token: string;
  readonly faults: UpstashFaults;
  /** Requests so far. */
  requests(): number;
  close(): Promise<void>;
}

type Reply = null | number | Buffer | readonly Reply[];

/** Serves the protocol on the loopback address. */
export async function startUpstash(redisUrl: string): Promise<UpstashServer> {
  const redis = new Ioredis(redisUrl);
  const token = crypto.randomUUID();
  const faults: UpstashFaults = {};
  let requests = 0;
  const server = createServer((request, response) => {
    void answer(request).then(({ status, body }) => {
      if (body === undefined) return request.socket.destroy();
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });

  const answer = async (request: IncomingMessage): Promise<{ status: number; body?: unknown }> => {
    requests++;
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    if (request.headers.authorization !== `Bearer ${token}`) {
      return { status: 401, body: { error: "WRONGPASS invalid or missing auth token" } };
    }
    const isBase64 = request.headers["upstash-encoding"] === "base64";
    const sent = JSON.parse(text) as unknown[]; // a command, or a list of commands
    const commands = request.url === "/pipeline" ? (sent as unknown[][]) : [sent];
    const results: { result?: unknown; error?: string; status?: number }[] = [];
    for (const command of commands.map((parts) => parts.map(String))) {
      const fault = faults.intercept?.(command);
      if (fault && fault !== "lose-reply") {
        results.push(fault);
        continue;
      }
      const [name = "", ...args] = command;
      try {
        results.push({ result: encode((await redis.callBuffer(name, ...args)) as Reply, isBase64) });
      } catch (error) {
        results.push({ error: error instanceof Error ? error.message : String(error) });
      }
      if (fault) return { status: 0 };
    }
    if (request.url === "/pipeline") return { status: 200, body: results.map(({ status: _, ...rest }) => rest) };
    const [only] = results;
    return { status: only?.error === undefined ? 200 : (only.status ?? 400), body: only };
  };

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    token,
    faults,
    requests: () => requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      redis.disconnect();
    },
  };
}

/** Numbers and null as they are, text as UTF-8 or base64 of it, as Upstash does. */
function encode(reply: Reply, isBase64: boolean): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString(isBase64 ? "base64" : "utf8");
  if (reply === null || typeof reply === "number") return reply;
  return (reply as readonly Reply[]).map((each) => encode(each, isBase64));
}
