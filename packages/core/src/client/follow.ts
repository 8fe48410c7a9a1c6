import { isOnline } from "./browser.ts";
import type { Connect, StreamListener } from "./connect.ts";
import { connect } from "./connect.ts";
import type { ConnectionEvent } from "./connection-state.ts";
import { nextDelay } from "./next-delay.ts";
import type { ActionResult, Refusal, WireOptions } from "./post.ts";
import { isPassing } from "./post.ts";

/** The server sends at least a comment every 15 s. */
const SILENCE_MS = 40_000;
/** On waking up, less silence than this makes a connection suspect. */
const SUSPECT_MS = 20_000;
/** A connection that lived this long was a good one, also when nothing happened on it. */
const GOOD_MS = 10_000;
const OFFLINE_RECHECK_MS = 30_000;

type Next = "now" | "later" | "stop";

/** What a follower needs of its thread. */
export interface Followed extends Pick<StreamListener, "onFrame"> {
  readonly wire: WireOptions;
  /** What is missing now: the thread itself, events after its last one, or nothing. */
  wants(): "load" | "stream" | undefined;
  /** How to stream, where it is not by a connection of this tab's own. */
  shared(): Promise<Connect | undefined> | undefined;
  /** Where the events after the last one that is folded are. */
  path(): string;
  /** The last event that is folded. */
  seq(): number;
  load(): Promise<ActionResult>;
  /** The server began anew for a stream that asked for what is after `seq`; false when it is no thread. */
  onReset(body: unknown, seq: number): boolean;
  onConnection(event: ConnectionEvent): void;
  onRefused(refusal: Refusal): void;
  /** Number of failed tries in a row. */
  attempt(): number;
}

export interface Follower {
  /** Follows as long as something is missing; does nothing when it already does. */
  start(): void;
  stop(): void;
  /** Tries now instead of later; an open connection is dropped when it is `broken`, replaced or suspiciously silent. */
  wake(broken: boolean): void;
}

/** Keeps one thread up to date over one stream at most. All of reconnecting is this loop. */
export function createFollower(followed: Followed): Follower {
  let loop: AbortController | undefined;
  let stream: AbortController | undefined;
  let endSleep: (() => void) | undefined;
  let heardAt = 0;
  let isUrgent = false;

  async function run(signal: AbortSignal): Promise<void> {
    for (let want = followed.wants(); want && !signal.aborted; want = followed.wants()) {
      followed.onConnection({ type: "open" });
      const goesOn = want === "load" ? await load() : await follow(signal);
      if (signal.aborted) return;
      if (goesOn === "stop") break;
      if (goesOn === "later" && !isUrgent) await rest();
      isUrgent = false;
    }
    if (signal.aborted) return;
    loop = undefined;
    followed.onConnection({ type: "rest" });
  }

  async function load(): Promise<Next> {
    return after(await followed.load());
  }

  async function follow(signal: AbortSignal): Promise<Next> {
    const current = new AbortController();
    stream = current;
    const openedAt = Date.now();
    const from = followed.seq();
    let moved = false;
    heardAt = openedAt;
    const watch = setInterval(() => {
      if (Date.now() - heardAt > SILENCE_MS) current.abort();
    }, SILENCE_MS / 8);
    const open = (await followed.shared()) ?? connect;
    const end = await open(followed.wire, followed.path, current.signal, {
      onBytes() {
        heardAt = Date.now();
        if (!moved) followed.onConnection({ type: "opened" });
      },
      onFrame(frame) {
        const joins = followed.onFrame(frame);
        if (!moved && followed.seq() > from) {
          moved = true;
          followed.onConnection({ type: "moved" });
        }
        return joins;
      },
      onReset: (body) => followed.onReset(body, from),
      isOver: () => followed.wants() !== "stream",
    });
    clearInterval(watch);
    if (signal.aborted) return "stop";
    stream = undefined;
    if (end === "removed") followed.onConnection({ type: "removed" });
    if (typeof end === "object" && end.code !== "bad-request") return after(end);
    moved ||= Date.now() - openedAt > GOOD_MS;
    if (moved) followed.onConnection({ type: "moved" });
    const joined = end === "gap" || typeof end === "object" ? await load() : "now";
    return joined === "now" && (!moved || end === "lost") ? "later" : joined;
  }

  function after(result: ActionResult): Next {
    if (result.ok) return "now";
    followed.onRefused(result);
    return isPassing(result) ? "later" : "stop";
  }

  function rest(): Promise<void> {
    const online = isOnline();
    const delay = online ? nextDelay(followed.attempt() + 1, Math.random()) : OFFLINE_RECHECK_MS;
    followed.onConnection(online ? { type: "lost", nextAt: Date.now() + delay } : { type: "offline" });
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      endSleep = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function start(): void {
    if (loop || !followed.wants()) return;
    loop = new AbortController();
    void run(loop.signal);
  }

  return {
    start,
    stop() {
      loop?.abort();
      loop = undefined;
      stream?.abort();
      endSleep?.();
      followed.onConnection({ type: "rest" });
    },
    wake(broken) {
      endSleep?.();
      if (stream && (broken || Date.now() - heardAt > SUSPECT_MS)) {
        isUrgent = true;
        stream.abort();
      }
      start();
    },
  };
}
