import { isAtRest } from "../loop/next-action.ts";
import type { User } from "../protocol/typed.ts";
import { withoutLink } from "../protocol/without-links.ts";
import { accessOf, may, within } from "./access.ts";
import type { Engine } from "./engine.ts";
import type { Followed } from "./follow-thread.ts";
import { followThread, frameOf } from "./follow-thread.ts";
import { linkSignals } from "./link-signals.ts";
import { snapshotBody } from "./snapshot-body.ts";
import type { OpenThread } from "./thread-log.ts";
import { takeOver } from "./write.ts";

const HEARTBEAT_MS = 15_000;

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * A thread's events as Server-Sent Events from a cursor. First byte at once, a comment at least every 15
 * seconds, and an end as soon as nothing can happen before somebody writes. Pulled, so that a slow reader
 * holds back nothing: it resumes from its last id.
 */
export async function followResponse(
  engine: Engine,
  request: Request,
  user: User,
  open: OpenThread,
  { after, foreign }: { readonly after: number; readonly foreign: boolean },
): Promise<Response> {
  const encoder = new TextEncoder();
  // A page of another site can make a browser ask, but not work.
  const mayDrive = !foreign && (await may(engine, user, "send", open));
  const mayDecide = await may(engine, user, "decide", open);
  const stored = await within(engine, storedAfter(engine, open, after));
  const stop = linkSignals(request.signal);
  const changes = followThread(engine, open, after, stored, stop.signal);
  let cancelBeat: () => void = () => undefined;
  let cancelHandOver: () => void = () => undefined;
  let end: () => void = () => undefined;
  let ended = false;
  let running = !isAtRest(open.thread);

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        end = () => {
          if (ended) return;
          ended = true;
          cancelBeat();
          cancelHandOver();
          stop.close();
          void changes.return();
          close(controller);
        };
        // Not every server cancels the body of a connection that is gone: the request's signal is enough.
        stop.signal.addEventListener("abort", end, { once: true });
        controller.enqueue(encoder.encode(": toolrun\n\n"));
        const beat = (): void => {
          cancelBeat = engine.clock.after(HEARTBEAT_MS, () => {
            // A slow reader has something to read already.
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": beat\n\n"));
            if (running && mayDrive) engine.background(takeOver(engine, open.thread.id));
            beat();
          });
        };
        beat();
        if (Number.isFinite(engine.maxRequestMs)) {
          // Before the platform cuts the request: the reader goes on in the next one, without a gap to wait out.
          cancelHandOver = engine.clock.after(engine.maxRequestMs * 0.95, () => {
            controller.enqueue(encoder.encode("event: handover\ndata: {}\n\n"));
            end();
          });
        }
        // Nobody may be driving: a driver's server was shut down, or the poster's could not go on.
        if (running && mayDrive) engine.background(takeOver(engine, open.thread.id));
      },
      async pull(controller) {
        try {
          const { done, value } = await changes.next();
          if (done) return end();
          if (value.type === "events") running = !isAtRest(value.thread);
          const text = await toText(engine, user, value, mayDecide);
          if (!ended) controller.enqueue(encoder.encode(text));
        } catch (error) {
          engine.report(error); // the reader resumes from its last id
          end();
        }
      },
      cancel: () => end(),
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: HEADERS });
}

function close(controller: ReadableStreamDefaultController): void {
  try {
    controller.close();
  } catch {
    // its reader cancelled it
  }
}

/** The events behind a cursor, or undefined when they are trimmed or the cursor is beyond the head. */
async function storedAfter(
  engine: Engine,
  open: OpenThread,
  after: number,
): Promise<Parameters<typeof followThread>[3]> {
  if (after === open.thread.seq) return [];
  const read = await engine.store.read(open.thread.id, after);
  if (read === null || "gone" in read || read.snapshot || after > read.head) return undefined;
  return read.events.filter(({ seq }) => seq <= open.thread.seq);
}

async function toText(engine: Engine, user: User, followed: Followed, mayDecide: boolean): Promise<string> {
  if (followed.type === "removed") return "event: removed\ndata: {}\n\n";
  if (followed.type === "reset") {
    const access = await accessOf(engine, user, followed.open);
    const body = snapshotBody(followed.open.thread, access, engine.clock.now());
    return `event: reset\nid: ${body.seq}\ndata: ${JSON.stringify(body)}\n\n`;
  }
  const frame = frameOf(mayDecide ? followed : { ...followed, events: followed.events.map(withoutLink) });
  return `id: ${frame.to}\ndata: ${JSON.stringify(frame)}\n\n`;
}
