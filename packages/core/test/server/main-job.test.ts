import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createToolRun, defineAgent, memoryStore, tool } from "../../src/server.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";

const clerk = { id: "clerk", name: "Clerk" };

function shop() {
  const refunds: { orderId: string; amount: number }[] = [];
  const tools = {
    findOrder: tool({
      description: "Find one order.",
      inputSchema: z.object({ orderId: z.string() }),
      readOnly: true,
      execute: async ({ orderId }) => ({ orderId, total: 49.9 }),
    }),
    refundOrder: tool({
      title: "Refund order",
      description: "Refund an order.",
      inputSchema: z.object({ orderId: z.string(), amount: z.number().positive() }),
      execute: async (input, { progress }) => {
        progress({ value: 1, max: 2, label: "Refunding" });
        refunds.push(input);
        return { refunded: input.amount };
      },
    }),
  };
  const model = scriptedModel([
    call("findOrder", { orderId: "1042" }),
    call("refundOrder", { orderId: "1042", amount: 49.9 }),
    (results) => say(results.at(-1)?.status === "not-run" ? "I did not refund it." : "Refunded."),
  ]);
  const toolrun = createToolRun({ agent: defineAgent({ model, tools }), store: memoryStore() });
  return { toolrun, refunds, model };
}

describe("the main job", () => {
  it("[A+] positive control: looks up by itself, asks before it refunds, and runs what was approved", async () => {
    const { toolrun, refunds } = shop();
    const asked = await (await toolrun.send({ user: clerk, message: "Refund 1042" })).settled();
    expect(asked.status).toBe("waiting");
    expect(asked.steps.map((step) => [step.tool, step.status])).toEqual([
      ["findOrder", "succeeded"],
      ["refundOrder", "waiting"],
    ]);
    const [step] = asked.pending;
    expect(step).toMatchObject({ tool: "refundOrder", input: { amount: 49.9 } });
    if (!step) return;
    const ended = await (await toolrun.approve(step, { user: clerk })).settled();
    expect(ended.outcome).toBe("completed");
    expect(ended.text).toBe("Refunded.");
    expect(refunds).toEqual([{ orderId: "1042", amount: 49.9 }]);
  });

  it("does not run what was denied, and the model says so", async () => {
    const { toolrun, refunds, model } = shop();
    const asked = await (await toolrun.send({ user: clerk, message: "Refund 1042" })).settled();
    const [step] = asked.pending;
    if (!step) throw new Error("nothing asked");
    const ended = await (await toolrun.deny(step, { user: clerk, reason: "wrong order" })).settled();
    expect(ended.steps.at(-1)?.status).toBe("not-run");
    expect(ended.text).toBe("I did not refund it.");
    expect(refunds).toEqual([]);
    expect(JSON.stringify(model.requests.at(-1))).toContain("wrong order");
  });

  it("runs an edited input, and tells the model", async () => {
    const { toolrun, refunds, model } = shop();
    const asked = await (await toolrun.send({ user: clerk, message: "Refund 1042" })).settled();
    const [step] = asked.pending;
    if (!step) throw new Error("nothing asked");
    const ended = await (
      await toolrun.approve(step, { user: clerk, input: { orderId: "1042", amount: 20 } })
    ).settled();
    expect(ended.outcome).toBe("completed");
    expect(refunds).toEqual([{ orderId: "1042", amount: 20 }]);
    expect(JSON.stringify(model.requests.at(-1))).toContain("20");
  });
});
