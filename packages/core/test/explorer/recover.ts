import { alive, arrive, follow, stepsOf } from "./choices.ts";
import { isSettledFor } from "./end-checker.ts";
import type { World } from "./world.ts";
import { LEASE_MS } from "./world.ts";

const ROUNDS = 6;
const STEPS = 300;

/** Lets everything run that does not need the scheduler. */
export function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The faults are over: everything goes on in turn, leases end, somebody looks, a cron sweeps. */
export async function recover(world: World, schedule: string[]): Promise<void> {
  if (alive(world).length === 0) world.addServer("Z");
  for (let round = 0; round < ROUNDS; round++) {
    await drain(world, schedule);
    for (const ghost of world.ghosts) {
      schedule.push(ghost.label);
      arrive(world, ghost);
    }
    await drain(world, schedule);
    const [server] = alive(world);
    if (!server || isSettledFor(world)) return;
    world.time.now += LEASE_MS + 1;
    schedule.push(`(+${LEASE_MS + 1} ms)`);
    await drain(world, schedule);
    schedule.push(`(look on ${server.name})`);
    follow(world, server);
    await drain(world, schedule);
    schedule.push(`(sweep on ${server.name})`);
    void world.subject
      .createVerbs(server.engine)
      .sweep()
      .catch(() => undefined);
    await drain(world, schedule);
  }
}

/** Runs what goes on by itself, in turn, to its end or to the first violation. */
export async function drain(world: World, schedule: string[]): Promise<void> {
  for (let count = 0; count < STEPS; count++) {
    await quiet();
    if (world.violations.length > 0) return;
    const [next] = stepsOf(world);
    if (!next) return;
    schedule.push(`(${next.label})`);
    next.perform();
  }
}
