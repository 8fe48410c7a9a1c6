import type { Tool } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { ModelRequest } from "../../src/model/model.ts";
import type { View } from "../../src/protocol/typed.ts";
import type { ScriptEntry, ScriptedModel } from "../../src/testing/scripted-model.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint, EndpointOptions } from "../server/endpoint.ts";
import { clerk, endpoint } from "../server/endpoint.ts";

export interface AgentRun extends Endpoint {
  readonly model: ScriptedModel;
  /** Sends a first message and waits until the run ended or waits for a person. */
  start(message?: string): Promise<View>;
  /** Sends a first message and lets everything happen that needs no time. */
  begin(message?: string): Promise<string>;
}

export interface AgentRunOptions extends Omit<AgentOptions<Readonly<Record<string, Tool>>>, "model"> {
  readonly script: readonly ScriptEntry[];
  readonly clock?: FakeClock | undefined;
  readonly server?: Omit<EndpointOptions, "agent" | "clock"> | undefined;
}

/** An agent that plays a script, on a server with a memory store and a clock that stands still. */
export function agentRun({ script, clock = fakeClock(), server, ...agent }: AgentRunOptions): AgentRun {
  const model = scriptedModel(script, { clock });
  const made = endpoint({ ...server, agent: defineAgent({ ...agent, model }), clock });
  return {
    ...made,
    model,
    start: async (message = "Go") => (await made.send({ user: clerk, message })).settled(),
    begin: async (message = "Go") => {
      const { threadId } = await made.send({ user: clerk, message });
      await clock.advance(0);
      return threadId;
    },
  };
}

/** The words of a request: what the model was told. */
export function told(request: ModelRequest | undefined): string {
  return JSON.stringify(request?.messages ?? []);
}

/** The results the model was given last, in order. */
export function lastResults(request: ModelRequest | undefined): readonly unknown[] {
  const message = request?.messages.findLast(({ role }) => role === "tool");
  return message?.role === "tool" ? message.results.map(({ output }) => output) : [];
}
