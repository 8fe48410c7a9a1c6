import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk } from "../server/endpoint.ts";
import { errorOf, shop, waitingShop } from "../server/shop.ts";

const approval = { ask: { grant: { key: "SERVER-ONLY", label: "Refunds of order 1042" } } };

describe("the step in a refusal", () => {
  it.each(["approve", "answer", "extend"])('of "%s" has nothing of the grant key', async (action) => {
    const { server, threadId, step } = await waitingShop({ refund: { approval } });
    for (const digest of ["stale", step.digest]) {
      const decision = { callId: step.id, digest, action, value: 1, scope: "thread" };
      if (action === "approve" && digest === step.digest) continue;
      const response = await server.post(`/${threadId}/decisions`, { decisions: [decision], key: digest });
      const text = await response.clone().text();
      const { status, step: shown } = await errorOf(response);
      expect([status, shown?.id, shown?.ask?.grant?.label]).toEqual([409, step.id, "Refunds of order 1042"]);
      expect(text).not.toContain("SERVER-ONLY");
    }
  });

  it("has nothing of it in the steps of a sub-agent either", async () => {
    const clock = fakeClock();
    const refund = tool({ description: "x", inputSchema: z.object({}), approval, execute: () => null });
    const model = scriptedModel([call("refund", {}), say("Done.")], { clock });
    const helper = agentTool({ description: "x", agent: defineAgent({ model, tools: { refund } }) });
    const { server } = shop({ clock, tools: { helper }, script: [call("helper", { prompt: "Go" }), say("Done.")] });
    const { threadId } = await server.send({ user: clerk, message: "Go" });
    await clock.advance(0);
    const parent = (await server.read({ user: clerk, threadId }))?.steps[0];
    const decisions = [{ callId: parent?.id, digest: parent?.digest, action: "approve" }];
    const response = await server.post(`/${threadId}/decisions`, { decisions, key: "k" });
    const text = await response.clone().text();
    const { status, step: shown } = await errorOf(response);
    expect([status, shown?.children?.length]).toEqual([409, 1]);
    expect(text).not.toContain("SERVER-ONLY");
  });

  it("of what came too late is the step as its end is in the log, at once and again", async () => {
    const { server, threadId, step } = await waitingShop({ refund: { approval: { ask: { expiresInMs: 1_000 } } } });
    await server.clock.advance(1_000);
    const decisions = [{ callId: step.id, digest: step.digest, action: "approve" }];
    for (const key of ["first", "first", "second"]) {
      const error = await errorOf(await server.post(`/${threadId}/decisions`, { decisions, key }));
      expect(error).toMatchObject({ status: 410, code: "expired" });
      expect(error.step).toMatchObject({
        status: "not-run",
        reason: "expired",
        ask: null,
        decision: { action: "expire" },
      });
    }
  });
});
