import { type FollowChange, type ThreadStore, ToolRunError } from "toolrun/server";
import type { z } from "zod";
import { storeAnswer, storeChange, storeError } from "./store-wire.ts";

export interface HttpStoreOptions {
  /** Where `store-api.ts` is mounted. */
  readonly url: string;
  readonly token: string;
  /** @defaultValue the global `fetch` */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

const answerWithinMs = 10_000;
/** No follower's connection gets older, so one that died without a word is noticed; the server ends its own earlier. */
const followForMs = 60_000;
const retryMs = 250;
/** So often in a row nobody may answer: ten seconds. */
const retries = 40;

/**
 * A store of one's own: the six methods over fetch, for an edge route that can reach no database. The other side does
 * the compare-and-set (`store-api.ts`); what is left for this one is to know what it does not know. Whatever is no
 * clear answer throws: an append may then be in the log, and the caller sends the same batch again, which is safe.
 */
export function httpStore({
  url,
  token,
  fetch = (...asked) => globalThis.fetch(...asked),
}: HttpStoreOptions): ThreadStore {
  async function post(method: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body), signal, cache: "no-store" } as const;
    const response = await fetch(`${url}/${method}`, init);
    // A conflict, somebody else's lease and a removed thread are answers like any other.
    if (response.ok || [409, 410, 423].includes(response.status)) return response;
    const { data } = storeError.safeParse(await response.json().catch(() => null));
    if (data) throw new ToolRunError(data.error.code, data.error.message);
    // Never taken for a thread that is not there: the wrong token gets it too.
    if (response.status === 404) throw new ToolRunError("misconfigured", `${url} is no store, or not with this token.`);
    throw unavailable(response.status);
  }

  async function ask<Answer>(method: string, schema: z.ZodType<Answer>, body: object): Promise<Answer> {
    try {
      const response = await post(method, body, AbortSignal.timeout(answerWithinMs));
      return schema.parse(await response.json());
    } catch (error) {
      throw error instanceof ToolRunError ? error : unavailable(error);
    }
  }

  /** Reads from the cursor, and goes on at the cursor when a connection ends. Nothing is kept between two frames. */
  async function* follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<FollowChange, void> {
    let cursor = after;
    for (let failures = 0; !signal.aborted; ) {
      const life = lifeWithin(signal, followForMs);
      try {
        const { body } = await post("follow", { id, after: cursor }, life.signal);
        failures = 0;
        for await (const change of changesIn(body)) {
          if (change.type === "events") cursor = change.events.at(-1)?.seq ?? cursor;
          yield change;
          if (change.type !== "events") return;
        }
      } catch (error) {
        if (signal.aborted) return;
        const known = error instanceof ToolRunError ? error : unavailable(error);
        if (known.code !== "unavailable" || ++failures > retries) throw known;
        await lifeWithin(signal, retryMs).over;
      } finally {
        life.end(); // also when the caller leaves the loop: the connection ends with it
      }
    }
  }

  return {
    read: (id, after) => ask("read", storeAnswer.read, { id, after }),
    append: (id, position, append) => ask("append", storeAnswer.append, { id, position, append }),
    follow,
    lease: (id, driverId, ttlMs) => ask("lease", storeAnswer.lease, { id, driverId, ttlMs }),
    list: (owner, cursor, filter) => ask("list", storeAnswer.list, { owner, cursor, filter }),
    remove: async (id) => void (await ask("remove", storeAnswer.remove, { id })),
  };
}

/** The frames of an event stream: `data: {…}`. Lines are cut at `\n` only, which JSON never contains. */
async function* changesIn(body: ReadableStream<Uint8Array> | null): AsyncGenerator<FollowChange, void> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  for (let rest = ""; ; ) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) throw new Error("The stream ended."); // the server's part is never over: connect again
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) yield storeChange.parse(JSON.parse(line.slice(6)));
  }
}

/** A signal that aborts with another one or after a while. By hand: edge has no AbortSignal.any, and drops timers. */
function lifeWithin(signal: AbortSignal, ms: number) {
  const control = new AbortController();
  const ends = [signal, AbortSignal.timeout(ms)];
  const end = (): void => {
    for (const each of ends) each.removeEventListener("abort", end);
    control.abort();
  };
  const over = new Promise<void>((resolve) => control.signal.addEventListener("abort", () => resolve()));
  for (const each of ends) each.addEventListener("abort", end);
  if (signal.aborted) end();
  return { signal: control.signal, end, over };
}

function unavailable(cause: unknown): ToolRunError {
  return new ToolRunError("unavailable", "The thread store gave no clear answer; try again.", { cause });
}
