import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import type { ModelMessage, ModelRequest } from "../../src/model/model.ts";
import { NOTE_PREFIX } from "../../src/model/prompt.ts";
import type { EventType, ThreadEvent } from "../../src/protocol/event.ts";
import type { Call, Run, Thread } from "../../src/protocol/thread.ts";
import { turnsOf } from "../../src/protocol/thread.ts";
import type { View } from "../../src/protocol/typed.ts";

/** A tool that records the inputs it ran with. */
export interface Recorder {
  readonly tool: Tool;
  readonly ran: unknown[];
}

/** A tool of a scenario: it takes anything, runs without asking, and answers with `output`. */
export function recorder(output: unknown = "ok", more: object = {}): Recorder {
  const ran: unknown[] = [];
  const made = tool({
    description: "Does something.",
    inputSchema: z.looseObject({}),
    readOnly: true,
    execute: (input: unknown) => {
      ran.push(input);
      return typeof output === "function" ? output(input) : output;
    },
    ...more,
  });
  return { ran, tool: made };
}

/** A tool that fails each time it runs. */
export function failing(message: string): Recorder {
  return recorder(() => {
    throw new Error(message);
  });
}

/** A tool that waits until the test lets it end. */
export function held(more: object = {}): Recorder & { end(value?: unknown): void } {
  let finish: (value: unknown) => void = () => undefined;
  const made = recorder(() => new Promise((resolve) => (finish = resolve)), more);
  return { ...made, end: (value) => finish(value) };
}

/** A rule that answers with one verdict and counts how often it was asked. */
export function rule(verdict: (tool: string) => Verdict): {
  (call: { readonly tool: string }): Verdict;
  asked: string[];
} {
  const asked: string[] = [];
  return Object.assign(
    (call: { readonly tool: string }): Verdict => {
      asked.push(call.tool);
      return verdict(call.tool);
    },
    { asked },
  );
}

/** The only step that waits. */
export function waiting(thread: View): View["pending"][number] {
  const [step, ...others] = thread.pending;
  if (!step || others.length > 0) throw new Error(`${thread.pending.length} steps wait, not one`);
  return step;
}

/** The root run of a thread that has one. */
export function runOf(thread: Thread): Run {
  const run = thread.active[0] ?? thread.runs.at(-1);
  if (!run) throw new Error("there is no run");
  return run;
}

/** All calls of a run, in call order. */
export function callsOf(run: Run): readonly Call[] {
  return turnsOf(run).flatMap((turn) => turn.calls);
}

/** How often an event is in a log. */
export function count(events: readonly ThreadEvent[], type: EventType): number {
  return events.filter((event) => event.type === type).length;
}

/** The results a request ends with or holds last: text and whether it is an error. */
export function resultsIn(request: ModelRequest | undefined): readonly { output: unknown; isError: boolean }[] {
  const message = request?.messages.findLast(({ role }) => role === "tool");
  return message?.role === "tool" ? message.results.map(({ output, isError }) => ({ output, isError })) : [];
}

/** Every text of a request's messages of one role. */
export function textsIn(request: ModelRequest | undefined, role: ModelMessage["role"]): readonly string[] {
  return (request?.messages ?? []).flatMap((message) => {
    if (message.role !== role) return [];
    if (message.role === "system") return [message.text];
    if (message.role === "tool") return [];
    return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });
}

/** What the app told the model in a request. */
export function notesIn(request: ModelRequest | undefined): readonly string[] {
  return textsIn(request, "user").filter((text) => text.startsWith(NOTE_PREFIX));
}

/** How often each call was settled. */
export function settlements(events: readonly ThreadEvent[]): number[] {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.type === "call-ready") counts.set(event.callId, 0);
    if (event.type === "call-settled") counts.set(event.callId, (counts.get(event.callId) ?? 0) + 1);
  }
  return [...counts.values()];
}
