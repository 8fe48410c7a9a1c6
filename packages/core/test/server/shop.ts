import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { AnyStep } from "../../src/protocol/step.ts";
import type { ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint, EndpointOptions } from "./endpoint.ts";
import { clerk, endpoint } from "./endpoint.ts";

export const REFUND = { orderId: "1042", amount: 49.9 } as const;

export interface Shop {
  readonly server: Endpoint;
  /** The inputs the refund tool ran with. */
  readonly ran: unknown[];
}

export interface ShopOptions extends Omit<EndpointOptions, "agent"> {
  readonly script?: readonly ScriptEntry[] | undefined;
  /** More settings of the refund tool. */
  readonly refund?: object | undefined;
  readonly tools?: Readonly<Record<string, Tool>> | undefined;
  readonly more?: Partial<AgentOptions<Readonly<Record<string, Tool>>>> | undefined;
}

/** A shop whose assistant asks before it refunds. */
export function shop(options: ShopOptions = {}): Shop {
  const {
    script = [call("refund", REFUND), say("Done.")],
    refund,
    tools,
    more,
    clock = fakeClock(),
    ...rest
  } = options;
  const ran: unknown[] = [];
  const refundTool = tool({
    description: "Refund an order.",
    inputSchema: z.object({ orderId: z.string(), amount: z.number().positive() }),
    ...refund,
    execute: (input: unknown) => {
      ran.push(input);
      return { refunded: true };
    },
  });
  const model = scriptedModel(script, { clock });
  const agent = defineAgent({ ...more, model, tools: { refund: refundTool, ...tools } });
  return { server: endpoint({ ...rest, clock, agent }), ran };
}

export interface WaitingShop extends Shop {
  readonly threadId: string;
  readonly runId: string;
  readonly step: AnyStep;
}

/** A shop in which one refund waits for a person. */
export async function waitingShop(options: ShopOptions = {}): Promise<WaitingShop> {
  const made = shop(options);
  const sent = await made.server.send({ user: clerk, message: "Refund 1042" });
  const thread = await sent.settled();
  const [step] = thread.pending;
  if (!step) throw new Error("nothing waits");
  return { ...made, threadId: sent.threadId, runId: sent.runId, step: step as AnyStep }; // any agent's step
}

export interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  readonly issues?: readonly { readonly path: readonly (string | number)[]; readonly message: string }[];
  readonly reference?: string;
  readonly step?: Partial<AnyStep>;
}

/** The error of a response, after checks that hold for every error that leaves the server. */
export async function errorOf(response: Response): Promise<ErrorAnswer & { readonly status: number }> {
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("application/json")) throw new Error(`an error as ${type}: ${text}`);
  if (response.headers.get("cache-control") !== "no-store") throw new Error("an error that may be kept");
  if (/\n\s+at |\.ts:\d+|node_modules/.test(text)) throw new Error(`a stack leaves the server: ${text}`);
  const { error }: { error: ErrorAnswer } = JSON.parse(text);
  const unknown = Object.keys(error).filter(
    (name) => !["code", "message", "issues", "reference", "step"].includes(name),
  );
  if (unknown.length > 0) throw new Error(`an error with ${unknown.join()}`);
  if (typeof error.code !== "string" || typeof error.message !== "string" || error.message === "") {
    throw new Error(`an error without code and message: ${text}`);
  }
  return { ...error, status: response.status };
}
