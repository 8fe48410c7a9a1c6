import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** One of the two servers: a process that can die and come back. */
export interface ServerSlot {
  /** Where it listens, or did. */
  readonly port: number;
  /** What it said about errors last. */
  readonly errors: string;
  start(): Promise<void>;
  /** Resolves when the process that runs now is dead, whoever ended it. */
  untilDead(): Promise<void>;
  /** SIGKILL: nothing of it runs any more when this resolves. */
  kill(): Promise<void>;
  /** Stands still, as a machine that swaps; `resume` lets it go on. */
  pause(): void;
  resume(): void;
}

export function serverSlot(file: string, ...args: readonly string[]): ServerSlot {
  let child: ChildProcess | undefined;
  let port = 0;
  let errors = "";
  return {
    get port() {
      return port;
    },
    get errors() {
      return errors;
    },
    async start() {
      const started = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "pipe"] });
      child = started;
      started.stderr.on("data", (chunk) => {
        errors = (errors + chunk).slice(-8_000);
      });
      const [line] = await Promise.race([
        once(createInterface({ input: started.stdout }), "line"),
        once(started, "exit").then(() => [""]),
      ]);
      if (!line) throw new Error(`The server did not start: ${errors}`);
      port = Number(line);
    },
    async untilDead() {
      if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
    async kill() {
      const ending = child;
      child = undefined;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
      const exited = once(ending, "exit");
      ending.kill("SIGKILL");
      await exited;
    },
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
  };
}
