import { DefiniteFailure } from "../../src/agent/tool.ts";
import type { ToolContext } from "../../src/agent/tool-context.ts";
import type { Engine } from "../../src/server/engine.ts";
import type { Workplace } from "./agents.ts";
import type { ScenarioTool } from "./scenario.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Something on a server that goes on when the scheduler says so. */
export interface PendingWork {
  readonly label: string;
  proceed(): void;
}

/** One call of a tool's `execute`: a side effect. */
export interface Execution {
  readonly server: string;
  readonly tool: string;
  readonly callId: string;
  readonly attempt: number;
  readonly key: string;
  readonly input: string;
}

/** One process of the app: its engine, its clock, and the work under way in it. */
export interface ServerProcess extends Workplace {
  readonly name: string;
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** Models and tools under way, in order of their start. */
  readonly work: readonly PendingWork[];
  readonly crashed: boolean;
  /** Everything that reached the process so far: two worlds with the same histories are in the same state. */
  history: number;
  crash(): void;
}

export function createServerProcess(
  name: string,
  engine: Engine,
  clock: VirtualClock,
  tools: Readonly<Record<string, ScenarioTool>>,
  onExecute: (execution: Execution) => void,
): ServerProcess {
  let work: PendingWork[] = [];
  let count = 0;
  let crashed = false;

  const wait = (label: string, signal: AbortSignal, obeys: boolean, end: () => void, ends = true): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        work = work.filter((other) => other !== entry);
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        if (!obeys) return;
        leave();
        reject(signal.reason);
      };
      const entry: PendingWork = {
        label: `${name} ${label}`,
        proceed() {
          leave();
          try {
            end();
            resolve();
          } catch (error) {
            reject(error);
          }
        },
      };
      signal.addEventListener("abort", onAbort);
      if (ends) work.push(entry);
    });

  return {
    name,
    engine,
    clock,
    history: 0,
    get work() {
      return work;
    },
    get crashed() {
      return crashed;
    },
    modelStep: (signal) => wait(`model ${++count}`, signal, true, () => undefined),
    async execute(tool: string, input: unknown, { callId, attempt, idempotencyKey: key, signal }: ToolContext) {
      if (crashed) return null;
      onExecute({ server: name, tool, callId, attempt, key, input: JSON.stringify(input) });
      const { fails = [], definite = false, silent = false } = tools[tool] ?? {};
      const end = (): void => {
        if (fails.includes(attempt))
          throw definite ? new DefiniteFailure("It failed.") : new Error("It may have failed.");
      };
      await wait(`tool ${callId}#${attempt}`, signal, silent, end, !silent);
      return { done: true };
    },
    crash() {
      crashed = true;
      work = [];
      clock.clear();
    },
  };
}
