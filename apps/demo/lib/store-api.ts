import { isToolRunError } from "toolrun";
import type { FollowChange, ThreadStore } from "toolrun/server";
import { z } from "zod";
import { hasBearer } from "./has-bearer.ts";
import { storeRequest } from "./store-wire.ts";

const heartbeatMs = 10_000;
/** Shorter than the other side's patience: a follower connects again before it has to give the connection up. */
const followForMs = 45_000;

/**
 * The other side of `http-store.ts`: hands each request on to a store that does the work, which is where the
 * compare-and-set is. It is for this app's own server only. Whoever lacks the token, and every browser even with it,
 * gets the 404 of an address that does not exist; the same holds for wrong methods and paths.
 */
export function storeApi(open: () => Promise<ThreadStore>): (request: Request) => Promise<Response> {
  return async (request) => {
    const isBrowser = request.headers.has("sec-fetch-site"); // they all say so, and no script can leave it out
    if (isBrowser || !hasBearer(request, process.env.STORE_TOKEN)) return fail(404, "not-found", "Not found.");
    try {
      const method = new URL(request.url).pathname.split("/api/store/")[1] ?? "";
      return await answer(method, await request.json().catch(() => undefined), await open(), request.signal);
    } catch (error) {
      if (error instanceof z.ZodError) return fail(400, "bad-request", `Not in the expected form. ${error.message}`);
      if (isToolRunError(error) && error.code === "bad-request") return fail(400, error.code, error.message);
      console.error(error);
      if (isToolRunError(error) && error.code !== "unavailable") return fail(500, error.code, error.message);
      return fail(
        503,
        "unavailable",
        isToolRunError(error) ? error.message : "The database did not answer; try again.",
      );
    }
  };
}

async function answer(method: string, body: unknown, store: ThreadStore, signal: AbortSignal): Promise<Response> {
  switch (method) {
    case "read": {
      const { id, after } = storeRequest.read.parse(body);
      const found = await store.read(id, after);
      return json(found, found && "gone" in found ? 410 : 200);
    }
    case "append": {
      const { id, position, append } = storeRequest.append.parse(body);
      const result = await store.append(id, position, append);
      return json(result, { ok: 200, conflict: 409, gone: 410, held: 423 }[result.status]);
    }
    case "follow": {
      const { id, after } = storeRequest.follow.parse(body);
      return streamOf((over) => store.follow(id, after, over), signal);
    }
    case "lease": {
      const { id, driverId, ttlMs } = storeRequest.lease.parse(body);
      return json(await store.lease(id, driverId, ttlMs));
    }
    case "list": {
      const { owner, cursor, filter } = storeRequest.list.parse(body);
      return json(await store.list(owner, cursor, filter));
    }
    case "remove":
      await store.remove(storeRequest.remove.parse(body).id);
      return json(null);
    default:
      return fail(404, "not-found", "Not found.");
  }
}

/** Changes as server-sent events, pulled: what a slow reader has not taken is not read from the database either. */
function streamOf(follow: (signal: AbortSignal) => AsyncIterable<FollowChange>, asked: AbortSignal): Response {
  const control = new AbortController();
  const changes = follow(control.signal)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  let isCancelled = false;
  const end = (): void => {
    clearInterval(heartbeat);
    clearTimeout(oldAge);
    asked.removeEventListener("abort", end);
    control.abort();
  };
  const oldAge = setTimeout(end, followForMs);
  asked.addEventListener("abort", end);
  if (asked.aborted) end();
  const comment = encoder.encode(":\n\n");
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      stream.enqueue(comment); // headers leave with the first byte
      heartbeat = setInterval(() => (stream.desiredSize ?? 0) > 0 && stream.enqueue(comment), heartbeatMs);
    },
    async pull(stream) {
      try {
        const { done, value } = await changes.next();
        if (!done) return isCancelled ? undefined : stream.enqueue(encoder.encode(frameOf(value)));
        end();
        if (!isCancelled) stream.close();
      } catch (error) {
        console.error(error);
        end();
        if (!isCancelled) stream.error(error);
      }
    },
    cancel() {
      isCancelled = true;
      end();
    },
  });
  const headers = { "content-type": "text/event-stream", "cache-control": "no-store, no-transform" };
  return new Response(body, { headers });
}

/** A frame's id is the seq that it reaches, as in the streams that browsers get. */
function frameOf(change: FollowChange): string {
  const last = change.type === "events" ? change.events.at(-1) : undefined;
  return `${last ? `id: ${last.seq}\n` : ""}data: ${JSON.stringify(change)}\n\n`;
}

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status, headers: { "cache-control": "no-store" } });
}

function fail(status: number, code: string, message: string): Response {
  return json({ error: { code, message } }, status);
}
