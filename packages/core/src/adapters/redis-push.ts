import type { Listener, Subscriber } from "./redis-client.ts";
import type { Listening } from "./redis-watch.ts";
import { after } from "./timer.ts";

/** A reader that comes back at once finds the connection still there. */
const LINGER_MS = 1000;

/** Notifications for any number of channels. */
export interface Push {
  /** Calls `look` with the head that was announced, or without one when anything may have happened. */
  listen(channel: string, look: (head?: number) => void): Listening;
}

/**
 * One connection that listens for all threads of a store; there only while somebody follows. What it hears is a
 * hint: nothing depends on a notification to arrive.
 */
export function createPush(open: (listener: Listener) => Subscriber): Push {
  const looks = new Map<string, (head?: number) => void>();
  const heard = new Set<string>(); // channels that are subscribed on a connection that is there
  const asking = new Set<string>();
  let subscriber: Subscriber | undefined;
  let cancelClose = (): void => undefined;

  const subscribe = async (channel: string): Promise<void> => {
    if (asking.has(channel)) return;
    const asked = subscriber;
    asking.add(channel);
    const isDone = await asked?.subscribe(channel).then(
      () => true,
      () => false, // followers poll; the next "ready" tries again
    );
    if (asked !== subscriber) return;
    asking.delete(channel);
    const look = looks.get(channel);
    if (!isDone || !look) return;
    heard.add(channel);
    look(); // what came before the subscription
  };
  const start = (): Subscriber | undefined => {
    try {
      return open({
        onMessage: (channel, message) => looks.get(channel)?.(Number(message)),
        onState: (state) => {
          heard.clear();
          if (state === "ready") for (const channel of looks.keys()) void subscribe(channel);
        },
      });
    } catch {
      return undefined; // followers poll
    }
  };
  const close = (): void => {
    subscriber?.close();
    subscriber = undefined;
    heard.clear();
    asking.clear();
  };

  return {
    listen(channel, look) {
      cancelClose();
      looks.set(channel, look);
      subscriber ??= start();
      void subscribe(channel);
      return {
        isLive: () => heard.has(channel),
        stop() {
          if (looks.get(channel) !== look) return;
          looks.delete(channel);
          heard.delete(channel);
          asking.delete(channel);
          subscriber?.unsubscribe(channel).catch(() => undefined);
          if (looks.size === 0) cancelClose = after(LINGER_MS, close);
        },
      };
    },
  };
}
