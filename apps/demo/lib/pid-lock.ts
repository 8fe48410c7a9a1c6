import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";

/** Who holds a lock. `born` tells a process from a later one that was given the same pid; null where unknown. */
const ownerSchema = z.object({ pid: z.int().positive(), born: z.string().nullable(), token: z.string() });

type Owner = z.infer<typeof ownerSchema>;

export interface PidLock {
  /** Removes the lock file if it is still ours. Safe to call twice. */
  readonly release: () => void;
}

export interface PidLockOptions {
  /** How long to wait for a process that is just ending, as after a quick restart. @defaultValue 3000 */
  readonly waitMs?: number | undefined;
}

/** The lock is held by another process that is alive. `pid` is whom to stop. */
export class LockHeldError extends Error {
  override readonly name = "LockHeldError";
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(`${path} is held by process ${pid}, which is still running.`);
    this.pid = pid;
  }
}

/** Tokens of this process, held or being taken, for systems where `born` is unknown. */
const ours = new Set<string>();
const settleMs = 60;

/**
 * Takes the lock file at `path` for this process. PGlite itself takes none, and two processes on one directory corrupt
 * each other silently. A file left behind by a process that is gone (a crash, `kill -9`) is taken over.
 *
 * Writing a file and renaming it over the old one is atomic, but two processes may both find the same dead owner: so
 * each looks again a moment later, and only the one whose token is in the file has the lock.
 *
 * @throws LockHeldError when another live process holds it.
 */
export async function takePidLock(path: string, options?: PidLockOptions): Promise<PidLock> {
  const giveUpAt = performance.now() + (options?.waitMs ?? 3_000);
  const mine: Owner = { pid: process.pid, born: bornAt(process.pid), token: crypto.randomUUID() };
  mkdirSync(dirname(path), { recursive: true });
  ours.add(mine.token);
  for (;;) {
    const owner = readOwner(path);
    if (owner && isAlive(owner)) {
      if (performance.now() < giveUpAt) {
        await sleep(150);
        continue;
      }
      ours.delete(mine.token);
      throw new LockHeldError(path, owner.pid);
    }
    const draft = `${path}.${mine.token}`;
    writeFileSync(draft, JSON.stringify(mine));
    renameSync(draft, path);
    await sleep(settleMs);
    if (readOwner(path)?.token === mine.token) return holdLock(path, mine.token);
  }
}

function holdLock(path: string, token: string): PidLock {
  const release = (): void => {
    process.off("exit", release);
    if (ours.delete(token) && readOwner(path)?.token === token) rmSync(path, { force: true });
  };
  process.once("exit", release);
  return { release };
}

function readOwner(path: string): Owner | undefined {
  try {
    return ownerSchema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined; // No file, or one that nobody finished: nobody holds it.
  }
}

function isAlive(owner: Owner): boolean {
  // Our own pid in a file of an earlier life is no rarity: containers reuse low pids.
  if (owner.pid === process.pid) {
    return owner.born === null ? ours.has(owner.token) : owner.born === bornAt(owner.pid);
  }
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const born = bornAt(owner.pid);
  return born === null || owner.born === null || born === owner.born;
}

/** The start time of a process in kernel ticks, where /proc tells it. Field 22, counted after the name's closing paren. */
function bornAt(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
