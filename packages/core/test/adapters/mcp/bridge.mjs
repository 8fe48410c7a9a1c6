import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

/** Puts a stdio server behind Streamable HTTP, message by message: one process for each session. */
const args = process.argv.slice(2);
const sessions = new Map();

async function open() {
  const inner = new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" });
  const outer = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, outer),
  });
  outer.onmessage = (message) => inner.send(message);
  inner.onmessage = (message) => outer.send(message, { relatedRequestId: message.id });
  outer.onclose = () => inner.close();
  await inner.start();
  return outer;
}

const server = createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const transport = id === undefined ? await open() : sessions.get(id);
  if (!transport) {
    response.writeHead(404).end();
    return;
  }
  await transport.handleRequest(request, response);
});
server.listen(Number(process.env.PORT), "127.0.0.1", () => console.error("listening"));
