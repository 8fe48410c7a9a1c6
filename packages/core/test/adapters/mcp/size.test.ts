import { expect, test } from "vitest";
import { bundle } from "../../bundle.ts";

test("the MCP entry is at most 10 kB, and brings no code of the SDK", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/src/mcp.ts", [/^zod($|\/)/]);
  expect(modules.filter((path) => path.includes("node_modules") && path.includes("modelcontextprotocol"))).toEqual([]);
  expect(gzipBytes).toBeLessThanOrEqual(10_000);
});
