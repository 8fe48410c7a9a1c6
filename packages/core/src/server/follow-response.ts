import { isAtRest } from "../loop/next-action.ts";
import type { Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
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
const HAND_OVER = "event: handover\ndata: {}\n\n";

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
  let thread = open.thread;
  const startedAt = engine.clock.monotonic();
  /** Nobody goes on with the run but a reader's next request, which has all its time. */
  const needsNext = (): boolean => mayDrive && !engine.wake && !engine.livesOn && isLeft(thread, engine.clock.now());

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
        const look = (): void => {
          if (!isAtRest(thread) && mayDrive) engine.background(takeOver(engine, thread.id, startedAt));
        };
        const handOver = (): void => {
          controller.enqueue(encoder.encode(HAND_OVER));
          end();
        };
        const beat = (): void => {
          cancelBeat = engine.clock.after(Math.min(HEARTBEAT_MS, engine.leaseMs), () => {
            if (needsNext()) return handOver();
            // A slow reader has something to read already.
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": beat\n\n"));
            look();
            beat();
          });
        };
        beat();
        if (Number.isFinite(engine.maxRequestMs)) {
          // Before the platform cuts the request: the reader goes on in the next one, without a gap to wait out.
          cancelHandOver = engine.clock.after(engine.maxRequestMs * 0.95, handOver);
        }
        // Nobody may be driving: a driver's server was shut down, or the poster's could not go on.
        look();
      },
      async pull(controller) {
        try {
          const { done, value } = await changes.next();
          if (done) return end();
          const isNews = value.type === "events" && value.thread.seq > open.thread.seq;
          if (value.type === "events") thread = value.thread;
          const text = await toText(engine, user, value, mayDecide);
          if (ended) return;
          controller.enqueue(encoder.encode(text));
          if (!isNews || !needsNext()) return;
          controller.enqueue(encoder.encode(HAND_OVER));
          end();
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

/** Handed over, and due: it waits for nothing but somebody who drives. */
function isLeft(thread: Thread, now: number): boolean {
  return thread.driverId === null && !isAtRest(thread) && (rootOf(thread)?.dueAt ?? now) <= now;
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
    const body = snapshotBody(followed.open.thread, user, access, engine.clock.now());
    return `event: reset\nid: ${body.seq}\ndata: ${JSON.stringify(body)}\n\n`;
  }
  const frame = frameOf(mayDecide ? followed : { ...followed, events: followed.events.map(withoutLink) });
  return `id: ${frame.to}\ndata: ${JSON.stringify(frame)}\n\n`;
}
