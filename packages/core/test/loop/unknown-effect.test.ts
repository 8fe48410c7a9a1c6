import { expect, test } from "vitest";
import * as z from "zod";
import { tool } from "../../src/agent/tool.ts";
import { UnknownEffect } from "../../src/agent/unknown-effect.ts";
import { call, say } from "../../src/testing/scripted-model.ts";
import { agentRun, lastResults } from "./agent-run.ts";

function paying(options: { readonly idempotent?: boolean; readonly maxRetries?: number; readonly readOnly?: boolean }) {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    approval: "allow",
    ...options,
    execute: () => {
      throw new UnknownEffect("The bank hung up.");
    },
  });
  return agentRun({ tools: { pay }, script: [call("pay", {}), say("Done.")] });
}

test("an unknown effect is said to the person and the model, and is not tried again", async () => {
  const run = paying({ maxRetries: 2 });
  const ended = await run.start();
  expect(ended.steps).toMatchObject([{ status: "failed", attempt: 1, effect: "unknown" }]);
  expect(lastResults(run.model.requests[1])).toEqual([expect.stringMatching(/The bank hung up\. .*find out before/)]);
});

test("of an idempotent tool it is tried again with the same key", async () => {
  const run = paying({ idempotent: true, maxRetries: 1 });
  const threadId = await run.begin();
  await run.clock.advance(5_000);
  const events = await run.events(threadId);
  const keys = events.flatMap((event) => (event.type === "call-started" ? [event.key] : []));
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
});

test("of a tool that changes nothing it is no effect", async () => {
  expect((await paying({ readOnly: true }).start()).steps).toMatchObject([{ status: "failed", effect: "none" }]);
});
