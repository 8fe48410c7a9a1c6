import { connect as connectSocket, createServer, type Socket } from "node:net";
import type { Append, FollowChange, StoredEvent, ThreadRow, ThreadStore } from "../../src/store/thread-store.ts";

/** An append of one control event. */
export function one(data: string, rest: Partial<Append> = {}): Append {
  return { batch: `batch of ${data}`, events: [{ control: true, data }], ...rest };
}

/** Appends events one by one, from position 0 or from `at`. */
export async function write(store: ThreadStore, id: string, datas: readonly string[], at = 0): Promise<void> {
  for (const [index, data] of datas.entries()) {
    const { status } = await store.append(id, { at: at + index }, one(data));
    if (status !== "ok") throw new Error(`append of ${data}: ${status}`);
  }
}

export function rowOf(id: string, rest: Partial<ThreadRow> = {}): ThreadRow {
  return { id, owner: "owner", title: "A thread", status: "ended", pending: 0, updatedAt: 1000, ...rest };
}

/** Reads a follower until it has `count` events, or anything else comes. */
export async function take(
  changes: AsyncIterator<FollowChange>,
  count: number,
): Promise<readonly (string | FollowChange)[]> {
  const seen: (string | FollowChange)[] = [];
  while (seen.length < count) {
    const { done, value } = await changes.next();
    if (done) break;
    if (value.type !== "events") return [...seen, value];
    seen.push(...value.events.map(({ data }: StoredEvent) => data));
  }
  return seen;
}

export function follower(
  store: ThreadStore,
  id: string,
  after: number,
  signal: AbortSignal,
): AsyncIterator<FollowChange> {
  return store.follow(id, after, signal)[Symbol.asyncIterator]();
}

/** Asks again until the check passes. */
export async function eventually(check: () => Promise<void> | void, ms = 5000): Promise<void> {
  for (const end = Date.now() + ms; ; ) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** A connection to Redis that can lose a reply and break. */
export interface LossyProxy {
  readonly port: number;
  /** The next answer that holds this text is lost, and the connection with it. */
  loseReplyWith(text: string): void;
  readonly lost: number;
  close(): Promise<void>;
}

export async function startProxy(target: number): Promise<LossyProxy> {
  let losing: string | undefined;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connectSocket(target, "127.0.0.1");
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    inner.pipe(outer);
    outer.on("data", (bytes) => {
      if (losing === undefined || !bytes.toString("latin1").includes(losing)) return inner.write(bytes);
      losing = undefined;
      lost++;
      return inner.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    port: address.port,
    loseReplyWith(text) {
      losing = text;
    },
    get lost() {
      return lost;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
