import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postgresSchema, postgresStore } from "../../src/postgres.ts";
import type { StoredEvent } from "../../src/store/thread-store.ts";
import { type PostgresServer, postgresBinaries, startPostgres } from "./postgres-server.ts";

const bundle: string = join(tmpdir(), `toolrun-postgres-${process.pid}.mjs`);

/** The store as a file that Node runs: it imports no driver. */
async function makeBundle(): Promise<void> {
  const build = await rolldown({ input: fileURLToPath(new URL("../../src/postgres.ts", import.meta.url)) });
  await build.write({ file: bundle, format: "esm" });
  await build.close();
}

interface Process {
  readonly child: ChildProcess;
  readonly words: readonly string[];
  /** Resolves with the first word that fits. */
  says(pattern: RegExp): Promise<string>;
}

function startProcess(...args: readonly string[]): Process {
  const worker = fileURLToPath(new URL("./postgres-worker.mjs", import.meta.url));
  const child = spawn(process.execPath, [worker, bundle, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const words: string[] = [];
  let wake = (): void => {};
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    words.push(line);
    wake();
  });
  child.on("exit", () => wake());
  return {
    child,
    words,
    async says(pattern) {
      for (;;) {
        const word = words.find((each) => pattern.test(each));
        if (word !== undefined) return word;
        if (child.exitCode !== null) throw new Error(`The process ended with ${child.exitCode}.`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

const written = ({ words }: Process): string[] =>
  words.filter((word) => word.startsWith("written ")).map((word) => word.slice("written ".length));

describe.skipIf(postgresBinaries === undefined)("two processes on one PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    [server] = await Promise.all([startPostgres(), makeBundle()]);
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    await rm(bundle, { force: true });
  });

  test("write to one thread, one is killed: every batch is there once and whole, followers saw all of it", async () => {
    const url = await server.createDatabase(postgresSchema);
    const id = crypto.randomUUID();
    const victim = startProcess(url, id, "victim", "100000");
    const other = startProcess(url, id, "other", "150");
    await Promise.all([victim.says(/^written victim-20$/), other.says(/^written other-20$/)]);
    victim.child.kill("SIGKILL");
    await once(victim.child, "exit");
    await other.says(/^done$/);

    const pool = new pg.Pool({ connectionString: url });
    const read = await postgresStore(pool).read(id);
    await pool.end();
    if (read === null || "gone" in read) throw new Error("The thread is not there.");
    expect(read.events.map(({ seq }) => seq)).toEqual(Array.from({ length: read.head }, (_, index) => index + 1));
    const batches = wholeBatches(read.events);
    expect(new Set(batches).size).toBe(batches.length);
    expect(batches.filter((batch) => batch.startsWith("other"))).toEqual(written(other));
    // What it was not told about, its last, may be there or not.
    const [told, there] = [written(victim), batches.filter((batch) => batch.startsWith("victim"))];
    expect(there.slice(0, told.length)).toEqual(told);
    expect(there.length - told.length).toBeLessThanOrEqual(1);

    other.child.stdin?.write(`${read.head}\n`);
    const all: unknown = JSON.parse((await other.says(/^all /)).slice("all ".length));
    expect(all).toEqual(read.events.map(({ seq, data }) => `${seq}:${data}`));
    if (other.child.exitCode === null) await once(other.child, "exit");
    expect(other.child.exitCode).toBe(0);
  }, 60_000);
});

/** The batches in order; throws where one is in pieces. */
function wholeBatches(events: readonly StoredEvent[]): string[] {
  const batches: string[] = [];
  for (let index = 0; index < events.length; index += 2) {
    const [first, second] = events.slice(index, index + 2);
    expect([first?.data, second?.data]).toEqual([`${first?.batch}-first`, `${first?.batch}-second`]);
    batches.push(first?.batch ?? "");
  }
  return batches;
}
