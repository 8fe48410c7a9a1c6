import { createAgentCache } from "./agent-cache.ts";
import type { Subject } from "./agents.ts";
import type { Bounds, Choice } from "./choices.ts";
import { optionsOf, stateOf, stepsOf } from "./choices.ts";
import { checkEnd, checkUndisturbed } from "./end-checker.ts";
import { drain, quiet, recover } from "./recover.ts";
import type { Scenario } from "./scenario.ts";
import type { Violation } from "./violation.ts";
import type { World } from "./world.ts";
import { createWorld } from "./world.ts";

/** What an exploration saw. */
export interface Exploration {
  readonly schedules: number;
  readonly states: number;
  readonly steps: number;
  /** False when there are more than were asked for. */
  readonly complete: boolean;
  readonly failure: Failure | undefined;
}

/** A schedule after which an invariant does not hold. */
export interface Failure {
  readonly violations: readonly Violation[];
  readonly schedule: readonly string[];
}

interface Frame {
  readonly choices: number;
  index: number;
  label: string;
}

/**
 * Every schedule of a scenario within the bounds, depth first, each from the start; a state that was seen with
 * at least as much left to go wrong is not gone through again. Stops at the first violation.
 */
export async function explore(
  subject: Subject,
  scenario: Scenario,
  bounds: Bounds,
  most: number = Number.POSITIVE_INFINITY,
): Promise<Exploration> {
  const agents = createAgentCache(subject, scenario);
  const seen = new Map<string, Left[]>();
  const stack: Frame[] = [];
  let schedules = 0;
  let steps = 0;
  const result = (complete: boolean, failure?: Failure): Exploration => ({
    ...{ schedules, states: seen.size, steps, complete, failure },
  });
  do {
    if (schedules >= most) return result(false);
    const world = createWorld(subject, scenario, agents);
    const schedule: string[] = [];
    schedules++;
    for (let depth = 0; ; depth++) {
      await quiet();
      if (world.violations.length > 0) return result(true, { violations: world.violations, schedule });
      const choices = depth < bounds.steps ? choicesOf(world, bounds) : [];
      let frame = stack[depth];
      if (!frame) {
        if (wasSeen(seen, world, bounds)) break;
        if (choices.length === 0) {
          await end(world, schedule);
          if (world.violations.length > 0) return result(true, { violations: world.violations, schedule });
          break;
        }
        frame = { choices: choices.length, index: 0, label: "" };
        stack.push(frame);
      }
      const choice = choices[frame.index];
      if (!choice || (frame.label !== "" && frame.label !== choice.label)) {
        throw new Error(`Not deterministic: ${frame.label} became ${choice?.label} after ${schedule.join(", ")}`);
      }
      frame.label = choice.label;
      schedule.push(choice.label);
      steps++;
      if (choice.outOfTurn) world.spent.delays++;
      choice.perform();
    }
  } while (advance(stack));
  return result(true);
}

/**
 * Runs one schedule: what has one of its labels is taken as soon as it can happen, everything else in turn. After
 * the last one the faults are over.
 */
export async function replay(subject: Subject, scenario: Scenario, schedule: readonly string[]): Promise<World> {
  const world = createWorld(subject, scenario, createAgentCache(subject, scenario));
  const bounds = { faults: schedule.length, delays: schedule.length, steps: 300, earlyLooks: true };
  const taken: string[] = [];
  for (const label of schedule) {
    for (let found = false; !found; ) {
      await quiet();
      const wanted = choicesOf(world, bounds).find((candidate) => candidate.label.includes(label));
      const choice = wanted ?? stepsOf(world)[0];
      if (!choice) throw new Error(`"${label}" never can happen after ${taken.join(", ")}`);
      if (taken.push(choice.label) > bounds.steps)
        throw new Error(`"${label}" does not happen in ${bounds.steps} steps: ${taken.slice(-20).join(", ")}`);
      found = wanted !== undefined;
      choice.perform();
    }
  }
  await drain(world, taken);
  await end(world, taken);
  return world;
}

function choicesOf(world: World, bounds: Bounds): readonly Choice[] {
  const steps = stepsOf(world);
  const options = optionsOf(world, bounds);
  const [first, ...others] = steps;
  const later = world.spent.delays < bounds.delays ? others.map((other) => ({ ...other, outOfTurn: true })) : [];
  if (first) return [first, ...later, ...options];
  // At its end only what brings it on: a fault with nothing under way changes nothing recovery would not see.
  return options.filter((option) => !option.fault);
}

async function end(world: World, schedule: string[]): Promise<void> {
  checkUndisturbed(world);
  if (world.violations.length > 0) return;
  await recover(world, schedule);
  if (world.violations.length === 0) checkEnd(world);
}

interface Left {
  readonly faults: number;
  readonly delays: number;
}

function wasSeen(seen: Map<string, Left[]>, world: World, bounds: Bounds): boolean {
  const state = stateOf(world);
  const left = { faults: bounds.faults - world.spent.faults, delays: bounds.delays - world.spent.delays };
  const known = seen.get(state) ?? [];
  if (known.some((other) => other.faults >= left.faults && other.delays >= left.delays)) return true;
  seen.set(state, [...known, left]);
  return false;
}

/** Moves the deepest frame that has another choice; false when there is none. */
function advance(stack: Frame[]): boolean {
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    frame.index++;
    frame.label = "";
    if (frame.index < frame.choices) return true;
    stack.pop();
  }
  return false;
}
