import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEnv } from "node:util";
import { env, freePort, install, root } from "./process.mjs";

const app = join(root, "apps/demo");
const keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AI_GATEWAY_API_KEY", "OPENAI_BASE_URL"];

/** Installs, starts the demo on a free port and stays until it ends. */
export async function demo() {
  install();
  const port = await freePort(Number(process.env.PORT) || 3000);
  const next = join(app, "node_modules/next/dist/bin/next");
  const child = spawn(process.execPath, [next, "dev", "-H", "127.0.0.1", "-p", String(port)], {
    cwd: app,
    stdio: "inherit",
    env: { ...env, PORT: String(port), SHOP_TOKEN: process.env.SHOP_TOKEN || randomUUID() },
  });
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 0)));
  let stopped = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      stopped = true;
      child.kill(signal);
    });
  }
  if (await answers(port, child)) {
    console.log(`\ntoolrun demo → http://localhost:${port}   Model: ${modelLine({ ...dotEnv(), ...process.env })}\n`);
  }
  const code = await ended;
  return stopped ? 0 : code;
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
