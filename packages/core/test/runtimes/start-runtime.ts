import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** A runtime under test: its program, the file it serves the endpoint with, and how it is told to. */
export interface Runtime {
  readonly name: string;
  readonly program: string;
  readonly server: "serve-node" | "serve-bun" | "serve-deno" | "worker";
  readonly arguments: (file: string) => readonly string[];
}

export interface RunningRuntime {
  readonly url: string;
  /** What it wrote to its error output. */
  readonly complaints: () => string;
  close(): Promise<void>;
}

const installed: string = fileURLToPath(new URL("./node_modules/", import.meta.url));
const itself = (file: string): readonly string[] => [file];

/** Node 20 is what runs these tests; the others come with the package `runtimes`. */
export const runtimes: readonly Runtime[] = [
  { name: `Node ${process.versions.node}`, program: process.execPath, server: "serve-node", arguments: itself },
  { name: "Node 22", program: `${installed}node-22/bin/node`, server: "serve-node", arguments: itself },
  { name: "Node 24", program: `${installed}node-24/bin/node`, server: "serve-node", arguments: itself },
  { name: "Bun", program: `${installed}bun/bin/bun.exe`, server: "serve-bun", arguments: itself },
  {
    name: "Deno",
    program: `${installed}deno/deno`,
    server: "serve-deno",
    arguments: (file) => ["run", "--allow-net=127.0.0.1", "--no-remote", file],
  },
  {
    name: "workerd",
    program: `${installed}workerd/bin/workerd`,
    server: "worker",
    arguments: (file) => ["serve", file.replace(/worker\.js$/, "worker.capnp"), "--control-fd=1"],
  },
];

/**
 * Whether a runtime can be had. Where it cannot, because there is none for this platform, CI fails and others are told
 * what was not run.
 */
export function isInstalled({ name, program }: Runtime): boolean {
  if (existsSync(program)) return true;
  const text = `NOT RUN: the endpoint on ${name}: there is no ${program}.`;
  if (process.env.CI) throw new Error(text);
  console.warn(text);
  return false;
}

const CAPNP = `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2024-10-14",
);
`;

/** The server ends when its input does, so also when this process is killed. */
const UNTIL_INPUT_ENDS =
  'exec 3<&0; "$@" & server=$!; { cat <&3 >/dev/null; kill -9 $server; } >/dev/null 2>&1 & wait $server';

/** Bundles the endpoint into one file, as a deploy does, and starts the runtime with it. */
export async function startRuntime(runtime: Runtime): Promise<RunningRuntime> {
  const folder = await mkdtemp(join(tmpdir(), "toolrun-runtime-"));
  const file = join(folder, `${runtime.server}.js`);
  await bundle(runtime.server, file);
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "worker.capnp"), CAPNP);
  const command = [runtime.program, ...runtime.arguments(file)];
  const child = spawn("sh", ["-c", UNTIL_INPUT_ENDS, "sh", ...command], { stdio: "pipe" });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let complaints = "";
  child.stderr.on("data", (piece) => {
    complaints += piece;
  });
  const listening = new Promise<string>((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (piece) => {
      output += piece;
      const [, found] = /"port":(\d+)/.exec(output) ?? [];
      if (found) resolve(found);
    });
    void ended.then(() => reject(new Error(`${runtime.name} ended: ${output}${complaints}`)));
  });
  const close = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const port = await listening.catch(async (error) => {
    await close();
    throw error;
  });
  return { url: `http://127.0.0.1:${port}/api/toolrun`, complaints: () => complaints, close };
}

async function bundle(server: Runtime["server"], file: string): Promise<void> {
  const build = await rolldown({
    input: fileURLToPath(new URL(`${server}.ts`, import.meta.url)),
    platform: "neutral",
    resolve: { mainFields: ["module", "main"] },
    external: [/^(node|cloudflare):/],
    onLog(_level, log) {
      throw new Error(log.message);
    },
  });
  await build.write({ file, format: "esm", codeSplitting: false });
  await build.close();
}
