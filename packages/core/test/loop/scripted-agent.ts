import * as z from "zod";
import type { Agent, Tool } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { RunOptions } from "../../src/loop/run-session.ts";
import type { ScriptEntry, ScriptedModel } from "../../src/testing/scripted-model.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";

export interface ScriptedAgent {
  readonly agent: Agent;
  readonly model: ScriptedModel;
  readonly clock: FakeClock;
  /** Everything that was reported. */
  readonly errors: unknown[];
  /** A clock that stands still, ids in order, errors kept. */
  readonly options: Pick<RunOptions, "clock" | "newId" | "onError">;
}

export interface ScriptedAgentOptions extends Omit<AgentOptions<Readonly<Record<string, Tool>>>, "model"> {
  readonly script: readonly ScriptEntry[];
  readonly clock?: FakeClock | undefined;
}

/** An agent that plays a script, and what a run of it in memory needs to be the same each time. */
export function scriptedAgent(setup: ScriptedAgentOptions): ScriptedAgent {
  const { script, clock = fakeClock(), tools = { add, noop }, ...rest } = setup;
  const model = scriptedModel(script, { clock });
  const errors: unknown[] = [];
  let ids = 0;
  const options = { clock, newId: () => `id-${++ids}`, onError: (error: unknown) => void errors.push(error) };
  return { agent: defineAgent({ ...rest, tools, model }), model, clock, errors, options };
}

export const add: Tool = tool({
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  readOnly: true,
  execute: ({ a, b }) => a + b,
});

export const noop: Tool = tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => "ok" });
