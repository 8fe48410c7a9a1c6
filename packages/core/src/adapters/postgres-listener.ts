import type { PostgresConnection } from "./postgres-client.ts";
import { after } from "./timer.ts";

/** Listens for as long as somebody follows, on one session, and knows whether it hears anything. */
export interface PostgresListener {
  start(): void;
  stop(): void;
  /** True when notifications arrive: what was not notified did most likely not happen. */
  readonly hears: boolean;
  /** Says something to itself, now and then. Call it at least every `PROBE_MS`. */
  probe(): void;
}

export const PROBE_MS = 5000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;
/** So many without an answer, and the session is given up. */
const PROBES = 3;

/** No thread's notification begins with it: those begin with a head. */
const PROBE = "probe";

/**
 * A session that listens may be deaf without knowing: behind a pooler that gives each statement another session,
 * or on a connection that broke without a word. So it is believed only while it hears what we tell it ourselves.
 */
export function createListener(
  connection: PostgresConnection,
  channel: string,
  notify: (payload: string) => Promise<unknown>,
  {
    onHeard,
    onReady,
  }: {
    readonly onHeard: (payload: string) => void;
    /** It listens from now on: what was said before is unknown. */
    readonly onReady: () => void;
  },
): PostgresListener {
  const { listen } = connection;
  let life = 0; // another number with each start and stop: what belongs to an earlier one is ignored
  let end: (() => Promise<void>) | undefined;
  let retryMs = FIRST_RETRY_MS;
  let readyAt = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  let probedAt = Number.NEGATIVE_INFINITY;

  const connect = async (mine: number): Promise<void> => {
    if (!listen || life !== mine) return;
    let isLost = false;
    const isMine = (): boolean => life === mine && !isLost;
    const lost = (): void => {
      if (!isMine()) return;
      isLost = true;
      retry();
    };
    try {
      const stop = await listen(channel, {
        heard: (payload) => {
          if (!isMine()) return;
          heardAt = performance.now();
          retryMs = FIRST_RETRY_MS;
          if (payload !== PROBE) onHeard(payload);
        },
        ready: () => {
          if (isMine()) onReady();
        },
        lost,
      });
      if (!isMine()) {
        stop().catch(() => {}); // it is not needed any more
        return;
      }
      end = stop;
      readyAt = performance.now();
      probedAt = Number.NEGATIVE_INFINITY;
      probe();
      onReady();
    } catch {
      lost(); // whoever follows polls meanwhile
    }
  };
  const hangUp = (): void => {
    heardAt = Number.NEGATIVE_INFINITY;
    end?.().catch(() => {}); // it is broken, then
    end = undefined;
  };
  const retry = (): void => {
    hangUp();
    const mine = ++life;
    after(retryMs * (0.5 + Math.random() / 2), () => void connect(mine));
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  };
  const probe = (): void => {
    const now = performance.now();
    if (!end || now < probedAt + PROBE_MS * 0.9) return;
    if (now > Math.max(heardAt, readyAt) + PROBE_MS * PROBES) {
      retry(); // deaf: the next session may be better
      return;
    }
    probedAt = now;
    notify(PROBE).catch(() => {}); // not heard, then
  };

  return {
    start() {
      if (!listen) return;
      retryMs = FIRST_RETRY_MS;
      void connect(++life);
    },
    stop() {
      life++;
      hangUp();
    },
    get hears() {
      return end !== undefined && performance.now() < heardAt + PROBE_MS * 2;
    },
    probe,
  };
}
