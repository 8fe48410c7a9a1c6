// Runs the demo's Next and starts it again when its page asks for that ("Restart the server").
//   node scripts/supervise.mjs dev|start <port>
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { env, root } from "./process.mjs";

const app = join(root, "apps/demo");
const next = join(app, "node_modules/next/dist/bin/next");

/**
 * Starts Next and stays until it ends; resolves to its exit code. Only the server itself can ask for a restart: the
 * address it posts its process id to is a secret in its environment. The process is killed, not asked to end, so that
 * what survives is what was stored. Tokens stay the same over restarts.
 */
export async function supervise(mode, port, onStart = () => {}) {
  const path = `/${randomUUID()}`;
  let child;
  let isStopping = false;
  let isRestarting = false;

  const control = createServer(async (request, response) => {
    if (request.method !== "POST" || request.url !== path || isRestarting) return response.writeHead(404).end();
    let body = "";
    for await (const chunk of request) body += chunk;
    const pid = Number(body);
    if (!Number.isSafeInteger(pid) || pid <= 1) return response.writeHead(400).end();
    isRestarting = true;
    response.writeHead(202).end();
    setTimeout(() => kill(pid, child), 250); // the page gets its answer first
  });
  await once(control.listen(0, "127.0.0.1"), "listening");

  const childEnv = {
    ...env,
    PORT: String(port),
    SHOP_TOKEN: process.env.SHOP_TOKEN || randomUUID(),
    STORE_TOKEN: process.env.STORE_TOKEN || randomUUID(),
    DEMO_SUPERVISOR: `http://127.0.0.1:${control.address().port}${path}`,
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      isStopping = true;
      child.kill(signal);
    });
  }
  for (;;) {
    child = spawn(process.execPath, [next, mode, "-H", "127.0.0.1", "-p", String(port)], {
      cwd: app,
      stdio: "inherit",
      env: childEnv,
    });
    isRestarting = false;
    onStart(child);
    const [code] = await once(child, "exit");
    if (isRestarting && !isStopping) continue;
    control.close();
    control.closeAllConnections();
    return isStopping ? 0 : (code ?? 1);
  }
}

/** The server, and what started it: `next dev` runs the server in a process of its own. */
function kill(pid, child) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
  child.kill("SIGKILL");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [mode, port] = process.argv.slice(2);
  if (!["dev", "start"].includes(mode) || !Number(port)) {
    console.error("usage: node scripts/supervise.mjs dev|start <port>");
    process.exit(2);
  }
  process.exitCode = await supervise(mode, Number(port));
}
