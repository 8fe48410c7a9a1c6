import type { UseToolRun } from "@toolrun/react";
import { useEffect, useRef, useState } from "react";

const address = "/api/demo/server";
const restartKey = "shop:restarted";
const lookEveryMs = 250;
const giveUpAfterMs = 60_000;
/** A development page reloads a moment after its server is back, and then says it once more. */
const keepMs = 3_000;

/** A restart that is under way. In the tab's storage, because a development page reloads when its server comes back. */
interface Restart {
  /** The process that was killed. */
  readonly life: string;
  readonly stoppedAt: string;
  /** The approvals that waited, by id. */
  readonly waiting: readonly string[];
}

/**
 * Kills the server's process and says what is left when the next one answers. While a run waits no stream is open, so
 * nothing else would notice: it asks the server who it is, then reads the conversation anew.
 */
export function useRestart(
  run: UseToolRun,
  print: (line: string) => void,
): { readonly isRestarting: boolean; restart(): Promise<void> } {
  const [isRestarting, setRestarting] = useState(false);
  const latest = useRef({ run, print });
  useEffect(() => {
    latest.current = { run, print };
  });

  const watch = async ({ life, stoppedAt, waiting }: Restart): Promise<void> => {
    setRestarting(true);
    latest.current.print(`Server stopped at ${stoppedAt}.`);
    const isBack = await nextLife(life);
    latest.current.print(
      isBack ? await whatIsLeft(waiting, () => latest.current.run) : "The server did not restart within a minute.",
    );
    setRestarting(false);
    setTimeout(() => sessionStorage.removeItem(restartKey), keepMs);
  };
  const resumed = useRef(false);
  const resume = useRef(watch);
  useEffect(() => {
    const kept = resumed.current ? null : sessionStorage.getItem(restartKey);
    resumed.current = true;
    if (kept !== null) void resume.current(JSON.parse(kept) as Restart); // what `restart` below wrote
  }, []);

  return {
    isRestarting,
    async restart() {
      setRestarting(true);
      const waiting = latest.current.run.pending.map(({ id }) => id);
      const life = await look();
      if (life === undefined) {
        print("The server could not be asked to restart. Nothing happened.");
        return setRestarting(false);
      }
      const underWay: Restart = { life, waiting, stoppedAt: time() };
      sessionStorage.setItem(restartKey, JSON.stringify(underWay));
      // Without a look at the answer: it may die with the server.
      await fetch(address, { method: "POST" }).catch(() => undefined);
      await watch(underWay);
    },
  };
}

/** Which process answers; undefined while none does. */
async function look(): Promise<string | undefined> {
  const response = await fetch(address, { cache: "no-store" }).catch(() => undefined);
  const body: unknown = response?.ok ? await response.json().catch(() => null) : null;
  return typeof body === "object" && body !== null && "life" in body ? String(body.life) : undefined;
}

/** True once another process answers. */
async function nextLife(before: string): Promise<boolean> {
  for (const end = performance.now() + giveUpAfterMs; performance.now() < end; await pause(lookEveryMs)) {
    if (![undefined, before].includes(await look())) return true;
  }
  return false;
}

/** The same steps as before, compared by id; the database may need a moment more than the server. */
async function whatIsLeft(waiting: readonly string[], now: () => UseToolRun): Promise<string> {
  const back = `Server back at ${time()}.`;
  for (let tries = 0; tries < 40; tries++) {
    const { ok } = await now().refresh();
    await pause(lookEveryMs); // the hook tells the page once a frame
    if (!ok) continue;
    const { pending } = now();
    const still = waiting.filter((id) => pending.some((step) => step.id === id)).length;
    if (still === waiting.length) return `${back} Nothing was lost: ${approvals(still)} still waiting.`;
    return `${back} ${approvals(waiting.length)} before, ${still} now.`;
  }
  return `${back} The conversation cannot be read: ${now().error?.message ?? "no answer."}`;
}

function approvals(count: number): string {
  return `${count} approval${count === 1 ? "" : "s"}`;
}

function time(): string {
  return new Date().toLocaleTimeString("en-GB");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
