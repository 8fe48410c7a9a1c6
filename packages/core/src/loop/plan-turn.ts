import type { Agent } from "../agent/agent.ts";
import { toModels } from "../agent/models.ts";
import type { TurnChanges } from "../agent/prepare-turn.ts";
import { ToolRunError } from "../errors.ts";
import { wireToolName } from "../model/tool-name.ts";
import { deepFreeze } from "../protocol/freeze.ts";
import type { Thread } from "../protocol/thread.ts";
import type { View } from "../protocol/typed.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { Action } from "./action.ts";
import type { LoopContext } from "./context.ts";
import { fallbacksUsed, triesWith } from "./fallback.ts";
import { hooked } from "./model-hooks.ts";
import type { TurnPlan } from "./turn-plan.ts";

type CallModelAction = Action & { readonly type: "call-model" };

/**
 * Sets up a turn; asks the agent's `prepareTurn`, if it has one.
 * @throws what that threw, or what is wrong with what it returned; rejects with it where it is asked.
 */
export function planTurn(
  action: CallModelAction,
  thread: Thread,
  agent: Agent,
  options: Pick<LoopContext, "clock" | "user">,
): TurnPlan | Promise<TurnPlan> {
  const { prepareTurn } = agent;
  const own = planOf(action, agent, {}, fallbacksUsed(action.run, agent));
  if (!prepareTurn) return own;
  const { run, turn, attempt, last } = action;
  const { user } = options;
  const asked = (): ReturnType<typeof prepareTurn> =>
    prepareTurn({
      user,
      threadId: thread.id,
      runId: run.runId,
      turn,
      attempt,
      thread: deepFreeze(viewThread(thread)) as View, // the registered agent's thread
      model: own.model.id,
      tools: last ? [] : [...agent.tools.keys()],
      instructions: instructionsOf(agent, options),
    });
  return hooked(options.clock, asked).then((said) => {
    const changes = checked(said ?? {}, agent, last !== undefined);
    return planOf(action, agent, changes, changes.model ? 0 : fallbacksUsed(run, agent));
  });
}

function planOf({ attempt, last }: CallModelAction, agent: Agent, changes: TurnChanges, used: number): TurnPlan {
  const { instructions = agent.instructions, tools: names, toolChoice } = changes;
  const models = changes.model ? toModels(changes.model) : agent.models;
  const { index, tries } = triesWith(models, used, attempt, agent.rules.modelAttempts);
  const callable = toolChoice === "none" ? [] : names;
  const isOffered = (name: string): boolean => !callable || callable.includes(name);
  const restricted = !last && callable !== undefined && [...agent.tools.keys()].some((name) => !isOffered(name));
  const shown = names && new Set(names.map(wireToolName));
  return {
    model: models[index] as TurnPlan["model"], // lists of models are never empty
    agent: {
      ...agent,
      instructions,
      tools: restricted ? new Map([...agent.tools].filter(([name]) => isOffered(name))) : agent.tools,
      specs: shown ? agent.specs.filter(({ name }) => shown.has(name)) : agent.specs,
    },
    toolChoice,
    tries,
    isLastModel: index === models.length - 1,
    offered: restricted ? [...agent.tools.keys()].filter(isOffered) : undefined,
  };
}

const KNOWN: readonly string[] = ["model", "tools", "toolChoice", "instructions"];

/** What `prepareTurn` returned, if it can be meant. */
function checked(said: TurnChanges, agent: Agent, toolsOff: boolean): TurnChanges {
  if (typeof said !== "object") throw wrong(`returned ${typeof said}; return an object, or nothing`);
  const odd = Object.keys(said).find((key) => !KNOWN.includes(key));
  if (odd !== undefined) throw wrong(`returned "${odd}"; it may return ${KNOWN.join(", ")}`);
  const { tools, toolChoice, instructions } = said;
  if (instructions !== undefined && typeof instructions !== "string")
    throw wrong("returned instructions that are no text");
  if (tools !== undefined && !Array.isArray(tools)) throw wrong("returned tools that are no list of names");
  for (const name of tools ?? []) known(name, agent);
  if (toolChoice === undefined || toolsOff) return said;
  const shown = tools ?? [...agent.tools.keys()];
  if (typeof toolChoice === "object" && toolChoice !== null) {
    known(toolChoice.tool, agent);
    if (!shown.includes(toolChoice.tool)) throw wrong(`chose the tool "${toolChoice.tool}", which it hid`);
  } else if (!["auto", "none", "required"].includes(toolChoice)) {
    throw wrong(`returned the toolChoice ${JSON.stringify(toolChoice)}; it is "auto", "none", "required" or { tool }`);
  } else if (toolChoice === "required" && shown.length === 0) throw wrong("requires a tool, and offers none");
  return said;
}

function known(name: string, { tools }: Agent): void {
  if (!tools.has(name)) throw wrong(`named the tool "${name}"; there are ${[...tools.keys()].join(", ") || "none"}`);
}

function wrong(what: string): ToolRunError {
  return new ToolRunError("invalid-config", `prepareTurn ${what}.`);
}

function instructionsOf({ instructions }: Agent, { user }: Pick<LoopContext, "user">): string | undefined {
  return typeof instructions === "function" ? instructions({ user }) : instructions;
}
