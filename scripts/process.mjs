import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const windows = process.platform === "win32";
const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

export const env = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: "1",
  TURBO_TELEMETRY_DISABLED: "1",
  FORCE_COLOR: process.env.FORCE_COLOR ?? "0",
};

/** The path of an installed tool. */
export const bin = (name, folder = ".") => join(root, folder, "node_modules", ".bin", windows ? `${name}.cmd` : name);

/** Runs a command to its end and returns its exit code. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: windows,
    ...options,
    env: { ...env, ...options.env },
  });
  if (result.error) console.error(String(result.error));
  return result.status ?? 1;
}

/** Runs the pinned pnpm, installed or not. */
export const pnpm = (...args) => run("npx", ["-y", packageManager.split("+")[0], ...args]);

export function install(...only) {
  const code = pnpm("install", "--frozen-lockfile", ...only);
  if (code !== 0) process.exit(code);
}

/** The first port from `from` on which nobody listens, on any address. */
export async function freePort(from) {
  for (let port = from; port < from + 100; port++) {
    if ((await canListen(port, "127.0.0.1")) && (await canListen(port))) return port;
  }
  throw new Error(`No free port in ${from}-${from + 99}.`);
}

function canListen(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
