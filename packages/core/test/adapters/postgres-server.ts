import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

/** A PostgreSQL of a test file's own, thrown away behind it. */
export interface PostgresServer {
  readonly port: number;
  /** A new database; its connection string. */
  createDatabase(...statements: readonly string[]): Promise<string>;
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

const FOLDERS = ["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"];
const DEBIAN = "/usr/lib/postgresql";
const USER = "toolrun";

/**
 * Where `initdb` and `postgres` are. Where nobody may install it the reason comes instead, for the tests that
 * are skipped then; in CI that is an error.
 */
export const postgresBinaries: string | undefined =
  findBinaries() ?? (installFromDebian() ? findBinaries() : undefined);

if (postgresBinaries === undefined) {
  const text =
    "No PostgreSQL found (initdb, postgres): its store's tests were NOT run. Debian, Ubuntu: apt-get install postgresql";
  if (process.env.CI) throw new Error(text);
  console.warn(text);
}

function findBinaries(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((left, right) => Number(right) - Number(left)) : [];
  const folders = [
    ...(process.env.POSTGRES_BIN ? [process.env.POSTGRES_BIN] : []),
    ...versions.map((version) => `${DEBIAN}/${version}/bin`),
    ...FOLDERS,
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

function installFromDebian(): boolean {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return false;
  console.log("No PostgreSQL found: installing Debian's.");
  const apt = (...args: string[]): boolean => spawnSync("apt-get", args, { stdio: "ignore" }).status === 0;
  return apt("update") && apt("install", "-y", "--no-install-recommends", "postgresql");
}

/** PostgreSQL refuses to run as root: as root it runs as its own user, or nobody. */
function identity(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error("There is no user that PostgreSQL could run as.");
}

/** Makes and starts a cluster that writes to no disk it has to wait for. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  if (postgresBinaries === undefined) throw new Error("There is no PostgreSQL here.");
  const bin = postgresBinaries;
  const user = identity();
  const folder = mkdtempSync(join(tmpdir(), "toolrun-pg-"));
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const made = spawnSync(
    join(bin, "initdb"),
    ["-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
    { ...user, cwd: folder, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const all = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: folder,
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "60",
    shared_buffers: "32MB",
    ...settings,
  };
  const args = ["-D", data, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  let running: ReturnType<typeof spawn> | undefined;
  const url = (database: string): string => `postgres://${USER}@127.0.0.1:${port}/${database}`;
  let databases = 0;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const server = running;
    running = undefined;
    if (!server || server.exitCode !== null) return;
    const exited = once(server, "exit");
    server.kill(signal);
    await exited;
  };
  const onExit = (): void => void running?.kill("SIGQUIT");

  const server: PostgresServer = {
    port,
    async createDatabase(...statements) {
      const name = `test_${++databases}`;
      await withClient(url("postgres"), (client) => client.query(`create database ${name}`));
      await withClient(url(name), async (client) => {
        for (const statement of statements) await client.query(statement);
      });
      return url(name);
    },
    kill: () => end("SIGQUIT"),
    async start() {
      let log = "";
      const started = spawn(join(bin, "postgres"), args, { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
      started.stderr?.on("data", (chunk) => {
        log = (log + chunk).slice(-4000);
      });
      running = started;
      for (const give = Date.now() + 30_000; ; ) {
        try {
          return await withClient(url("postgres"), async () => {});
        } catch (error) {
          if (started.exitCode !== null || Date.now() > give) throw new Error(`PostgreSQL: ${log}`, { cause: error });
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
      }
    },
    async stop() {
      process.off("exit", onExit);
      await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  process.on("exit", onExit);
  await server.start();
  return server;
}

/**
 * A clock that tests can move: the store's `clock_timestamp()` is found here first. Give these statements to
 * `createDatabase`.
 */
export const movableClock: readonly string[] = [
  "create schema clocked",
  "create table clocked.shift (ms double precision not null)",
  "insert into clocked.shift values (0)",
  `create function clocked.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + (select ms from clocked.shift) * interval ''1 ms'''`,
  "do $$ begin execute format('alter database %I set search_path = clocked, pg_catalog, public', current_database()); end $$",
];

/** The statement that moves it. */
export function moveClock(ms: number): string {
  return `update clocked.shift set ms = ms + ${ms}`;
}

export async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (typeof address !== "object" || address === null) throw new Error("No port is free.");
  return address.port;
}
