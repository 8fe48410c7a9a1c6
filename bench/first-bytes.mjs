// First byte over loopback HTTP: a node:http server with a web handler behind it, and a client that keeps its connection.
import { Agent, request } from "node:http";
import { median } from "./limit/measure.mjs";
import { makePlan } from "./limit/plan.mjs";
import { floor } from "./limit/server-limit.mjs";
import { serve } from "./serve.mjs";
import { endpointOf } from "./toolrun.mjs";

const plan = makePlan({ deltas: 20 });
const WARM = 200;
const COUNT = 400;

/** Milliseconds from a request to the first byte of its stream; for toolrun also from the message that began the run. */
export async function firstBytes(subject) {
  const handler = subject === "floor" ? () => floor.respond(plan) : handlerOf(endpointOf(plan).toolrun);
  const server = await serve(handler);
  const client = { port: server.port, agent: new Agent({ keepAlive: true, maxSockets: 1 }) };
  const stream = [];
  const message = [];
  for (let index = 0; index < WARM + COUNT; index++) {
    const started = performance.now();
    const path = subject === "floor" ? "/" : await postMessage(client, `key-${index}`);
    const posted = performance.now();
    const { firstAt } = await send(client, subject === "floor" ? "POST" : "GET", path, subject === "floor" ? "{}" : "");
    if (index < WARM) continue;
    stream.push(firstAt - posted);
    message.push(firstAt - started);
  }
  server.close();
  return { stream: median(stream), message: median(message) };
}

function handlerOf(toolrun) {
  return (request) => (request.method === "GET" ? toolrun.GET(request) : toolrun.POST(request));
}

async function postMessage(client, key) {
  const body = JSON.stringify({ message: { text: "go" }, key });
  const { text } = await send(client, "POST", "/api/threads", body);
  return `/api/threads/${JSON.parse(text).threadId}/events`;
}

function send({ port, agent }, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body ? { "content-type": "application/json", "content-length": body.length } : {};
    const outgoing = request({ port, host: "127.0.0.1", method, path, agent, headers }, (incoming) => {
      let firstAt = 0;
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => {
        firstAt ||= performance.now();
        text += chunk;
      });
      incoming.on("end", () => resolve({ firstAt, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
