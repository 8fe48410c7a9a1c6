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
  const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(`toolrun ${endpoint}`);
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data?.threadId === threadId() && Number.isSafeInteger(data.seq)) onChanged(data.seq);
    };
  }
  return {
    tell: (id, seq) => channel?.postMessage({ threadId: id, seq }),
    stop: () => {
      listening.abort();
      channel?.close();
    },
  };
}

/** False only where the browser knows that it is offline. */
export function isOnline(): boolean {
  return typeof navigator === "undefined" || navigator.onLine !== false;
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
