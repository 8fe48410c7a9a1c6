import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentTool } from "../../src/agent/agent-tool.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { makeRules } from "../../src/agent/make-rules.ts";
import type { Rules } from "../../src/agent/rules.ts";
import { tool } from "../../src/agent/tool.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

type Options = Partial<AgentOptions<Record<never, never>>>;

function rulesOf(options: Options = {}): Rules {
  return defineAgent({ model: scriptedModel([]), ...options }).rules;
}

describe("an agent's rules", () => {
  it("have defaults", () => {
    expect(rulesOf()).toEqual({
      limits: {
        turns: 10,
        calls: 100,
        tokens: null,
        timeMs: 300_000,
        repeats: { count: 3, follows: "note" },
        failures: { count: 3, except: [] },
        depth: 3,
      },
      onLimit: "answer",
      onDenied: "continue",
      holdTurn: false,
      concurrency: 8,
      modelAttempts: 3,
      models: 1,
      modelTimeoutMs: 60_000,
      judgesTurns: false,
      gateAttempts: 0,
      tools: {},
    });
  });

  it("are what the developer says", () => {
    const said = { onLimit: "stop", onDenied: "stop", holdTurn: true, concurrency: 2, modelAttempts: 4 } as const;
    expect(rulesOf({ ...said, modelSilenceMs: 5 })).toMatchObject({ ...said, modelTimeoutMs: 5 });
  });

  it.each<[string, Options["limits"], Partial<Rules["limits"]>]>([
    [
      "numbers",
      { turns: 2, calls: 4, tokens: 5, timeMs: 6, depth: 7 },
      { turns: 2, calls: 4, tokens: 5, timeMs: 6, depth: 7 },
    ],
    ["the smallest numbers", { turns: 1, calls: 1, tokens: 1, depth: 1 }, { turns: 1, calls: 1, tokens: 1, depth: 1 }],
    ["how often calls may repeat", { repeats: 2 }, { repeats: { count: 2, follows: "note" } }],
    [
      "what follows repetitions",
      { repeats: { count: 4, follows: "stop" } },
      { repeats: { count: 4, follows: "stop" } },
    ],
    ["nothing about what follows", { repeats: { count: 4 } }, { repeats: { count: 4, follows: "note" } }],
    [
      "undefined about what follows",
      { repeats: { count: 4, follows: undefined } },
      { repeats: { count: 4, follows: "note" } },
    ],
    ["no limit of repetitions", { repeats: false }, { repeats: null }],
    ["how often calls may fail", { failures: 1 }, { failures: { count: 1, except: [] } }],
    [
      "whose failures do not count",
      { failures: { count: 2, except: ["flaky"] } },
      { failures: { count: 2, except: ["flaky"] } },
    ],
    ["nothing about whose", { failures: { count: 2 } }, { failures: { count: 2, except: [] } }],
    ["undefined about whose", { failures: { count: 2, except: undefined } }, { failures: { count: 2, except: [] } }],
    ["no limit of failures", { failures: false }, { failures: null }],
  ])("take %s", (_title, limits, expected) => {
    expect(rulesOf({ limits }).limits).toEqual({ ...rulesOf().limits, ...expected });
  });

  const gate = { check: () => true as const, maxAttempts: 2 };
  const stopWhen = (): boolean => false;

  it.each<[string, Options, Partial<Rules>]>([
    ["neither", {}, { judgesTurns: false, gateAttempts: 0 }],
    ["stopWhen", { stopWhen }, { judgesTurns: true, gateAttempts: 0 }],
    ["the gate", { gate }, { judgesTurns: true, gateAttempts: 2 }],
    ["both", { stopWhen, gate }, { judgesTurns: true, gateAttempts: 2 }],
  ])("show whole turns to the app's conditions where there is: %s", (_title, options, expected) => {
    expect(rulesOf(options)).toMatchObject(expected);
  });

  it.each<[string, Options, RegExp]>([
    ["half a repetition", { limits: { repeats: 2.5 } }, /limits\.repeats.*2\.5/],
    ["a gate without attempts", { gate: { ...gate, maxAttempts: 0 } }, /gate\.maxAttempts.*it is 0/],
    ["no time for the model", { modelSilenceMs: 0 }, /modelSilenceMs.*it is 0/],
    ["time that is no number", { limits: { timeMs: Number.NaN } }, /limits\.timeMs.*NaN/],
  ])("refuse %s", (_title, options, message) => {
    expect(() => rulesOf(options)).toThrow(message);
    expect(() => rulesOf(options)).toThrow(expect.objectContaining({ code: "invalid-config" }));
  });

  it("refuse a silence that is none by themselves too", () => {
    expect(() => makeRules({ modelSilenceMs: 0 }, new Map())).toThrow(/modelSilenceMs.*it is 0/);
  });

  it("say of each tool what the loop may do with it", () => {
    const description = "x";
    const inputSchema = z.object({});
    const helper = defineAgent({ model: scriptedModel([]), limits: { turns: 2 } });
    const { tools } = defineAgent({
      model: scriptedModel([]),
      tools: {
        plain: tool({ description, inputSchema, execute: () => 1 }),
        safe: tool({
          ...{ description, inputSchema, execute: () => 1 },
          ...{ idempotent: true, maxRetries: 2, sequential: true, timeoutMs: 7 },
        }),
        help: agentTool({ agent: helper, description }),
      },
    }).rules;
    expect(tools).toMatchObject({
      plain: { kind: "server", idempotent: false, sequential: false },
      safe: { kind: "server", timeoutMs: 7, idempotent: true, maxRetries: 2, sequential: true },
      help: { kind: "agent", agent: helper.rules },
    });
    expect(tools.plain?.agent).toBeUndefined();
  });
});
