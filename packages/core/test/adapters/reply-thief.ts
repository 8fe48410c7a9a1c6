import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A cable to a server that can lose what the server answers. */
export interface ReplyThief {
  readonly port: number;
  /** The next request that contains the text reaches the server; its answer does not come back, the connection breaks. */
  loseReplyTo(text: string): void;
  /** How many answers were lost. */
  readonly lost: number;
  close(): void;
}

export async function stealReplies(target: number): Promise<ReplyThief> {
  let wanted: string | undefined;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    let isStealing = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (chunk) => {
      if (wanted !== undefined && chunk.includes(wanted)) {
        wanted = undefined;
        isStealing = true;
      }
      far.write(chunk);
    });
    far.on("data", (chunk) => {
      if (!isStealing) {
        near.write(chunk);
        return;
      }
      // "Z" with "I": ready for the next one, so the statement is committed.
      if (!chunk.includes(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]))) return;
      lost++;
      near.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("No port is free.");
  return {
    port: address.port,
    loseReplyTo: (text) => {
      wanted = text;
    },
    get lost() {
      return lost;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
