import type { Tool } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { CallOptions } from "../../src/model/ai-sdk-request.ts";
import type { View } from "../../src/protocol/typed.ts";
import type { Endpoint, EndpointOptions } from "../server/endpoint.ts";
import { clerk, endpoint } from "../server/endpoint.ts";

/** An AI SDK model (spec v3) that plays answers, and what it was called with. */
export interface SdkModel {
  readonly specificationVersion: "v3";
  readonly provider: string;
  readonly modelId: string;
  readonly calls: CallOptions[];
  doStream(options: CallOptions): Promise<{ readonly stream: ReadableStream<unknown> }>;
}

/** Each answer is a list of stream parts; its finish part is added. */
export function sdkModel(answers: readonly (readonly object[])[], provider = "made"): SdkModel {
  const calls: CallOptions[] = [];
  return {
    specificationVersion: "v3",
    provider,
    modelId: "m",
    calls,
    doStream: async (options) => {
      const parts = answers[calls.length] ?? [];
      calls.push(options);
      return { stream: streamOf([...parts, finish]) };
    },
  };
}

const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} };

function streamOf(parts: readonly object[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

export const words = (delta: string): object => ({ type: "text-delta", id: "t", delta });

/** A whole call as the AI SDK gives it. */
export const toolCall = (toolCallId: string, toolName: string, input: string, more: object = {}): object => ({
  ...{ type: "tool-call", toolCallId, toolName, input },
  ...more,
});

export type SdkRunOptions = Omit<AgentOptions<Readonly<Record<string, Tool>>>, "model"> & {
  readonly model: SdkModel;
  readonly server?: Omit<EndpointOptions, "agent"> | undefined;
};

/** An agent over an AI SDK model, on a server with a memory store and a clock that stands still. */
export function sdkRun({ server, ...agent }: SdkRunOptions): Endpoint & { start(message?: string): Promise<View> } {
  const made = endpoint({ ...server, agent: defineAgent(agent) });
  return { ...made, start: async (message = "Go") => (await made.send({ user: clerk, message })).settled() };
}
