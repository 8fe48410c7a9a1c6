import { describe, expect, it } from "vitest";
import type { StepRecord } from "../../src/loop/observers.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { stepMonitor } from "../../src/loop/step-monitor.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { scriptedAgent } from "./scripted-agent.ts";

function step(toolName: string, durationMs: number, isError = false, timestamp = 1_000): StepRecord {
  const rest = { iteration: 0, toolArguments: "{}", toolResult: null, callId: "c" };
  return { toolName, durationMs, isError, timestamp, ...rest };
}

describe("[M-37] a step monitor", () => {
  it("counts calls, errors and times of each tool, and knows the last call", () => {
    const monitor = stepMonitor();
    monitor.onStep(step("search", 100));
    monitor.onStep(step("search", 300, true, 2_000));
    monitor.onStep(step("refund", 50));
    expect(monitor.tools).toEqual({
      search: {
        count: 2,
        errors: 1,
        totalMs: 400,
        meanMs: 200,
        maxMs: 300,
        lastAt: 2_000,
        last: step("search", 300, true, 2_000),
      },
      refund: { count: 1, errors: 0, totalMs: 50, meanMs: 50, maxMs: 50, lastAt: 1_000, last: step("refund", 50) },
    });
    expect(monitor.snapshot()).toMatchObject({ isRunning: true, count: 3, errors: 1 });
  });

  it("stops, goes on and forgets", () => {
    const monitor = stepMonitor();
    monitor.onStep(step("search", 1));
    monitor.stop();
    monitor.onStep(step("search", 1));
    expect(monitor.snapshot()).toMatchObject({ isRunning: false, count: 1 });
    monitor.start();
    monitor.onStep(step("search", 1));
    expect(monitor.tools.search?.count).toBe(2);
    monitor.reset();
    expect(monitor.snapshot()).toEqual({ isRunning: true, count: 0, errors: 0, tools: {} });
  });

  it("gives a snapshot that does not change any more", () => {
    const monitor = stepMonitor();
    monitor.onStep(step("search", 1));
    const before = monitor.snapshot();
    monitor.onStep(step("search", 5));
    expect(before.tools.search).toMatchObject({ count: 1, maxMs: 1 });
  });

  it("keeps a thousand tools; of names beyond only the sums", () => {
    const monitor = stepMonitor();
    for (let index = 0; index <= 1_000; index++) monitor.onStep(step(`made-up-${index}`, 1));
    expect(Object.keys(monitor.tools)).toHaveLength(1_000);
    expect(monitor.snapshot().count).toBe(1_001);
  });

  it("takes a tool of any name, also one of Object's prototype", () => {
    const monitor = stepMonitor();
    monitor.onStep(step("__proto__", 1));
    monitor.onStep(step("toString", 1));
    expect(Object.keys(monitor.tools)).toEqual(["__proto__", "toString"]);
  });

  it("watches runs as their onStep", async () => {
    const { agent, options } = scriptedAgent({
      script: [calls(call("noop", {}), call("ghost", {})), call("noop", {}), say("Done")],
    });
    const monitor = stepMonitor();
    await runAgent(agent, "Go", { ...options, onStep: monitor.onStep });
    expect(monitor.snapshot()).toMatchObject({
      count: 3,
      errors: 1,
      tools: { noop: { count: 2 }, ghost: { errors: 1 } },
    });
  });
});
