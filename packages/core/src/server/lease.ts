import type { Engine } from "./engine.ts";

/** The proof that a driver is alive, as the driver itself sees it. */
export interface Lease {
  /** Monotonic time until which effects may start. */
  readonly until: number;
  /** The same, renewed first when it has run out. */
  freshUntil(): Promise<number>;
  /** Repeats a store call whose reply was lost, until it is definite or the lease is over. */
  untilDefinite<Result>(call: () => Promise<Result>): Promise<Result>;
  close(): void;
}

const FIRST_RETRY_MS = 50;

/**
 * Keeps a lease: deadline = monotonic time before the last successful claim or renewal, plus its time,
 * minus a third as margin; renewed every third. A renewal that sees new control events calls `onControl`.
 */
export function createLease(
  engine: Engine,
  id: string,
  driverId: string,
  claimed: { readonly claimedAt: number },
  onControl: () => void,
): Lease {
  const { clock, store, leaseMs, report } = engine;
  const margin = leaseMs / 3;
  let until = claimed.claimedAt + leaseMs - margin;
  let closed = false;
  let control: number | undefined;
  let cancel = (): void => undefined;

  const renew = async (): Promise<void> => {
    const sentAt = clock.monotonic();
    try {
      const result = await store.lease(id, driverId, leaseMs);
      if (closed) return;
      if (result.status === "lost") {
        until = 0;
        onControl();
        return;
      }
      until = sentAt + leaseMs - margin;
      if (control !== undefined && result.control > control) onControl();
      control = result.control;
    } catch (error) {
      report(error); // the next renewal tries again; past the deadline nothing starts
    }
  };
  const schedule = (): void => {
    cancel = clock.after(leaseMs / 3, () => {
      void renew().then(() => {
        if (!closed) schedule();
      });
    });
  };
  schedule();

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
          return await call();
        } catch (error) {
          report(error);
          if (closed || clock.monotonic() + wait >= until) throw error;
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
