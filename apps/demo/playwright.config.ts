import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, defineConfig, devices } from "@playwright/test";
import { ports } from "./e2e/ports.ts";

// Worker processes load this file again and inherit the environment: each value is made once.
process.env.E2E_PGLITE_DIR ??= join(tmpdir(), `toolrun-e2e-${randomUUID()}`);
process.env.SHOP_TOKEN ??= randomUUID();
process.env.STORE_TOKEN ??= randomUUID();
mkdirSync(new URL(".data/lab-files", import.meta.url), { recursive: true }); // a file server wants its folder to be there

const executablePath = [
  process.env.CHROME_PATH,
  chromium.executablePath(),
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path && existsSync(path));
const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

export default defineConfig({
  testDir: "./e2e",
  testIgnore: process.env.BARE_APP ? [] : ["**/bare-app.spec.ts"], // the app is made by `npm test`
  outputDir: "../../test-results/browser",
  timeout: 30_000,
  forbidOnly: true,
  retries: 0,
  workers: ports.scripted.length,
  reporter: [["list"]],
  use: {
    // Without pictures: taking them for every step is what costs.
    trace: { mode: "retain-on-failure", screenshots: false, snapshots: true, sources: false },
    launchOptions: {
      ...(executablePath ? { executablePath } : {}),
      args: [
        ...sandbox,
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
      ],
    },
  },
  projects: [{ name: "chromium", use: { ...devices["Desktop Chrome"] } }],
  webServer: [
    ...ports.scripted.map((port, index) =>
      server(port, `scripted-${index}`, { TOOLRUN_MODEL: "scripted", TOOLRUN_SCRIPT_DELAY_MS: "5" }),
    ),
    // The same build with a real provider package, whose server the tests are: e2e/openai.spec.ts. And with the endpoints
    // of e2e/conformance.spec.ts.
    server(ports.openai, "openai", {
      OPENAI_API_KEY: "test",
      OPENAI_BASE_URL: `http://127.0.0.1:${ports.model}/v1`,
      TOOLRUN_CONFORMANCE: "1",
      MCP_EVERYTHING_URL: `http://127.0.0.1:${ports.mcpEverything}/mcp`,
      MCP_FILES_URL: `http://127.0.0.1:${ports.mcpFiles}/mcp`,
    }),
    toolServer(ports.mcpEverything, [mcpScript("server-everything"), "streamableHttp"]),
    // It speaks over stdio only.
    toolServer(ports.mcpFiles, [
      fileURLToPath(new URL("../../packages/core/test/adapters/mcp/bridge.mjs", import.meta.url)),
      mcpScript("server-filesystem"),
      fileURLToPath(new URL(".data/lab-files", import.meta.url)),
    ]),
  ],
});

function server(port: number, name: string, env: Record<string, string>) {
  return {
    command: `node ../../scripts/supervise.mjs start ${port}`,
    url: `http://127.0.0.1:${port}/api/shop/orders?limit=1`, // a new database takes some seconds: not those of a test
    reuseExistingServer: false,
    timeout: 120_000,
    stdout: "pipe" as const,
    gracefulShutdown: { signal: "SIGTERM" as const, timeout: 5_000 },
    env: {
      NEXT_TELEMETRY_DISABLED: "1",
      PGLITE_DIR: join(process.env.E2E_PGLITE_DIR ?? tmpdir(), name),
      SHOP_TOKEN: process.env.SHOP_TOKEN ?? "",
      STORE_TOKEN: process.env.STORE_TOKEN ?? "",
      ...env,
    },
  };
}

function mcpScript(name: string): string {
  return fileURLToPath(new URL(`node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));
}

function toolServer(port: number, args: readonly string[]) {
  return {
    command: `node ${args.map((arg) => `"${arg}"`).join(" ")}`,
    port,
    reuseExistingServer: false,
    env: { PORT: String(port) },
  };
}
