import * as z from "zod";
import type { Agent, Tool } from "../../src/agent/agent.ts";
import type { ToolContext } from "../../src/agent/tool-context.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import type { Model, ModelPart, ModelRequest } from "../../src/model/model.ts";
import type { Json } from "../../src/protocol/values.ts";
import type { Scenario, ScenarioTool } from "./scenario.ts";
import { FORBIDDEN, INPUT } from "./scenario.ts";

/** The functions under test, real or mutated. */
export type Subject = typeof import("./subject.ts");

/** Where the model and the tools of one server wait for the scheduler. */
export interface Workplace {
  modelStep(signal: AbortSignal): Promise<void>;
  execute(tool: string, input: Json, context: ToolContext): Promise<Json>;
}

/** An agent whose every step is the scheduler's. Making one is slow: worlds of a scenario share it, by `at`. */
export function makeAgent(subject: Subject, scenario: Scenario, at: () => Workplace): Agent {
  const made = new Map<string, Tool>();
  // A sub-agent's tools come before it in the list.
  for (const [name, options] of Object.entries(scenario.tools ?? {})) {
    made.set(
      name,
      makeTool(subject, name, options, (tools) => agentWith(subject, scenario, at, made, tools), at),
    );
  }
  return agentWith(subject, scenario, at, made, undefined);
}

/** The scenario's agent, or the one below it that calls these tools. */
function agentWith(
  subject: Subject,
  scenario: Scenario,
  at: () => Workplace,
  tools: ReadonlyMap<string, Tool>,
  calls: readonly string[] | undefined,
): Agent {
  const own = [...tools].filter(([name]) => calls === undefined || calls.includes(name));
  return subject.defineAgent({
    model: scriptOf(calls ?? scenario.calls ?? [], at, scenario.again ?? false),
    tools: Object.fromEntries(own),
    modelSilenceMs: 600_000,
    limits: { timeMs: 3_600_000 },
    ...(calls ? {} : scenario.agent),
  });
}

function makeTool(
  subject: Subject,
  name: string,
  options: ScenarioTool,
  agentOf: (calls: readonly string[]) => Agent,
  at: () => Workplace,
): Tool {
  const { readOnly, idempotent } = options;
  const inputSchema = z.object({ amount: z.number() });
  const common = { description: name, inputSchema };
  if (options.agent) return subject.agentTool({ ...common, agent: agentOf(options.agent) });
  if (options.question)
    return subject.questionTool({ ...common, answerSchema: inputSchema, prompt: () => "How much?" });
  return subject.tool({
    ...common,
    ...{ readOnly, idempotent, timeoutMs: 600_000, maxRetries: idempotent ? 1 : 0 },
    approval: readOnly ? undefined : ruleOf(options),
    execute: (input, context) =>
      options.asks && context.answer === undefined
        ? subject.ask({ prompt: "Which account?" })
        : at().execute(name, input, context),
  });
}

/** Asks, with a time where the scenario sets one; a tool that denies does so for one input. */
function ruleOf({ expiresInMs, denies }: ScenarioTool): (input: { readonly amount: number }) => Verdict {
  const forbidden = JSON.stringify(FORBIDDEN);
  const ask = { expiresInMs, scopes: ["once", "run", "thread"] } as const;
  return (input) => (denies && JSON.stringify(input) === forbidden ? { deny: "Not that much." } : { ask });
}

/** What the model answers when it has read so many messages and its calls are done. */
export function answerTo(messages: number): string {
  return `read ${messages} done`;
}

/** Calls these tools once, or once behind each message, then answers in two pieces how many messages it has read. */
function scriptOf(wanted: readonly string[], at: () => Workplace, again: boolean): Model {
  return {
    async *stream(request, signal) {
      const place = at();
      await place.modelStep(signal);
      if (wanted.length > 0 && !hasResults(request, again)) {
        for (const [index, name] of wanted.entries()) yield toCall(`c${index}`, name);
        yield { type: "end", reason: "tools" };
        return;
      }
      const text = answerTo(request.messages.filter(isFromPerson).length);
      const cut = text.indexOf(" ") + 1;
      yield { type: "text", text: text.slice(0, cut) };
      await place.modelStep(signal);
      yield [
        { type: "text", text: text.slice(cut) },
        { type: "end", reason: "stop" },
      ];
    },
  };
}

function toCall(id: string, wanted: string): ModelPart {
  const [name = "", amount] = wanted.split(" ");
  return { type: "call", id, name, input: JSON.stringify(amount === undefined ? INPUT : { amount: Number(amount) }) };
}

function hasResults({ messages }: ModelRequest, again: boolean): boolean {
  const since = again ? messages.findLastIndex(isFromPerson) : 0;
  return messages.slice(since).some((message) => message.role === "tool");
}

/** Notes of the app travel in the person's role; they begin with a bracket. */
function isFromPerson(message: ModelRequest["messages"][number]): boolean {
  if (message.role !== "user") return false;
  const [part] = message.parts;
  return part?.type === "text" && !part.text.startsWith("[");
}
