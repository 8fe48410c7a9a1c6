import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { expectTypeOf, test } from "vitest";
import * as z from "zod";
import { mcpTools } from "../../../src/mcp.ts";
import type { Tool } from "../../../src/server.ts";
import { defineAgent, tool } from "../../../src/server.ts";
import { scriptedModel } from "../../../src/testing.ts";

declare const client: Client;

test("a client of the official SDK, or a function that connects one, is taken as it is", () => {
  expectTypeOf(mcpTools(client)).resolves.toEqualTypeOf<Readonly<Record<string, Tool>>>();
  expectTypeOf(mcpTools(async () => client)).resolves.toEqualTypeOf<Readonly<Record<string, Tool>>>();
  // @ts-expect-error: not a client
  void mcpTools({ listTools: () => [] });
});

test("dynamic tools do not touch the types of the agent's own", () => {
  const look = tool({ description: "x", inputSchema: z.object({ a: z.string() }), execute: () => 1 });
  const agent = defineAgent({ model: scriptedModel([]), tools: { look }, dynamicTools: () => mcpTools(client) });
  expectTypeOf<NonNullable<(typeof agent)["~tools"]>>().toHaveProperty("look");
  expectTypeOf<keyof NonNullable<(typeof agent)["~tools"]>>().toEqualTypeOf<"look">();
});
