import type { CallProgressed } from "../protocol/call-event.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Call } from "../protocol/thread.ts";
import type { Clock } from "./clock.ts";

const PROGRESS_EVERY_MS = 100;

export type Report = Pick<CallProgressed, "value" | "max" | "label" | "log" | "partial">;

export interface Reports {
  add(report: Report): void;
  close(): void;
}

interface Reporting {
  readonly runId: string;
  readonly call: Call;
  readonly clock: Clock;
  readonly emit: (draft: EventDraft) => void;
}

/** At most ten reports a second reach the log; those between travel together. */
export function createReports({ call, clock, emit, runId }: Reporting): Reports {
  let waiting: Report | undefined;
  let nextAt = 0;
  let cancel: (() => void) | undefined;
  let closed = false;
  const flush = (): void => {
    cancel = undefined;
    if (!waiting) return;
    nextAt = clock.monotonic() + PROGRESS_EVERY_MS;
    emit({ runId, type: "call-progressed", callId: call.callId, attempt: call.attempt, ...waiting });
    waiting = undefined;
  };
  return {
    add(report) {
      if (closed) return;
      waiting = { ...waiting, ...defined(report), log: joined(waiting?.log, report.log) };
      const wait = nextAt - clock.monotonic();
      if (wait <= 0) flush();
      else cancel ??= clock.after(wait, flush);
    },
    close() {
      cancel?.();
      flush();
      closed = true;
    },
  };
}

function defined(report: Report): Report {
  return Object.fromEntries(Object.entries(report).filter(([, value]) => value !== undefined));
}

function joined(left: readonly string[] | undefined, right: readonly string[] | undefined): Report["log"] {
  return left && right ? [...left, ...right] : (left ?? right);
}
