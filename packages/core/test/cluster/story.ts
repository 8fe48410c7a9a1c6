import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { Agent, Model, ModelMessage, ModelPart, ThreadStore, ToolContext } from "../../src/server.ts";
import { defineAgent, tool } from "../../src/server.ts";
import type { Journal } from "./journal.ts";
import { startedInLog } from "./read-log.ts";

/** What one run is about. It travels as the person's message: the model keeps nothing between two requests. */
export interface Plan {
  readonly run: number;
  /** Words of each turn's text, and the pause before each. */
  readonly words: number;
  readonly wordMs: number;
  readonly toolMs: number;
}

/** `charge` and `refund` must not run twice; `refund` waits for a person. */
export const TOOLS = ["lookup", "charge", "note", "refund"] as const;
export type ToolName = (typeof TOOLS)[number];
export type Results = Readonly<Record<ToolName, string>>;

export const ran = (name: ToolName): string => `${name}-ran`;
export const byHand = (name: ToolName): string => `${name}-by-hand`;
export const NONE = "nothing";

export function messageOf(plan: Plan): string {
  return `Go ${JSON.stringify(plan)}`;
}

/** The text of a turn before the last. */
export function turnText({ run, words }: Plan, turn: number): string {
  return Array.from({ length: words }, (_, index) => `r${run}t${turn}w${index} `).join("");
}

/** What the last turn says, given what became of the calls. */
export function finalText(plan: Plan, results: Results): string {
  return `${TOOLS.map((name) => `${name}: ${results[name]}`).join(", ")} ${turnText(plan, 4)}`;
}

/** Turn 1 looks up, turn 2 charges and notes side by side, turn 3 wants a refund, turn 4 says what came of it. */
const storyModel: Model = {
  id: "story",
  async *stream({ messages }, signal) {
    const plan = planOf(messages);
    const results = resultsOf(messages);
    const input = JSON.stringify({ ms: plan.toolMs });
    const asks = (...names: readonly ToolName[]): ModelPart[] =>
      names.map((name) => ({ type: "call", id: `${name}-${plan.run}`, name, input }));
    const done = Object.keys(results).length;
    const calls = done === 0 ? asks("lookup") : done === 1 ? asks("charge", "note") : done === 3 ? asks("refund") : [];
    const turn = [0, 1, 3, 4].indexOf(done) + 1;
    const text = turn < 4 ? turnText(plan, turn) : finalText(plan, results as Results); // all four are there
    for (const word of text.match(/\S+\s*/g) ?? []) {
      await sleep(plan.wordMs, undefined, { signal });
      yield { type: "text", text: word };
    }
    yield* calls;
    yield { type: "end", reason: calls.length > 0 ? "tools" : "stop" };
  },
};

function planOf(messages: readonly ModelMessage[]): Plan {
  for (const message of messages) {
    const [part] = message.role === "user" ? message.parts : [];
    if (part?.type === "text" && part.text.startsWith("Go ")) return JSON.parse(part.text.slice(3));
  }
  throw new Error("There is no plan.");
}

/** Of all the thread's runs: one that is continued goes on where the work ended. */
function resultsOf(messages: readonly ModelMessage[]): Partial<Results> {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  return Object.fromEntries(results.map(({ name, output, isError }) => [name, isError ? NONE : String(output)]));
}

/** The agent of both servers. Each execution is written down outside of them before it does anything. */
export function storyAgent(store: ThreadStore, journal: Journal): Agent {
  const inputSchema = z.object({ ms: z.number() });
  const execute =
    (name: ToolName) =>
    async ({ ms }: { ms: number }, context: ToolContext): Promise<string> => {
      const { threadId, callId, attempt, idempotencyKey } = context;
      const isLogged = await startedInLog(store, context);
      await journal.write({ tool: name, threadId, callId, attempt, idempotencyKey, isLogged });
      await sleep(ms);
      return ran(name);
    };
  const described = { description: "x", inputSchema };
  return defineAgent({
    model: storyModel,
    tools: {
      lookup: tool({ ...described, readOnly: true, idempotent: true, execute: execute("lookup") }),
      charge: tool({ ...described, approval: "allow", execute: execute("charge") }),
      note: tool({ ...described, approval: "allow", idempotent: true, execute: execute("note") }),
      refund: tool({ ...described, execute: execute("refund") }),
    },
  });
}
