// One server process: the endpoint behind node:http, on the store it is given.
import { createToolRun } from "../../src/server.ts";
import { openStore } from "./open-store.ts";
import { serve } from "./serve.ts";
import { storyAgent } from "./story.ts";

const [url = "", leaseMs = ""] = process.argv.slice(2);
const { store, journal } = await openStore(url);
const toolrun = createToolRun({
  agent: storyAgent(store, journal),
  store,
  leaseMs: Number(leaseMs),
  identify: (request) => ({ id: request.headers.get("x-user") ?? "nobody" }),
});

serve(async (request) => {
  if (new URL(request.url).pathname === "/sweep") return Response.json({ looked: await toolrun.sweep() });
  return request.method === "GET" ? toolrun.GET(request) : toolrun.POST(request);
});
