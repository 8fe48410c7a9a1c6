import type { Agent } from "../agent/agent.ts";
import type { NamedModel } from "../agent/models.ts";
import type { Run } from "../protocol/thread.ts";
import { turnsOf } from "../protocol/thread.ts";

/** Which of several models an attempt asks, and its number among those of that model, from 1. */
export function triesWith(
  models: readonly NamedModel[],
  used: number,
  attempt: number,
  attemptsEach: number,
): { readonly index: number; readonly tries: number } {
  const index = Math.min(used + Math.floor((attempt - 1) / attemptsEach), models.length - 1);
  return { index, tries: attempt - (index - used) * attemptsEach };
}

/**
 * How many of the agent's models a run has left behind: it stays with the one that answered, so that not every turn
 * waits for those that are down. By the log alone, so that whoever takes over goes on with the same.
 */
export function fallbacksUsed(run: Run, { models, rules }: Agent): number {
  let used = 0;
  if (models.length === 1) return used;
  for (const turn of turnsOf(run)) {
    if (turn.status !== "ended") continue;
    const { index } = triesWith(models, used, turn.attempt, rules.modelAttempts);
    if (models[index]?.id === turn.model) used = index; // another one was the choice of prepareTurn
  }
  return used;
}
