import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Json } from "../../src/server.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { Execution } from "../cluster/journal.ts";
import { startedInLog } from "../cluster/read-log.ts";
import { IDEMPOTENT } from "./script.ts";

/** One time a tool did its work. */
export interface Effect extends Execution {
  readonly input: Json;
  /** Its tool honours keys, and this one was known: nothing was done. */
  readonly isRepeat: boolean;
}

/** The world the tools act on: it stays when the server dies, and counts. */
export interface World {
  readonly url: string;
  of(threadId: string): readonly Effect[];
  close(): Promise<void>;
}

export async function startWorld(store: ThreadStore): Promise<World> {
  const effects: Effect[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const asked = (await json(incoming)) as Omit<Effect, "isLogged" | "isRepeat">; // the server under test sends no other
    const { tool, idempotencyKey } = asked;
    const isKnown = effects.some((each) => each.tool === tool && each.idempotencyKey === idempotencyKey);
    const isRepeat = IDEMPOTENT.includes(tool) && isKnown;
    const effect = { ...asked, isRepeat, isLogged: false };
    const place = effects.push(effect) - 1;
    effects[place] = { ...effect, isLogged: await startedInLog(store, asked) };
    outgoing.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on a port
    of: (threadId) => effects.filter((each) => each.threadId === threadId),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
