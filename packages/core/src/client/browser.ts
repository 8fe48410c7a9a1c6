import type { Connect } from "./connect.ts";
import { connect, handle } from "./connect.ts";
import type { SharedStream } from "./shared-stream.ts";

/** What the browser tells a client. */
export interface BrowserListener {
  /** Try now. `broken`: an open connection is dead for sure (back from the bfcache, offline). */
  onWake(broken: boolean): void;
  /** Another tab changed this thread. */
  onChanged(seq: number): void;
}

export interface Browser {
  /** Tells the other tabs that a thread changed. */
  tell(threadId: string, seq: number): void;
  /**
   * Streams through the one tab that streams for all which were shown the same by the server, as `viewer` says: another
   * user's are not among them. Undefined where this browser cannot. `seq` says how far this tab is.
   */
  readonly share: ((viewer: string, seq: () => number) => Promise<Connect | undefined>) | undefined;
  /** This tab wants no stream now. */
  rest(): void;
  stop(): void;
}

/** Listens to the browser until stopped; undefined where there is none (servers, React Native). */
export function listenToBrowser(
  endpoint: string,
  threadId: () => string | undefined,
  { onWake, onChanged }: BrowserListener,
): Browser | undefined {
  if (typeof document === "undefined" || typeof window === "undefined") return undefined;
  const listening = new AbortController();
  const { signal } = listening;
  const on = (target: EventTarget, type: string, listener: (event: Event) => void): void =>
    target.addEventListener(type, listener, { signal });
  on(window, "online", () => onWake(false));
  on(window, "offline", () => onWake(true));
  on(window, "pageshow", (event) => onWake("persisted" in event && event.persisted === true));
  on(document, "visibilitychange", () => {
    if (document.visibilityState === "visible") onWake(false);
  });
  const place = `toolrun ${endpoint}`;
  const channel = globalThis.BroadcastChannel && new BroadcastChannel(place);
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data?.threadId === threadId() && Number.isSafeInteger(data.seq)) onChanged(data.seq);
    };
  }
  // At once: it is there when the thread has been read. A page of an older deployment may not get it any more.
  const module = channel && navigator.locks && import("./shared-stream.ts").catch(() => undefined);
  let shared: SharedStream | undefined;
  const rest = (): void => shared?.leave();
  return {
    tell: (id, seq) => channel?.postMessage({ threadId: id, seq }),
    share:
      module &&
      (async (viewer, seq) => {
        const loaded = await module;
        if (!loaded || signal.aborted) return undefined;
        const name = `${place} ${threadId()} ${viewer}`;
        if (shared?.name !== name) {
          rest();
          shared = loaded.shareStream(name, seq, { connect, handle });
        }
        return shared.connect;
      }),
    rest,
    stop: () => {
      rest();
      listening.abort();
      channel?.close();
    },
  };
}

/** False only where the browser knows that it is offline. */
export function isOnline(): boolean {
  return globalThis.navigator?.onLine !== false;
}

export interface FrameScheduler {
  request(): void;
  cancel(): void;
}

/**
 * Runs `task` at most once per animation frame, however often it is requested. A hidden page gets no
 * frames: a timer runs beside them and the first of both wins.
 */
export function onNextFrame(task: () => void): FrameScheduler {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let frame = 0;
  const hasFrames = typeof requestAnimationFrame === "function";
  const cancel = (): void => {
    clearTimeout(timer);
    if (hasFrames) cancelAnimationFrame(frame);
    timer = undefined;
  };
  const run = (): void => {
    cancel();
    task();
  };
  return {
    cancel,
    request() {
      if (timer !== undefined) return;
      timer = setTimeout(run, hasFrames ? 250 : 16);
      if (hasFrames) frame = requestAnimationFrame(run);
    },
  };
}
