import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { checkPairing } from "../../src/model/check-pairing.ts";
import type { Agent, Model, ModelPart, ToolContext } from "../../src/server.ts";
import { agentTool, browserTool, defineAgent, questionTool, tool } from "../../src/server.ts";

/** A call as the model wants it. */
interface Wanted {
  readonly tool: string;
  readonly input: { readonly [name: string]: string };
}

const wants = (name: string, what: string): Wanted => ({ tool: name, input: { what } });

/** One approval, one denial, one edit, a batch, a sub-agent, a browser, a question, and two that run side by side. */
const TURNS: readonly (readonly Wanted[])[] = [
  [wants("lookup", "order 7")],
  [wants("refund", "order 7")],
  [wants("erase", "customer 7")],
  [wants("price", "100")],
  [wants("mail", "Ann"), wants("mail", "Bob"), wants("lookup", "stock"), wants("mail", "Cid"), wants("mail", "Dan")],
  [{ tool: "research", input: { prompt: "Find out and publish." } }],
  [wants("clipboard", "address")],
  [{ tool: "size", input: { question: "Which size?" } }],
  [wants("charge", "7 EUR"), wants("print", "label")],
];

const RESEARCH: readonly (readonly Wanted[])[] = [[wants("publish", "findings")]];

/** What a run with this many turns says before its last one. */
export const TEXTS: readonly string[] = TURNS.map(textOf);
export const RESEARCH_TEXTS: readonly string[] = RESEARCH.map(textOf);

function textOf(_turn: unknown, index: number): string {
  return `Turn ${index + 1}. `;
}

/** Tools that start without an approval. */
export const ALLOWED: readonly string[] = ["lookup", "charge", "print", "research"];
/** Tools that do no work here: a person, a browser or another agent does it. */
export const ASKING: readonly string[] = ["research", "clipboard", "size"];
/** Tools that may run again with the same key. */
export const IDEMPOTENT: readonly string[] = ["lookup", "charge"];

/** What an execution returns. */
export function doneWith(what: unknown): string {
  return `done: ${what}`;
}

/** What the model was told of one call; the last text of a run is the list of them. */
export interface Told {
  readonly name: string;
  readonly output: unknown;
  readonly isError: boolean;
}

/** Plays its turns; where it is, is in the history and nowhere else. */
function scriptedTurns(turns: readonly (readonly Wanted[])[]): Model {
  return {
    id: "script",
    async *stream({ messages }, signal) {
      checkPairing(messages);
      const results = messages.flatMap((message) => (message.role === "tool" ? [message.results] : []));
      const index = results.length;
      const calls = (turns[index] ?? []).map(
        ({ tool: name, input }, place): ModelPart => ({
          type: "call",
          id: `${name}-${index}-${place}`,
          name,
          input: JSON.stringify(input),
        }),
      );
      const told: readonly Told[] = results.flat().map(({ name, output, isError }) => ({ name, output, isError }));
      yield { type: "text", text: calls.length > 0 ? textOf(calls, index) : JSON.stringify(told) };
      await sleep(3, undefined, { signal });
      yield* calls;
      yield { type: "end", reason: calls.length > 0 ? "tools" : "stop" };
    },
  };
}

/** Does the work of a tool, outside of the server. */
export type Perform = (name: string, input: { readonly what: string }, context: ToolContext) => Promise<void>;

export function scriptAgent(perform: Perform): Agent {
  const described = { description: "x", inputSchema: z.object({ what: z.string() }) };
  const works = (name: string) => ({
    ...described,
    execute: async (input: { what: string }, context: ToolContext): Promise<string> => {
      await perform(name, input, context);
      return doneWith(input.what);
    },
  });
  const modelAttempts = 10; // a machine so busy that leases run out cuts model calls off as a death does
  const research = defineAgent({
    model: scriptedTurns(RESEARCH),
    modelAttempts,
    tools: { publish: tool(works("publish")) },
  });
  return defineAgent({
    model: scriptedTurns(TURNS),
    limits: { turns: 20 },
    modelAttempts,
    tools: {
      lookup: tool({ ...works("lookup"), readOnly: true, idempotent: true }),
      refund: tool(works("refund")),
      erase: tool({ ...works("erase"), destructive: true }),
      price: tool(works("price")),
      mail: tool(works("mail")),
      research: agentTool({ description: "x", agent: research }),
      clipboard: browserTool({ ...described, outputSchema: z.object({ text: z.string() }) }),
      size: questionTool({ description: "x", answerSchema: z.object({ size: z.string() }) }),
      charge: tool({ ...works("charge"), approval: "allow", idempotent: true }),
      print: tool({ ...works("print"), approval: "allow" }),
    },
  });
}
