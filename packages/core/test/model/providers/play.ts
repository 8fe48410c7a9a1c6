import * as z from "zod";
import type { Tool } from "../../../src/agent/agent.ts";
import type { AgentOptions } from "../../../src/agent/define-agent.ts";
import { defineAgent } from "../../../src/agent/define-agent.ts";
import { tool } from "../../../src/agent/tool.ts";
import { isToolRunError } from "../../../src/errors.ts";
import type { Clock } from "../../../src/loop/clock.ts";
import { systemClock } from "../../../src/loop/clock.ts";
import { runAgent } from "../../../src/loop/run-agent.ts";
import type { RunResult } from "../../../src/loop/run-result.ts";
import type { RunOptions } from "../../../src/loop/run-session.ts";
import type { ModelInput } from "../../../src/model/ai-sdk.ts";
import type { ThreadEvent } from "../../../src/protocol/event.ts";

/** What became of a run. */
export interface Played {
  /** Every execution of a tool, in order. */
  readonly ran: readonly Ran[];
  /** Undefined when the run failed before the model said anything. */
  readonly result: RunResult | undefined;
  readonly status: RunResult["status"];
  readonly events: readonly ThreadEvent[];
  /** Why attempts failed, as the server's log has it. */
  readonly errors: readonly unknown[];
}

/** What a tool was run with. */
export type Ran = readonly [tool: string, input: unknown];

/** The clerk's tools: one with a required input, one where nothing is required, one that takes nothing. */
export function clerksTools(ran: Ran[]): Readonly<Record<string, Tool>> {
  const made = (name: string, inputSchema: z.ZodObject): Tool =>
    tool({
      description: `${name} of the shop`,
      inputSchema,
      readOnly: true,
      execute: (input: unknown) => {
        ran.push([name, input]);
        return { done: name };
      },
    });
  return {
    find_order: made("find_order", z.object({ orderId: z.string(), note: z.string().optional() })),
    list_orders: made("list_orders", z.object({ status: z.string().optional() })),
    ping: made("ping", z.object({})),
  };
}

type Settings = Partial<AgentOptions<Readonly<Record<string, Tool>>>>;

/** Runs an agent over a model to its end. Its clock goes a hundred times faster, so that attempts need not be waited for. */
export async function play(model: ModelInput, settings: Settings = {}, options: RunOptions = {}): Promise<Played> {
  const ran: Ran[] = [];
  const events: ThreadEvent[] = [];
  const errors: unknown[] = [];
  const agent = defineAgent({ model, tools: clerksTools(ran), modelSilenceMs: 600_000, ...settings });
  const result = await runAgent(agent, "Where is my order?", {
    clock: fastClock(100),
    ...options,
    onEvent: (event, thread) => {
      events.push(event);
      options.onEvent?.(event, thread);
    },
    onError: (error) => errors.push(error),
  }).catch((error: unknown) => {
    if (isToolRunError(error) && /^model-/.test(error.code)) return undefined; // it failed before the model said anything
    throw error;
  });
  return { ran, result, status: result?.status ?? "error", events, errors };
}

/** Real time that goes faster. */
export function fastClock(times: number): Clock {
  const real = systemClock();
  const begun = real.monotonic();
  const passed = (): number => (real.monotonic() - begun) * times;
  return {
    now: () => 1_790_000_000_000 + Math.round(passed()),
    monotonic: passed,
    after: (ms, callback) => real.after(ms / times, callback),
    random: () => 0,
    breath: real.breath,
  };
}

export function eventsOfType<Type extends ThreadEvent["type"]>(
  { events }: Played,
  type: Type,
): readonly Extract<ThreadEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<ThreadEvent, { type: Type }> => event.type === type);
}

export const attemptsOf = (played: Played): number => eventsOfType(played, "turn-started").length;
