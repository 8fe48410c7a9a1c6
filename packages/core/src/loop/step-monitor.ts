import type { StepRecord } from "./observers.ts";

/** What a monitor knows of one tool. */
export interface ToolFigures {
  readonly count: number;
  readonly errors: number;
  readonly totalMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
  /** When its last call was over, in ms since the epoch. */
  readonly lastAt: number;
  readonly last: StepRecord;
}

export interface MonitorSnapshot {
  readonly isRunning: boolean;
  readonly count: number;
  readonly errors: number;
  readonly tools: Readonly<Record<string, ToolFigures>>;
}

/** Counts steps per tool, of one run or of a whole server. */
export interface StepMonitor {
  /** Hand it to runs as their `onStep`. */
  readonly onStep: (step: StepRecord) => void;
  /** By tool, as of now. */
  readonly tools: Readonly<Record<string, ToolFigures>>;
  /** Counts again. A monitor begins started. */
  start(): void;
  /** Counts no more; what was counted stays. */
  stop(): void;
  /** Forgets what was counted. */
  reset(): void;
  /** Everything as of now; it does not change any more. */
  snapshot(): MonitorSnapshot;
}

/** Models invent names: of those beyond, only the sums are kept. */
const MAX_TOOLS = 1_000;

export function stepMonitor(): StepMonitor {
  const tools = new Map<string, ToolFigures>();
  let isRunning = true;
  let count = 0;
  let errors = 0;
  const byTool = (): Readonly<Record<string, ToolFigures>> => Object.fromEntries(tools);
  return {
    onStep(step) {
      if (!isRunning) return;
      count++;
      if (step.isError) errors++;
      const known = tools.get(step.toolName);
      if (known || tools.size < MAX_TOOLS) tools.set(step.toolName, withStep(known, step));
    },
    get tools() {
      return byTool();
    },
    start() {
      isRunning = true;
    },
    stop() {
      isRunning = false;
    },
    reset() {
      tools.clear();
      count = 0;
      errors = 0;
    },
    snapshot: () => ({ isRunning, count, errors, tools: byTool() }),
  };
}

function withStep(known: ToolFigures | undefined, step: StepRecord): ToolFigures {
  const count = (known?.count ?? 0) + 1;
  const totalMs = (known?.totalMs ?? 0) + step.durationMs;
  return {
    count,
    errors: (known?.errors ?? 0) + (step.isError ? 1 : 0),
    totalMs,
    meanMs: totalMs / count,
    maxMs: Math.max(known?.maxMs ?? 0, step.durationMs),
    lastAt: step.timestamp,
    last: step,
  };
}
