import { ToolRunError } from "../errors.ts";
import type { Engine } from "./engine.ts";

/** The proof that a driver is alive, as the driver itself sees it. */
export interface Lease {
  /** Monotonic time until which effects may start. */
  readonly until: number;
  /** The same, renewed first when it has run out. */
  freshUntil(): Promise<number>;
  /**
   * Repeats a store call whose reply was lost, until it is definite.
   * @throws LeaseOver when the lease ends before: whether the call was applied stays unknown.
   * @throws `too-large` as the store says it: the same bytes are not smaller the next time, nor in the next drive.
   */
  untilDefinite<Result>(call: () => Promise<Result>): Promise<Result>;
  close(): void;
}

/** The store could not be reached for as long as the lease lasted: whoever takes the run over goes on. */
export class LeaseOver extends Error {}

const FIRST_RETRY_MS = 50;

/**
 * Keeps a lease: deadline = monotonic time before the last successful claim or renewal, plus its time,
 * minus a third as margin; renewed every third. A renewal that sees events the driver has not folded calls `onNews`.
 */
export function createLease(
  engine: Engine,
  id: string,
  driverId: string,
  driver: {
    readonly claimedAt: number;
    /** Seq of the last event the driver folded. */
    seen(): number;
  },
  onNews: () => void,
): Lease {
  const { clock, store, leaseMs, report } = engine;
  const margin = leaseMs / 3;
  let until = driver.claimedAt + leaseMs - margin;
  let closed = false;
  let lost = false;
  let cancel = (): void => undefined;

  /** No answer is a lost reply. */
  const answered = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    let stop = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      stop = clock.after(margin, () => reject(new Error("The store did not answer in time.")));
    });
    try {
      return await Promise.race([call(), late]);
    } finally {
      stop();
    }
  };

  /** False when it has to be tried again soon: one lost reply must not end a healthy driver. */
  const renew = async (): Promise<boolean> => {
    const sentAt = clock.monotonic();
    try {
      const result = await answered(() => store.lease(id, driverId, leaseMs));
      if (closed) return true;
      if (result.status === "lost") {
        lost = true;
        until = 0;
        onNews();
        return true;
      }
      until = sentAt + leaseMs - margin;
      if (result.head > driver.seen()) onNews();
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  };
  const schedule = (ms: number): void => {
    cancel = clock.after(ms, () => {
      void renew().then((isDone) => {
        if (!closed && !lost) schedule(isDone ? leaseMs / 3 : leaseMs / 30);
      });
    });
  };
  schedule(leaseMs / 3);

  return {
    get until() {
      return until;
    },
    async freshUntil() {
      if (clock.monotonic() >= until && until > 0) await renew();
      return until;
    },
    async untilDefinite(call) {
      for (let wait = FIRST_RETRY_MS; ; wait *= 2) {
        try {
          return await answered(call);
        } catch (error) {
          if (error instanceof ToolRunError && error.code === "too-large") throw error;
          report(error);
          if (closed || clock.monotonic() + wait >= until)
            throw new LeaseOver("The lease ended first.", { cause: error });
          await new Promise<void>((resolve) => clock.after(wait, resolve));
        }
      }
    },
    close() {
      closed = true;
      cancel();
    },
  };
}
