import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const require = createRequire(import.meta.url);

/** A server in a process of its own, and clients of it. */
export interface McpServerProcess {
  connect(): Promise<Client>;
  /** Ends the server as a crash does. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export type Wire = "stdio" | "http";

export function newClient(): Client {
  return new Client({ name: "test", version: "1.0.0" }, { capabilities: { elicitation: { form: {}, url: {} } } });
}

/** `@modelcontextprotocol/server-everything` as it is published. */
export function everything(wire: Wire): Promise<McpServerProcess> {
  const script = scriptOf(require.resolve("@modelcontextprotocol/server-everything/package.json"));
  return wire === "stdio" ? overStdio([script, "stdio"]) : overHttp([script, "streamableHttp"]);
}

/** `@modelcontextprotocol/server-filesystem`, which speaks stdio only: over HTTP through a bridge of the SDK's. */
export function filesystem(wire: Wire, folder: string): Promise<McpServerProcess> {
  const args = [scriptOf(require.resolve("@modelcontextprotocol/server-filesystem/package.json")), folder];
  if (wire === "stdio") return overStdio(args);
  return overHttp([fileURLToPath(new URL("./bridge.mjs", import.meta.url)), ...args]);
}

function scriptOf(manifest: string): string {
  return join(dirname(manifest), "dist", "index.js");
}

async function overStdio(args: readonly string[]): Promise<McpServerProcess> {
  const transports: StdioClientTransport[] = [];
  const end = async (): Promise<void> => {
    await Promise.all(transports.splice(0).map((transport) => transport.close()));
  };
  return {
    async connect() {
      const transport = new StdioClientTransport({ command: process.execPath, args: [...args], stderr: "ignore" });
      transports.push(transport);
      const client = newClient();
      await client.connect(transport);
      return client;
    },
    async kill() {
      for (const { pid } of transports) if (pid) process.kill(pid, "SIGKILL");
    },
    close: end,
  };
}

async function overHttp(args: readonly string[]): Promise<McpServerProcess> {
  const port = await freePort();
  const start = async () => {
    const child = spawn(process.execPath, [...args], {
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    await new Promise<void>((resolve, reject) => {
      let text = "";
      child.once("exit", () => reject(new Error(`The server ended: ${text}`)));
      child.stderr.on("data", (data: Buffer) => {
        text += data;
        if (text.includes("listening")) resolve();
      });
    });
    return child;
  };
  let child = await start();
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  };
  const clients: Client[] = [];
  return {
    async connect() {
      if (child.signalCode !== null) child = await start();
      const client = newClient();
      await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)) as never);
      clients.push(client);
      return client;
    },
    kill: stop,
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await stop();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
