import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Answer } from "./bytes.ts";

/** What a provider was sent. */
export interface Sent {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** An HTTP server that answers with exactly the bytes it was given, in exactly these pieces. */
export interface ByteServer {
  readonly url: string;
  /** Every request since the last `answer`. */
  readonly sent: readonly Sent[];
  /** Answers the coming requests with one each, and with the last one from then on. */
  answer(...answers: readonly [Answer, ...Answer[]]): void;
  /** Resolves when a client has closed the connection of an answer that hangs. */
  readonly closed: Promise<void>;
  stop(): Promise<void>;
}

export async function startByteServer(): Promise<ByteServer> {
  let answers: readonly Answer[] = [];
  let sent: Sent[] = [];
  let onClosed: () => void = () => undefined;
  let closed = new Promise<void>((resolve) => (onClosed = resolve));
  const server = createServer((request, response) => {
    void readBody(request).then(async (body) => {
      const answer = answers[Math.min(sent.length, answers.length - 1)];
      sent.push({ path: request.url ?? "", headers: request.headers, body });
      if (answer) await write(answer, response, onClosed);
      else response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    get sent() {
      return sent;
    },
    get closed() {
      return closed;
    },
    answer(...next) {
      answers = next;
      sent = [];
      closed = new Promise<void>((resolve) => (onClosed = resolve));
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function write(
  { status, headers, pieces, ending, gate }: Answer,
  response: ServerResponse,
  onClosed: () => void,
): Promise<void> {
  response.on("close", onClosed);
  response.socket?.setNoDelay(true);
  response.writeHead(status, headers);
  response.flushHeaders();
  for (const [index, piece] of pieces.entries()) {
    if (index === gate?.before) await gate.open;
    if (response.destroyed) return;
    await new Promise((resolve) => response.write(piece, resolve)); // on its way before the next one
  }
  if (ending === "end") response.end();
  if (ending === "cut") response.destroy();
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request) text += part;
  return text === "" ? undefined : JSON.parse(text);
}
