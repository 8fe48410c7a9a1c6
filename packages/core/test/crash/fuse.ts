import { setTimeout as sleep } from "node:timers/promises";
import type { Append, AppendPosition, AppendResult, ThreadStore } from "../../src/store/thread-store.ts";
import type { Point } from "./point.ts";

/** What makes a server process kill itself at one point of a run. */
export interface Fuse {
  /** The store, as the server gets it. */
  readonly store: ThreadStore;
  /** The next time the point is reached, and never again. */
  arm(point: Point): void;
  /** A tool says that its work is done. */
  afterEffect(): Promise<void>;
}

/** What was answered too early has the time to reach its client. */
const ON_ITS_WAY_MS = 40;

export function createFuse(inner: ThreadStore): Fuse {
  let armed: Point | undefined;
  let effects = 0;

  const append = async (id: string, position: AppendPosition, append: Append): Promise<AppendResult> => {
    if (armed?.kind === "before" && (await isIn(inner, id, position, append, armed.at))) {
      await sleep(ON_ITS_WAY_MS);
      return die();
    }
    const result = await inner.append(id, position, append);
    const point = armed;
    if (!point || result.status !== "ok" || result.first > point.at || result.head < point.at) return result;
    if (point.kind === "inside") return die();
    if (point.kind === "after") setImmediate(die); // everything that waits for this reply goes on first
    if (point.kind === "lost") {
      armed = undefined;
      throw new Error("The reply was lost.");
    }
    return result;
  };

  return {
    store: {
      read: (...args) => inner.read(...args),
      append,
      follow: (...args) => inner.follow(...args),
      lease: (...args) => inner.lease(...args),
      list: (...args) => inner.list(...args),
      remove: (...args) => inner.remove(...args),
    },
    arm(point) {
      armed = point;
      effects = 0;
    },
    async afterEffect() {
      effects++;
      if (armed?.kind === "effect" && effects === armed.at) await die();
    },
  };
}

/** Whether an append is going to bring the event. */
async function isIn(
  store: ThreadStore,
  id: string,
  position: AppendPosition,
  { events }: Append,
  seq: number,
): Promise<boolean> {
  const read = "at" in position ? undefined : await store.read(id);
  const head = "at" in position ? position.at : read && "head" in read ? read.head : 0;
  return head < seq && seq <= head + events.length;
}

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => undefined); // nothing of this process goes on, in whichever moment the signal comes
}
