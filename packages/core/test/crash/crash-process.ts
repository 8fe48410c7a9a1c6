// A server that can be told where to die. What its tools do, the test's process does for them.
import type { Json, ToolContext } from "../../src/server.ts";
import { createToolRun } from "../../src/server.ts";
import { openStore } from "../cluster/open-store.ts";
import { serve } from "../cluster/serve.ts";
import { createFuse } from "./fuse.ts";
import type { Point } from "./point.ts";
import { scriptAgent } from "./script.ts";

const [url = "", leaseMs = "", effectsUrl = ""] = process.argv.slice(2);
const fuse = createFuse((await openStore(url)).store);

async function perform(tool: string, input: Json, context: ToolContext): Promise<void> {
  const { threadId, callId, attempt, idempotencyKey } = context;
  const body = JSON.stringify({ tool, input, threadId, callId, attempt, idempotencyKey });
  await fetch(effectsUrl, { method: "POST", body });
  await fuse.afterEffect();
}

const toolrun = createToolRun({
  agent: scriptAgent(perform),
  store: fuse.store,
  leaseMs: Number(leaseMs),
  identify: (request) => ({ id: request.headers.get("x-user") ?? "nobody" }),
});

serve(async (request) => {
  if (new URL(request.url).pathname === "/arm") {
    fuse.arm((await request.json()) as Point); // the test's own
    return Response.json({});
  }
  return request.method === "GET" ? toolrun.GET(request) : toolrun.POST(request);
});
