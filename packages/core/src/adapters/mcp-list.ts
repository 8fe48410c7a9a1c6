import { ToolRunError } from "../errors.ts";
import type { McpClient } from "./mcp-client.ts";
import { request } from "./mcp-client.ts";

/** A tool as a server lists it: an object with a name. Nothing else of it is known to be what it should be. */
export interface ListedTool {
  readonly name: string;
  readonly [field: string]: unknown;
}

const LIST_MS = 10_000;
const MAX_PAGES = 100;
/** Far more than an agent is given; a server that lists on and on has to end somewhere. */
const MAX_LISTED = 10_000;

/**
 * All pages of a server's list.
 * @throws `too-large` when there is no end to it.
 */
export async function listTools(client: McpClient): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await request(client, "tools/list", params, { timeout: LIST_MS });
    const listed: readonly unknown[] = Array.isArray(result.tools) ? result.tools : [];
    tools.push(...listed.slice(0, MAX_LISTED + 1).filter(isListed));
    if (tools.length > MAX_LISTED) break;
    if (typeof result.nextCursor !== "string" || result.nextCursor === "" || result.nextCursor === cursor) return tools;
    cursor = result.nextCursor;
  }
  throw new ToolRunError("too-large", `The tool server lists more than ${MAX_LISTED} tools or ${MAX_PAGES} pages.`);
}

function isListed(value: unknown): value is ListedTool {
  return typeof value === "object" && value !== null && "name" in value && typeof value.name === "string";
}
