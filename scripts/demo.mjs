import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEnv } from "node:util";
import { freePort, install, root, run } from "./process.mjs";
import { supervise } from "./supervise.mjs";

const app = join(root, "apps/demo");
const keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AI_GATEWAY_API_KEY", "OPENAI_BASE_URL"];

/** Installs, starts the demo on a free port and stays until it ends. With `--production` on a build, else in dev. */
export async function demo(args = []) {
  install("--filter", "demo..."); // not the runtimes that only tests need
  const isBuilt = args.includes("--production");
  if (isBuilt) {
    const code = run(process.execPath, ["node_modules/next/dist/bin/next", "build"], { cwd: app });
    if (code !== 0) return code;
    // In production the script that plays the model has to be asked for by name.
    if (!keys.some((name) => process.env[name])) process.env.TOOLRUN_MODEL ??= "scripted";
  }
  const port = await freePort(Number(process.env.PORT) || 3000);
  let isFirst = true;
  return supervise(isBuilt ? "start" : "dev", port, async (child) => {
    if (!isFirst) return console.log("\nThe page asked for a restart of the server.\n");
    isFirst = false;
    if (await answers(port, child)) {
      console.log(`\ntoolrun demo → http://localhost:${port}   Model: ${modelLine({ ...dotEnv(), ...process.env })}`);
      console.log(`Conversations: ${threadsLine({ ...dotEnv(), ...process.env })}\n`);
    }
  });
}

/** Says where the conversations are, and so whether they outlive the server. */
function threadsLine({ TOOLRUN_STORE, DATABASE_URL, PGLITE_DIR }) {
  if (TOOLRUN_STORE === "memory") return "in memory (TOOLRUN_STORE): they end with the server.";
  if (TOOLRUN_STORE === "redis" || TOOLRUN_STORE === "upstash") return `in ${TOOLRUN_STORE} (TOOLRUN_STORE).`;
  const where = DATABASE_URL ? "in DATABASE_URL" : `in ${PGLITE_DIR || "apps/demo/.data"}`;
  return `${where}. They are still there after a restart.`;
}

/** Says which model the demo will use, given its environment. */
function modelLine(environment) {
  const forced = environment.TOOLRUN_MODEL === "scripted";
  const key = forced ? undefined : keys.find((name) => environment[name]);
  if (key) return key;
  return `scripted (${forced ? "TOOLRUN_MODEL" : "no key found"}). Tools, approvals and database are real.`;
}

/** What Next will read from the app's own files. */
function dotEnv() {
  const files = [".env", ".env.development", ".env.local", ".env.development.local"].map((name) => join(app, name));
  return Object.assign({}, ...files.filter(existsSync).map((file) => parseEnv(readFileSync(file, "utf8"))));
}

async function answers(port, child) {
  while (child.exitCode === null && child.signalCode === null) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (open) return true;
    await sleep(100);
  }
  return false;
}
