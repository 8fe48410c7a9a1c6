import type { Agent } from "../../../src/agent/agent.ts";
import type { Engine } from "../../../src/server/engine.ts";
import type { Verbs } from "../../../src/server/verbs.ts";
import type { Append, ThreadStore } from "../../../src/store/thread-store.ts";
import type { VirtualClock, WorldTime } from "../../explorer/virtual-clock.ts";
import { createVirtualClock } from "../../explorer/virtual-clock.ts";
import type { OutsideClock } from "./place.ts";
import type { ServerPlan } from "./plan.ts";
import { slowStore } from "./slow-store.ts";
import type { Subject } from "./subject-type.ts";
import { microtasks } from "./waiting.ts";

/** One process: an engine over the store, the timers of the code under test, and those of tools and models. */
export interface Server {
  readonly name: string;
  readonly engine: Engine;
  readonly verbs: Verbs;
  /** Timers of the code under test only: none may be left at the end. */
  readonly clock: VirtualClock;
  readonly outside: VirtualClock;
  readonly dead: boolean;
  die(): void;
}

export interface ServerPlace {
  readonly subject: Subject;
  readonly time: WorldTime;
  readonly store: ThreadStore;
  readonly plan: ServerPlan;
  latency(): number;
  onAppended(append: Append, first: number): void;
  onError(error: unknown): void;
  wake(threadId: string, dueAt: number | undefined): void;
}

export function startServer(name: string, agentAt: (clock: OutsideClock) => Agent, place: ServerPlace): Server {
  const clock = createVirtualClock(place.time, 0);
  const outside = createVirtualClock(place.time, 0);
  let dead = false;
  let ids = 0;
  const { plan, subject } = place;
  const engine = subject.createEngine(
    {
      agent: agentAt(outside),
      store: slowStore(place.store, {
        clock: outside,
        latency: place.latency,
        isDead: () => dead,
        onAppended: place.onAppended,
      }),
      onError: (error) => {
        if (!dead) place.onError(error);
      },
      maxRequestMs: plan.maxRequestMs ?? undefined,
      wake: (threadId, { dueAt }) => place.wake(threadId, dueAt),
    },
    { production: false, livesOn: true, waitUntil: undefined },
    { clock: { ...clock, breath: () => microtasks(plan.breath) }, newId: () => `${name}-${++ids}` },
  );
  return {
    ...{ name, engine, clock, outside, verbs: subject.createVerbs(engine) },
    get dead() {
      return dead;
    },
    die() {
      dead = true;
      for (const timers of [clock, outside]) timers.clear();
    },
  };
}
