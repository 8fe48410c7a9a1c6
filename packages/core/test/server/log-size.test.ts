import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { EMPTY_LOG, grown, isFull, wantsSnapshot } from "../../src/server/thread-log.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { clerk, endpoint } from "./endpoint.ts";

describe("a thread's log", () => {
  it.each([
    ["small results", 1_000, false],
    ["one result of 300,000 characters", 300_000, true],
  ])("with %s has a snapshot at its end: %o", async (_title, chars, expected) => {
    const clock = fakeClock();
    const read = tool({
      description: "Reads.",
      inputSchema: z.object({}),
      readOnly: true,
      execute: () => "x".repeat(chars),
    });
    const model = scriptedModel([call("read", {}), say("Done.")], { clock });
    const server = endpoint({ agent: defineAgent({ model, tools: { read } }), clock });
    const { threadId, settled } = await server.send({ user: clerk, message: "Go" });
    expect(await settled()).toMatchObject({ outcome: "completed" });
    const stored = await server.store.read(threadId);
    expect(stored && "snapshot" in stored && stored.snapshot !== undefined).toBe(expected);
    expect(await server.read({ user: clerk, threadId })).toMatchObject({ text: "Done." });
  });

  it.each([
    ["499 events", { events: 499, chars: 0, base: 0 }, false],
    ["500 events", { events: 500, chars: 0, base: 0 }, true],
    ["256 Ki characters", { events: 1, chars: 262_144, base: 0 }, true],
    ["a large snapshot before it", { events: 1, chars: 0, base: 1_000_000 }, false],
  ])("of %s wants a snapshot: %o", (_title, size, expected) => {
    expect(wantsSnapshot(size)).toBe(expected);
  });

  it("is full at 32 Mi characters, its snapshot included", () => {
    const half = { events: 1, chars: 16_777_216, base: 16_777_215 };
    expect(isFull(half)).toBe(false);
    expect(isFull(grown(half, [{ data: "x" }]))).toBe(true);
    expect(isFull(EMPTY_LOG)).toBe(false);
  });
});
