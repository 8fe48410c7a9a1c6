import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Redis of its own, with nothing in it. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Where it keeps its files. */
  readonly folder: string;
  /** Ends it at once, as a machine that goes down. */
  kill(): Promise<void>;
  /** Starts it again on the same port and files. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** The server ends when its input does, so also when this process is killed. */
const UNTIL_INPUT_ENDS = 'redis-server "$@" & cat > /dev/null; kill -9 $!; wait $!';
const INSTALL = "apt-get install -y redis-server";

/**
 * Whether a redis-server can be had; one that is missing is installed where that is possible. Where it cannot be
 * had, CI fails and others are told what was not run.
 */
export async function hasRedis(notRun: string): Promise<boolean> {
  if (isThere() || (await install())) return true;
  if (process.env.CI) throw new Error(`There is no redis-server, and it could not be installed (${INSTALL}).`);
  console.warn(`NOT RUN: ${notRun}: there is no redis-server (${INSTALL}).`);
  return false;
}

function isThere(): boolean {
  return spawnSync("redis-server", ["--version"]).status === 0;
}

/** One process at a time; the others wait for it. */
async function install(): Promise<boolean> {
  if (process.getuid?.() !== 0 || spawnSync("apt-get", ["--version"]).status !== 0) return false;
  const lock = join(tmpdir(), "toolrun-install-redis");
  try {
    mkdirSync(lock);
  } catch {
    while (existsSync(lock)) await new Promise((resolve) => setTimeout(resolve, 200));
    return isThere();
  }
  try {
    const apt = (...args: string[]): boolean =>
      spawnSync("apt-get", ["-y", "-o", "DPkg::Lock::Timeout=120", ...args], {
        env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
        timeout: 180_000,
      }).status === 0;
    return apt("install", "redis-server") || (apt("update") && apt("install", "redis-server"));
  } finally {
    rmdirSync(lock);
  }
}

/** Starts a redis-server on a free port of the loopback address. `options` are its own, such as `--maxmemory`. */
export async function startRedis(...options: readonly string[]): Promise<RedisServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "toolrun-redis-"));
  const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--daemonize", "no"];
  let child: ChildProcess | undefined;
  const server: RedisServer = {
    port,
    url: `redis://127.0.0.1:${port}`,
    folder,
    async start() {
      child = spawn("sh", ["-c", UNTIL_INPUT_ENDS, "sh", ...fixed, ...options], {
        stdio: ["pipe", "ignore", "ignore"],
      });
      await untilOpen(port);
    },
    async kill() {
      const ended = new Promise((resolve) => child?.once("exit", resolve));
      child?.stdin?.end();
      await ended;
      child = undefined;
    },
    async close() {
      if (child) await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

async function untilOpen(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("close", () => socket.destroy());
      socket.once("connect", () => socket.end());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`redis-server did not open port ${port}.`);
}
