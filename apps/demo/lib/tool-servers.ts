import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { mcpTools } from "toolrun/mcp";
import { createToolRun, defineAgent, memoryStore, type ToolRun } from "toolrun/server";
import { guestOf } from "./guest.ts";
import { filesFolder, notePath, toolServerModel } from "./tool-server-scenarios.ts";

/** The lab's other endpoint: all its tools are those of two MCP servers, over stdio or at the addresses given. */
export function createToolServerLab(): ToolRun {
  return createToolRun({
    agent: defineAgent({
      name: "tool servers",
      model: toolServerModel(),
      dynamicTools: async () => ({
        ...(await mcpTools(connectEverything, { prefix: "every" })),
        ...(await mcpTools(connectFiles, { prefix: "files", readOnly: ["read_text_file"] })),
      }),
    }),
    store: memoryStore({ shared: true }),
    identify: guestOf,
    onError: (error, { reference }) => console.error(reference, String(error)),
  });
}

function connectEverything(): Promise<Client> {
  return connect(process.env.MCP_EVERYTHING_URL, "server-everything", "stdio");
}

async function connectFiles(): Promise<Client> {
  await mkdir(filesFolder, { recursive: true });
  await writeFile(notePath, "Order 1042: the customer was charged twice.\n");
  return connect(process.env.MCP_FILES_URL, "server-filesystem", filesFolder);
}

async function connect(url: string | undefined, name: string, argument: string): Promise<Client> {
  const client = new Client(
    { name: "lab", version: "1.0.0" },
    { capabilities: { elicitation: { form: {}, url: {} } } }, // what servers may ask of the person
  );
  const script = join(process.cwd(), "node_modules/@modelcontextprotocol", name, "dist/index.js");
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command: process.execPath, args: [script, argument], stderr: "ignore" });
  await client.connect(transport as Parameters<Client["connect"]>[0]); // the SDK's own types disagree where undefined is exact
  return client;
}
