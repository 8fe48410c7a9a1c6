import { expect, test } from "vitest";
import * as z from "zod";
import { httpToolVia } from "../../../src/adapters/http-tool.ts";
import { defineAgent } from "../../../src/agent/define-agent.ts";
import { call, say, scriptedModel } from "../../../src/testing/scripted-model.ts";
import { clerk, endpoint } from "../../server/endpoint.ts";
import { json, openServer, wayOut } from "./open-server.ts";

test("a tool that changes something asks first, is sent once with its key, and no event holds its headers", async () => {
  await using server = await openServer((_, response) => json(response, { refunded: true }));
  const way = wayOut({ "api.example.com": ["93.184.216.34"] });
  const refund = httpToolVia(way.transport, {
    description: "Refunds an order.",
    method: "POST",
    url: `http://api.example.com:${server.port}/orders/{id}/refund`,
    allowHttp: true,
    readOnly: false,
    inputSchema: z.object({ id: z.string(), amount: z.number() }),
    headers: ({ user }) => ({ authorization: `Bearer secret-of-${user.id}` }),
  });
  const model = scriptedModel([call("refund", { id: "1042", amount: 5 }), say("Done.")]);
  const run = endpoint({ agent: defineAgent({ model, tools: { refund } }) });
  const waiting = await (await run.send({ user: clerk, message: "Refund it" })).settled();
  expect(waiting.status).toBe("waiting");
  expect(server.heard).toEqual([]);
  const [step] = waiting.pending;
  if (!step) throw new Error("Nothing waits.");
  await run.approve(step, { user: clerk });
  await expect.poll(async () => (await run.read({ user: clerk, threadId: waiting.id }))?.status).toBe("ended");
  const thread = await run.read({ user: clerk, threadId: waiting.id });
  expect(thread).toMatchObject({ text: "Done.", steps: [{ status: "succeeded", output: { refunded: true } }] });
  expect(server.heard).toMatchObject([
    {
      url: "/orders/1042/refund",
      body: '{"amount":5}',
      headers: { authorization: "Bearer secret-of-clerk", "idempotency-key": `${step.id}.0` },
    },
  ]);
  expect(JSON.stringify(await run.events(waiting.id))).not.toContain("secret-of");
});

test("a failure says the same to the model, the screen and the log: no address, no header", async () => {
  await using server = await openServer((_, response) => response.socket?.destroy());
  const find = httpToolVia(wayOut({ "api.example.com": ["93.184.216.34"] }).transport, {
    description: "Finds an order.",
    method: "GET",
    url: `http://api.example.com:${server.port}/orders`,
    allowHttp: true,
    readOnly: true,
    maxRetries: 0,
    inputSchema: z.object({}),
    headers: { authorization: "Bearer secret" },
  });
  const model = scriptedModel([call("find", {}), say("Sorry.")]);
  const run = endpoint({ agent: defineAgent({ model, tools: { find } }) });
  const thread = await (await run.send({ user: clerk, message: "Find it" })).settled();
  const message = `GET api.example.com:${server.port} gave no whole answer.`;
  expect(thread.steps[0]).toMatchObject({ status: "failed", error: { code: "tool-error", message } });
  expect(JSON.stringify(model.requests[1]?.messages)).toContain(message);
  expect(JSON.stringify(await run.events(thread.id))).not.toMatch(/secret|127\.0\.0\.1|93\.184/);
  expect(run.errors).toHaveLength(1); // the cause is for the server's log
});
