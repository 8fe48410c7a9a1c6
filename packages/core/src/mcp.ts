export type { McpClient } from "./adapters/mcp-client.ts";
export type { McpSource } from "./adapters/mcp-connection.ts";
export type { McpOutput, McpPart } from "./adapters/mcp-content.ts";
export type { McpToolsOptions } from "./adapters/mcp-tools.ts";
export { mcpTools } from "./adapters/mcp-tools.ts";
